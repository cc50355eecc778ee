"""`python -m bench.recall`: how well recall finds, on texts of many kinds, through `perdure.Memory`.

`--sets notes,beam` takes some of the sets. `--table` prints how the systems compare and nothing else, `--quick` the
same of a part of each set; with `--save` the page is written. A set of which the path is not given is left out.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from bench.corpus import ORIGIN, DataMissing
from bench.learn.duplicates import ORIGIN as PAIRS_ORIGIN
from bench.ours import local_embedder
from bench.recall.data import JudgingSet, Question
from bench.recall.fits import ask_all
from bench.recall.page import comparison, page
from bench.recall.pairs import correlations
from bench.recall.plot import plot
from bench.recall.results import LocomoResult, Results, SetResult, judged, over, pooled
from bench.recall.runs import DEEPEST, stored
from bench.recall.sets import DEV, SOURCES
from bench.recall.systems import MEANING, SUM, UNFLOORED, WORDS
from bench.recall.times import measured as measured_times
from bench.recall.vectors import Remembering
from bench.recall.weights import Found, collect, left_out
from bench.run import told

BENCH: Final = Path(__file__).parent.parent
PATHS: Final = {**ORIGIN, "dev": DEV, **PAIRS_ORIGIN}
# With --quick, of each set.
_QUICK_MEMORIES: Final = 2_000
_QUICK_QUESTIONS: Final = 150


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    names = {source.name for source in SOURCES}
    chosen: set[str] = set(options.sets.split(",")) if options.sets else names
    if unknown := chosen - names:
        print(f"There is no set called {min(unknown)}. The sets: {', '.join(sorted(names))}.", file=sys.stderr)
        return 2
    try:
        sets = _sets(options, chosen)
    except DataMissing as error:
        print(error, file=sys.stderr)
        return 2
    embedder = Remembering(local_embedder(), options.cache)
    if options.quick:
        sets = [one.quick(_QUICK_MEMORIES, _QUICK_QUESTIONS) for one in sets]
    if options.quick or options.table:
        print("\n".join(comparison([_judged(one, embedder) for one in sets])))
        return 0
    results = _measured(sets, options.sts, options.sick, embedder)
    lines = list(page(results))
    print("\n".join(lines))
    if options.save:
        (BENCH / "recall.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
        (BENCH / "recall.svg").write_text(plot(results.sets), encoding="utf-8")
    return 0


def _sets(options: argparse.Namespace, chosen: set[str]) -> list[JudgingSet]:
    sets: list[JudgingSet] = []
    for source in SOURCES:
        if source.name not in chosen:
            continue
        path = getattr(options, source.needs) if source.needs else Path()
        if path is None:
            print(f"Without {source.name}: {source.needs.upper()}= is {PATHS[source.needs]}.", file=sys.stderr)
        else:
            sets.append(source.load(path))
    return sets


def _measured(sets: Sequence[JudgingSet], sts: Path | None, sick: Path | None, embedder: Remembering) -> Results:
    results: list[SetResult] = []
    locomo: LocomoResult | None = None
    claims = next((one.questions for one in sets if one.name == "scifact"), ())
    found: dict[str, Sequence[Found]] = {}
    for judging_set in sets:
        if judging_set.name == "locomo":
            result, locomo = _locomo(judging_set, claims, embedder)
            results.append(result)
        else:
            results.append(_judged(judging_set, embedder))
        with told(f"{judging_set.name}, other weights"), stored(judging_set.collections, embedder) as memory:
            found[judging_set.name] = collect(memory, judging_set)
    with told("pairs of sentences"):
        pairs = correlations(sts, sick, embedder)
    embedder.keep()
    return Results(results, pairs, locomo, left_out(found) if len(found) > 1 else ())


def _judged(judging_set: JudgingSet, embedder: Remembering) -> SetResult:
    with told(judging_set.about), stored(judging_set.collections, embedder) as memory:
        result = judged(memory, judging_set)
    embedder.keep()
    return result


def _locomo(
    judging_set: JudgingSet, claims: Sequence[Question], embedder: Remembering
) -> tuple[SetResult, LocomoResult]:
    conversations = judging_set.collections
    systems = (UNFLOORED, WORDS, MEANING, SUM)
    with stored(conversations, embedder, pooled=True) as memory:
        with told(judging_set.about):
            result = judged(memory, judging_set)
            deep = {system.name: over(memory, conversations, system, DEEPEST) for system in systems}
        with told("LoCoMo, all conversations in one namespace"):
            together = {system.name: pooled(memory, conversations, system) for system in systems}
        with told("LoCoMo, questions that nothing fits"):
            fits = ask_all(memory, conversations, claims)
    with told("LoCoMo, questions about times"):
        times = measured_times(conversations, embedder)
    embedder.keep()
    return result, LocomoResult(deep, together, fits, times)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m bench.recall", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    for name, about in PATHS.items():
        variable = name.upper()
        parser.add_argument(
            f"--{name}", type=Path, default=os.environ.get(variable) or None, metavar="PATH",
            help=f"{about} [{variable}]",
        )  # fmt: skip
    parser.add_argument("--sets", default="", help=f"some of: {','.join(source.name for source in SOURCES)}")
    parser.add_argument("--table", action="store_true", help="how the systems compare on each set, and nothing else")
    parser.add_argument("--quick", action="store_true", help="the same, of a part of each set")
    parser.add_argument("--cache", type=Path, default=BENCH / ".cache", help="vectors go here")
    parser.add_argument("--save", action="store_true", help="write bench/recall.md and bench/recall.svg")
    return parser


if __name__ == "__main__":
    sys.exit(main())
