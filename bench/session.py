"""`python -m bench.session`: what a cold session start costs with ten thousand learnings, as ratios to a bare
interpreter and to importing chromadb; and what S1's criterion 9 asks for, the computation over 10,000 x 768 vectors.

Each start is a process as a host starts it, with bytecode; the processes take turns. The vectors are drawn at random:
what they say does not matter for what they cost.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from bench.corpus import Vectors
from bench.goals import Verdict
from bench.hooks import Cost, measure
from bench.index import questions_of_host
from bench.machine import description
from bench.report import table
from bench.run import told
from perdure import Memory
from perdure.embed.local import LocalEmbedder
from perdure.embed.port import Generation, Progress
from perdure.hook.program import BUDGET
from perdure.model import LEARNING_CATEGORIES
from perdure.session.start import session_block

_HERE: Final = Path(__file__).parent
_LEARNINGS: Final = 10_000
_MANY: Final = 100_000
_ROUNDS: Final = 15
_DIMENSIONS: Final = 768
_WORDS: Final = [f"{onset}{vowel}{end}" for onset in "bdfgklmnprst" for vowel in "aeiou" for end in ("n", "st", "rm")]
BARE, CHROMADB, AGAIN, NEW, SERVED = (
    "bare interpreter",
    "import chromadb",
    "start, a question asked before",
    "start, a new question",
    "start, a new question, beside a server",
)
GOAL_BARE: Final = {AGAIN: 20.0, NEW: 28.0, SERVED: 20.0}
GOAL_CHROMADB: Final = 0.5
GOAL_LOCAL: Final = 0.1
# What a start is made of, each alone in a process: told as what it takes more than a bare interpreter.
_MODEL: Final = "from perdure.embed.local import LocalEmbedder as E; E().embed_query('Build a parser. ' * 20)"
_PARTS: Final = {
    "numpy": "import numpy",
    "the model, and numpy for it: runtime, tokenizer, weights, one text": _MODEL,
    "Perdure's modules, and those of the standard library that they need": (
        "import perdure.hook.handlers, perdure.session.start, perdure.session.block, perdure.session.kept, "
        "perdure.memory, perdure.store.sqlite.store, perdure.recall.recaller"
    ),
}
_sessions: Final = count(1)


@dataclass(slots=True)
class Found:
    machine: dict[str, str]
    costs: dict[str, Cost] = field(default_factory=dict[str, Cost])
    parts: dict[str, Cost] = field(default_factory=dict[str, Cost])
    local: float = 0.0
    many: dict[str, Cost] = field(default_factory=dict[str, Cost])
    # With many learnings, in the usual time: what it took, and where the answer came from.
    hurried: dict[str, tuple[Cost, str]] = field(default_factory=dict[str, tuple[Cost, str]])


class RandomVectors:
    """Unit vectors that are drawn, under the name of a model."""

    def __init__(self, generation: Generation) -> None:
        self.generation = generation
        self._random = np.random.default_rng(1)

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:  # noqa: ARG002
        drawn = self._random.standard_normal((len(texts), self.generation.dimensions)).astype(np.float32)
        return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)

    def embed_query(self, text: str) -> Vectors:
        return self.embed_passages([text])[0]


def learnings(number: int) -> Iterator[dict[str, Any]]:
    chosen = np.random.default_rng(2)
    for which in range(number):
        words: list[str] = [_WORDS[index] for index in chosen.integers(0, len(_WORDS), 40).tolist()]
        yield {
            "text": f"{' '.join(words[:30])} {which}.", "title": " ".join(words[30:35]), "source": "retro",
            "category": LEARNING_CATEGORIES[which % 3], "keywords": words[35:], "reasoning": " ".join(words[5:15]),
        }  # fmt: skip


class Home:
    """The home of somebody with so many learnings, and a project: a repository with four commits and an active
    feature.
    """

    def __init__(self, folder: Path, number: int) -> None:
        self.folder = folder
        self.environ = {
            name: value for name, value in os.environ.items() if not name.startswith(("PERDURE_", "PYTHON"))
        }
        self.environ |= {"HOME": str(folder), "PYTHONPYCACHEPREFIX": str(folder.parent / "bytecode")}
        feature = folder / "project/docs/features/012-parser"
        feature.mkdir(parents=True)
        (feature / ".meta.json").write_text('{"slug": "parser", "status": "active", "lastCompletedPhase": "design"}')
        (feature / "spec.md").write_text(f"Build a parser. {' '.join(_WORDS[:40])}\n\n## More\n")
        self._git("init", "--quiet")
        for commit in range(4):
            (folder / f"project/{_WORDS[commit]}.py").touch()
            self._git("add", ".")
            self._git("commit", "--quiet", "--message", "x")
        model = RandomVectors(LocalEmbedder().generation)
        with Memory(folder / ".local/share/perdure/memory.db", embedder=model) as memory:
            memory.import_(learnings(number))
            memory.work()

    def _git(self, *arguments: str) -> None:
        run = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org", *arguments]
        subprocess.run(run, cwd=self.folder / "project", check=True)  # noqa: S603 - ourselves

    def event(self) -> bytes:
        told = {
            "session_id": f"session-{next(_sessions)}", "cwd": str(self.folder / "project"), "source": "startup",
            "hook_event_name": "SessionStart",
        }  # fmt: skip
        return json.dumps(told).encode()

    def start(self, *, asked_before: bool, served: bool = False) -> Cost:
        """A session start in a process of its own, that has all the time it needs."""
        self._ask(asked_before=asked_before)
        environ = self._beside_server if served else self.environ
        return measure(["-m", "perdure", "hook", "--seconds", "60"], [self.event()], environ)

    @property
    def _beside_server(self) -> dict[str, str]:
        """A server is found by the cache directory, so that other starts find none."""
        return self.environ | {"XDG_CACHE_HOME": str(self.folder / "served")}

    @contextmanager
    def server(self) -> Generator[None]:
        """An MCP server of a host that runs, which has answered something."""
        command, cwd = [sys.executable, "-m", "perdure", "mcp"], self.folder / "project"
        process = subprocess.Popen(  # noqa: S603 - ourselves
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=cwd, env=self._beside_server
        )
        with process:
            if process.stdin is None or process.stdout is None:
                raise RuntimeError("the server has no pipes")
            process.stdin.write("".join(f"{each}\n" for each in questions_of_host(_WORDS[0])).encode())
            process.stdin.flush()
            for _ in range(2):
                process.stdout.readline()
            yield
            process.stdin.close()

    def hurried_start(self, *, asked_before: bool) -> tuple[Cost, str]:
        """One that has the time that a hook has, and where its answer came from."""
        self._ask(asked_before=asked_before)
        run, begun = [sys.executable, "-m", "perdure", "hook"], time.perf_counter()
        done = subprocess.run(run, input=self.event(), env=self.environ, capture_output=True, check=True)  # noqa: S603
        cost = Cost(time.perf_counter() - begun, 0.0)
        if b"semantic: active (vector=0" in done.stdout:
            return cost, "by words"
        return cost, "by meaning and words" if b"semantic: active" in done.stdout else "without the store"

    def _ask(self, *, asked_before: bool) -> None:
        if not asked_before:
            shutil.rmtree(self.folder / ".local/share/perdure/sessions/asked", ignore_errors=True)


def in_turn(ways: Mapping[str, Callable[[], Cost]], rounds: int) -> dict[str, Cost]:
    """The medians of each way, which take turns, so that what else the machine does hits all alike."""
    costs: dict[str, list[Cost]] = {name: [] for name in ways}
    for number in range(rounds + 1):
        for name, way in ways.items():
            cost = way()
            # The first of each writes its bytecode.
            costs[name] += [cost] if number else []
        print(f"\rround {number} of {rounds}", end="\n" if number == rounds else "", file=sys.stderr, flush=True)
    return {
        name: Cost(median(cost.wall for cost in some), median(cost.processor for cost in some))
        for name, some in costs.items()
    }


def starts(home: Home, chromadb: Path, rounds: int) -> dict[str, Cost]:
    def run(program: str, interpreter: str = sys.executable) -> Cost:
        return measure(["-c", program], [b""], home.environ, interpreter)

    ways: dict[str, Callable[[], Cost]] = {
        BARE: lambda: run("pass"),
        AGAIN: lambda: home.start(asked_before=True),
        NEW: lambda: home.start(asked_before=False),
        SERVED: lambda: home.start(asked_before=False, served=True),
    }
    if chromadb.exists():
        ways[CHROMADB] = lambda: run("import chromadb", str(chromadb))
    else:
        print(f"{chromadb} is not there; `make bench-session` makes it.", file=sys.stderr)
    with home.server():
        return in_turn(ways, rounds)


def parts(home: Home, rounds: int) -> dict[str, Cost]:
    environ = home.environ | {"OPENBLAS_NUM_THREADS": "1"}

    def way(program: str) -> Callable[[], Cost]:
        return lambda: measure(["-c", f"import gc; gc.disable(); {program}"], [b""], environ)

    return in_turn({name: way(program) for name, program in _PARTS.items()}, rounds)


def local_computation(folder: Path, project: Path) -> float:
    """Seconds of vector search, scoring and formatting in a process that has its index, without any network."""
    model = RandomVectors(Generation("bench", "random", _DIMENSIONS, "1"))
    taken: list[float] = []
    with Memory(folder / "wide.db", embedder=model) as memory:
        memory.import_(learnings(_LEARNINGS))
        memory.work()
        for _ in range(_ROUNDS + 1):
            begun = time.perf_counter()
            session_block(memory, project, budget=60)
            taken.append(time.perf_counter() - begun)
    return median(taken[1:])


def verdicts(found: Found) -> Iterator[Verdict]:
    bare, peer = found.costs[BARE], found.costs.get(CHROMADB)
    for name, most in GOAL_BARE.items():
        cost = found.costs[name]
        wall, processor = cost.wall / bare.wall, cost.processor / bare.processor
        told = f"{wall:.1f} ({processor:.1f} by processor time)"
        yield Verdict(f"{name}: at most {most:.0f} bare interpreters", told, wall <= most)
        if peer:
            wall, processor = cost.wall / peer.wall, cost.processor / peer.processor
            told = f"{wall:.2f} ({processor:.2f} by processor time)"
            yield Verdict(f"{name}: less than half of importing chromadb", told, wall < GOAL_CHROMADB)
    if found.local:
        goal = f"local computation over {_LEARNINGS:,} x {_DIMENSIONS} (S1): less than {1000 * GOAL_LOCAL:.0f} ms"
        yield Verdict(goal, f"{1000 * found.local:.0f} ms", found.local < GOAL_LOCAL)
    for name, (cost, source) in found.hurried.items():
        goal = f"{name}, {_MANY:,} learnings: answered within {BUDGET:g} s, besides the interpreter's own start"
        yield Verdict(goal, f"{cost.wall - bare.wall:.2f} s, {source}", cost.wall - bare.wall <= BUDGET)


def page(found: Found) -> Iterator[str]:
    where = ", ".join(f"{name} {value}" for name, value in found.machine.items())
    yield from ("# What a cold session start costs", "")
    yield f"Written by `python -m bench.session` (`make bench-session`). Machine: {where}."
    yield f"{_LEARNINGS:,} learnings with vectors of the local model's width, drawn at random, and a project with"
    yield "commits and an active feature. A start is one process, as a host starts it, with bytecode and nothing in"
    yield "memory. Processes take turns; figures are medians. Wall time counts, and on a machine with other work,"
    yield "processor time says what a process itself takes. A question was asked before where the project is what it"
    yield "was at an earlier start. An MCP server of the same user that runs has the model, and embeds the question."
    yield from ("", "## Goals", "")
    marks = {True: "met", False: "missed", None: ""}
    yield from table(("goal", "found", ""), [(one.goal, one.found, marks[one.met]) for one in verdicts(found)])
    yield from ("", "## Processes, milliseconds", "")
    yield from table(_HEAD, list(_rows(found.costs, found.costs[BARE])))
    if found.many:
        yield from ("", f"## With {_MANY:,} learnings, milliseconds", "")
        yield from table(_HEAD, list(_rows(found.many, found.costs[BARE])))
    yield from ("", "## What a start is made of, milliseconds of processor time", "")
    bare = found.costs[BARE].processor
    known = {BARE: bare} | {name: cost.processor - bare for name, cost in found.parts.items()}
    yield from table(("each alone, without the interpreter", "ms"), [(n, f"{1000 * t:.0f}") for n, t in known.items()])
    yield ""
    numpy_, model, modules = (known[name] for name in _PARTS)
    again, new = (found.costs[name].processor for name in (AGAIN, NEW))
    rest, more, embedding = again - bare - numpy_ - modules, new - again, model - numpy_
    yield f"Of the {1000 * again:.0f} ms of a question asked before, {1000 * rest:.0f} are left to looking at the"
    yield "learnings, which are in the index file, weighing them, and writing down what was told. A new question takes"
    yield f"{1000 * more:.0f} more; the model without numpy takes {1000 * embedding:.0f} by itself."


_HEAD: Final = ("process", "wall", "processor", "wall, in bare interpreters", "processor, in bare interpreters")


def _rows(costs: Mapping[str, Cost], bare: Cost) -> Iterator[tuple[str, ...]]:
    for name, cost in costs.items():
        times = (cost.wall * 1000, cost.processor * 1000, cost.wall / bare.wall, cost.processor / bare.processor)
        yield (name, *(f"{taken:.1f}" for taken in times))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m bench.session", description=__doc__)
    parser.add_argument(
        "--rounds", type=int, default=_ROUNDS, help="how often each process runs (default: %(default)s)"
    )
    parser.add_argument("--large", action="store_true", help=f"also with {_MANY:,} learnings: some minutes")
    parser.add_argument(
        "--chromadb", type=Path, default=Path(".venv-chroma/bin/python"), metavar="PYTHON",
        help="an interpreter that can import chromadb (default: %(default)s)",
    )  # fmt: skip
    parser.add_argument("--save", action="store_true", help="write bench/session.md")
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    options = _parser().parse_args(arguments)
    with TemporaryDirectory(prefix="perdure-bench-") as place:
        folder = Path(place)
        found = Found(description(folder))
        with told(f"a store of {_LEARNINGS:,} learnings"):
            home = Home(folder / "home", _LEARNINGS)
        with told("session starts, and what they are compared with"):
            found.costs = starts(home, options.chromadb, options.rounds)
        with told("the parts of a start"):
            found.parts = parts(home, options.rounds)
        with told("the computation alone"):
            found.local = local_computation(folder, home.folder / "project")
        if options.large:
            with told(f"the same with {_MANY:,} learnings"):
                many = Home(folder / "many", _MANY)
                ways = {name: name == AGAIN for name in (NEW, AGAIN)}
                found.many = in_turn(
                    {name: lambda before=before: many.start(asked_before=before) for name, before in ways.items()}, 3
                )
                found.hurried = {name: many.hurried_start(asked_before=ways[name]) for name in (AGAIN, NEW)}
    lines = list(page(found))
    print("\n".join(lines))
    if options.save:
        (_HERE / "session.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
