"""`python -m bench.warm`: what a recall costs in a process that lives on, as ratios within one run.

The question's embedding is in no figure: its vector is given. Nothing is left out of an answer because it fits too
little: of the questions that are made up, every second one is about none of the texts.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from bench import machine
from bench.bare import Bare
from bench.corpus import Corpus, load
from bench.goals import Verdict
from bench.inside import ALONE, INSIDE, inside
from bench.lives import InstantVectors
from bench.ours import local_embedder
from bench.report import table
from bench.run import told
from bench.synthetic import GivenVectors, fill, synthetic
from bench.turns import Clock, Samples, alone, in_turn
from perdure import Memory
from perdure.model import CATEGORIES
from perdure.recall.recipe import RECIPES

PRODUCT_GOAL: Final = 8.0
BARE_GOAL: Final = 3.0
BARE_SIZES: Final = (10_000, 100_000)
INSIDE_GOAL: Final = 3.0
_HERE: Final = Path(__file__).parent
_DIMENSIONS: Final = 384
_SIZES: Final = (1000, 10_000, 100_000)
_LARGE: Final = (300_000, 1_000_000)
_INSIDE: Final = 300_000
_ROUNDS: Final = 300
_BLOCKS: Final = 3
# The first criterion: as many memories, dimensions and hits as its specification names.
_ENTRIES, _WIDTH, _SHOWN = 10_000, 768, 20
_BUDGET: Final = 2000


@dataclass(frozen=True, slots=True)
class AtSize:
    """Milliseconds, medians: recall, the bare scan in both ways and the bare match, in turn; and recall in a tight
    loop.
    """

    size: int
    recall: float
    product: float
    rows: float
    match: float
    tight: float

    @property
    def bare(self) -> float:
        return min(self.product, self.rows) + self.match


@dataclass(slots=True)
class Found:
    machine: dict[str, str]
    texts: str
    busy: bool
    answers: dict[str, float] = field(default_factory=dict[str, float])
    product: float = 0.0
    sizes: list[AtSize] = field(default_factory=list[AtSize])
    inside: dict[str, Samples] = field(default_factory=dict[str, Samples])


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as place:
        directory = Path(place)
        texts = "real ones (LoCoMo), recombined" if options.locomo else "made up, words distributed by Zipf's law"
        clock = time.thread_time if options.busy else time.perf_counter
        found = Found(machine.description(directory), texts, options.busy)
        corpus = _corpus(options.locomo, options.cache)
        if "a" in options.parts:
            with told("(a) an answer as text, beside one product"):
                found.answers, found.product = answers(directory / "answers.db", corpus, clock)
        if "b" in options.parts:
            found.sizes = warm(directory, corpus, (*options.sizes, *(_LARGE if options.large else ())), clock)
        if "c" in options.parts:
            with told(f"(c) a small namespace among {options.inside:,}"):
                found.inside = inside(directory, corpus, options.inside, clock)
    lines = list(page(found))
    print("\n".join(lines))
    if options.save:
        (_HERE / "warm.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 1 if any(verdict.met is False for verdict in verdicts(found)) else 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.warm", description=__doc__)
    parser.add_argument("--sizes", type=_numbers, default=_SIZES, help="how many memories (default: 1000,10000,100000)")
    parser.add_argument("--large", action="store_true", help="also 300,000 and 1,000,000: some minutes, 8 GB of memory")
    parser.add_argument("--inside", type=int, default=_INSIDE, help="size of the large store (default: %(default)s)")
    parser.add_argument(
        "--busy", action="store_true", help="by the thread's own processor time: for a machine that others use as well"
    )
    parser.add_argument("--parts", default="abc", help="which of the three parts (default: %(default)s)")
    parser.add_argument(
        "--locomo", type=Path, default=os.environ.get("LOCOMO"), metavar="PATH",
        help="real texts, with the local model's vectors, in place of made-up ones [LOCOMO]",
    )  # fmt: skip
    parser.add_argument("--cache", type=Path, default=_HERE / ".cache", help="vectors of real texts go here")
    parser.add_argument("--save", action="store_true", help="write bench/warm.md")
    return parser


def _numbers(value: str) -> tuple[int, ...]:
    return tuple(int(size.replace("_", "")) for size in value.split(","))


def _corpus(locomo: Path | None, cache: Path) -> Corpus:
    if locomo is None:
        return synthetic(_DIMENSIONS)
    with told("reading and embedding the texts"):
        return load(locomo, None, local_embedder(), cache, lambda _done, _total: None)


def answers(file: Path, corpus: Corpus, clock: Clock) -> tuple[dict[str, float], float]:
    """S1's criterion 9a: random unit vectors; search, score, choose and format, in each way there is. Its own recipe,
    `learnings`, has the goal; the others stand beside it.
    """
    given = GivenVectors(_WIDTH)
    vectors = InstantVectors(_WIDTH).embed_passages([f"vector {number}" for number in range(_ENTRIES)])
    asked = InstantVectors(_WIDTH).embed_passages(corpus.questions)
    with Memory(file, embedder=given) as memory:
        texts = [text for batch, _ in corpus.batches(_ENTRIES) for text in batch]
        kinds = sorted(CATEGORIES)
        memory.import_({"text": text, "category": kinds[at % len(kinds)]} for at, text in enumerate(texts))
        if memory.work().vectors_pending:
            raise RuntimeError("Not every memory has its vector.")
        given.know(corpus.questions, asked)
        ways = _ways(memory, corpus)
        bare: dict[str, Callable[[int], object]] = {
            "product": lambda turn: vectors @ asked[turn % len(asked)],
            "rows": lambda turn: np.vecdot(vectors, asked[turn % len(asked)]),
        }
        samples = in_turn({**ways, **bare}, _ROUNDS, clock)
    medians = {name: median(taken) for name, taken in samples.items()}
    return {name: medians[name] for name in ways}, min(medians[name] for name in bare)


def _ways(memory: Memory, corpus: Corpus) -> dict[str, Callable[[int], object]]:
    def printed(turn: int, recipe: str) -> str:
        question = corpus.questions[turn % len(corpus.questions)]
        found = memory.recall(question, limit=_SHOWN, recipe=recipe, min_relevance=0)
        if len(found) != _SHOWN:
            raise RuntimeError(f"{recipe} answered with {len(found)} memories.")
        return "\n".join(f"{hit.record.number}\t{hit.score:.3f}\t{hit.line}" for hit in found)

    ways: dict[str, Callable[[int], object]] = {
        f"recall by `{name}`, printed": lambda turn, name=name: printed(turn, name) for name in RECIPES
    }
    context: Callable[..., object] | None = getattr(memory, "context", None)
    if context is not None:
        ways[f"context packed into {_BUDGET:,} tokens"] = lambda turn: context(
            corpus.questions[turn % len(corpus.questions)], budget=_BUDGET
        )
    return ways


def warm(directory: Path, corpus: Corpus, sizes: Sequence[int], clock: Clock) -> list[AtSize]:
    """All sizes are open at once and take turns in blocks, so that a slow minute concerns all of them."""
    samples: dict[int, Samples] = {size: {} for size in sizes}
    tight: dict[int, list[float]] = {size: [] for size in sizes}
    with ExitStack() as opened:
        sides = {size: _sides(directory, corpus, size, opened) for size in sizes}
        for block in range(_BLOCKS):
            for size in sizes:
                each = _ROUNDS // _BLOCKS
                taken = in_turn(sides[size], each, clock, first=block * each)
                for name, values in taken.items():
                    samples[size].setdefault(name, []).extend(values)
                tight[size].append(alone(sides[size]["recall"], each, clock))
    middle = {size: {name: median(values) for name, values in taken.items()} for size, taken in samples.items()}
    return [AtSize(size, **middle[size], tight=median(tight[size])) for size in sizes]


def _sides(directory: Path, corpus: Corpus, size: int, opened: ExitStack) -> dict[str, Callable[[int], object]]:
    asked, vectors = corpus.questions, corpus.question_vectors
    given = GivenVectors(vectors.shape[1])
    with told(f"(b) {size:,}: building"):
        memory = opened.enter_context(Memory(directory / f"{size}.db", embedder=given))
        fill(memory, given, corpus.batches(size))
        bare = Bare(directory / f"{size}-bare.db", corpus.batches(size))
        opened.callback(bare.close)
    given.know(asked, vectors)
    return {
        "recall": lambda turn: memory.recall(asked[turn % len(asked)], min_relevance=0),
        "product": lambda turn: bare.product(vectors[turn % len(asked)]),
        "rows": lambda turn: bare.rows(vectors[turn % len(asked)]),
        "match": lambda turn: bare.match(asked[turn % len(asked)]),
    }


def verdicts(found: Found) -> Iterator[Verdict]:
    for name, taken in found.answers.items():
        ratio = taken / found.product
        asked = "learnings" in name or "learnings" not in RECIPES
        goal = f"{name}: at most {PRODUCT_GOAL:.0f} products" if asked else f"{name}, in products"
        yield Verdict(goal, f"{ratio:.2f}", ratio <= PRODUCT_GOAL if asked else None)
    for at in found.sizes:
        if at.size in BARE_SIZES:
            ratio = at.recall / at.bare
            goal = f"{at.size:,}: at most {BARE_GOAL:.0f} times bare scan and match"
            yield Verdict(goal, f"{ratio:.2f}", ratio <= BARE_GOAL)
    for less, more in zip(found.sizes, found.sizes[1:], strict=False):
        grown, most = more.recall / less.recall, more.size / less.size
        goal = f"{less.size:,} to {more.size:,}: at most {most:.1f} times the cost"
        yield Verdict(goal, f"{grown:.2f}", grown <= most)
    for what, samples in found.inside.items():
        ratio = median(samples[INSIDE]) / median(samples[ALONE])
        goal = f"1,000 inside a large store, {what}: at most {INSIDE_GOAL:.0f} times alone"
        yield Verdict(goal, f"{ratio:.2f}", ratio <= INSIDE_GOAL)


def page(found: Found) -> Iterator[str]:
    where = ", ".join(f"{name} {value}" for name, value in found.machine.items())
    yield from ("# What a warm recall costs", "")
    yield f"Written by `python -m bench.warm` (`make bench-warm`). Machine: {where}. numpy {np.__version__}."
    yield f"Texts: {found.texts}. The sides take turns with a short pause between them; medians of {_ROUNDS} rounds."
    yield "The question's embedding is in no figure: its vector is given."
    if found.busy:
        yield "The machine was busy: all times are processor time of the thread that asks, but those of new processes."
    yield from ("", "## Goals", "")
    marks = {True: "met", False: "missed", None: ""}
    yield from table(("goal", "found", ""), [(one.goal, one.found, marks[one.met]) for one in verdicts(found)])
    if found.answers:
        yield from ("", f"## {_ENTRIES:,} memories of {_WIDTH} dimensions, random unit vectors", "")
        rows = [(name, f"{taken:.2f}") for name, taken in found.answers.items()]
        yield from table(("", "ms"), [(f"one product {_ENTRIES:,} x {_WIDTH}", f"{found.product:.2f}"), *rows])
    if found.sizes:
        yield from ("", "## Recall beside the bare scan and the bare match, milliseconds", "")
        yield from table(_HEAD, list(_rows(found.sizes)))
        yield ""
        yield "Bare: one float32 product of matrix and question, at once or row by row in one thread, whichever is"
        yield "faster; and one MATCH of the same words in the order of bm25, limit 100, by a full-text index of its"
        yield "own, as SQLite makes it by default."
    if found.inside:
        yield from ("", "## 1,000 memories alone, and among those of others, milliseconds", "")
        middles = [(what, *(median(taken[name]) for name in (ALONE, INSIDE))) for what, taken in found.inside.items()]
        yield from table(
            ("", ALONE, INSIDE, "ratio"), [(w, f"{a:.2f}", f"{b:.2f}", f"{b / a:.2f}") for w, a, b in middles]
        )


_HEAD: Final = (
    "memories",
    "recall",
    "in a tight loop",
    "product",
    "row by row",
    "match",
    "ratio",
    "ns per more memory",
)


def _rows(sizes: Sequence[AtSize]) -> Iterator[tuple[str, ...]]:
    before: AtSize | None = None
    for at in sizes:
        times = (at.recall, at.tight, at.product, at.rows, at.match, at.recall / at.bare)
        more = f"{(at.recall - before.recall) * 1e6 / (at.size - before.size):.0f}" if before else ""
        yield (f"{at.size:,}", *(f"{value:.2f}" for value in times), more)
        before = at


if __name__ == "__main__":
    sys.exit(main())
