"""`python -m bench.session`: what a cold session start costs with ten thousand learnings, as ratios to a bare
interpreter and to importing chromadb; and what S1's criterion 9 asks for, the computation over 10,000 x 768 vectors.

Each start is a process as a host starts it, with bytecode. The vectors are drawn at random: what they say does not
matter for what they cost.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from itertools import count
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory
from typing import Any, Final

import numpy as np

from bench.corpus import Vectors
from bench.hooks import Cost, measure
from bench.machine import description
from perdure import Memory
from perdure.embed.local import LocalEmbedder
from perdure.embed.port import Generation, Progress
from perdure.model import LEARNING_CATEGORIES
from perdure.session.start import session_block

_LEARNINGS: Final = 10_000
_RUNS: Final = 9
_PEERS: Final = Path(".venv-bench/bin/python")
_DIMENSIONS: Final = 768
_WORDS: Final = [f"{onset}{vowel}{end}" for onset in "bdfgklmnprst" for vowel in "aeiou" for end in ("n", "st", "rm")]
_sessions: Final = count(1)


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


def learnings() -> Iterator[dict[str, Any]]:
    chosen = np.random.default_rng(2)
    for number in range(_LEARNINGS):
        words: list[str] = [_WORDS[index] for index in chosen.integers(0, len(_WORDS), 40).tolist()]
        yield {
            "text": f"{' '.join(words[:30])} {number}.", "title": " ".join(words[30:35]), "source": "retro",
            "category": LEARNING_CATEGORIES[number % 3], "keywords": words[35:], "reasoning": " ".join(words[5:15]),
        }  # fmt: skip


def make_project(folder: Path) -> None:
    """A repository with four commits and an active feature."""
    feature = folder / "docs/features/012-parser"
    feature.mkdir(parents=True)
    (feature / ".meta.json").write_text('{"slug": "parser", "status": "active", "lastCompletedPhase": "design"}')
    (feature / "spec.md").write_text(f"Build a parser. {' '.join(_WORDS[:40])}\n\n## More\n")
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@example.org"]
    subprocess.run([*git, "init", "--quiet"], cwd=folder, check=True)  # noqa: S603 - ourselves
    for number in range(4):
        (folder / f"{_WORDS[number]}.py").touch()
        subprocess.run([*git, "add", "."], cwd=folder, check=True)  # noqa: S603
        subprocess.run([*git, "commit", "--quiet", "--message", "x"], cwd=folder, check=True)  # noqa: S603


def starts(home: Path, environ: dict[str, str], *, asked_before: bool) -> Cost:
    """Session starts, each in a process of its own."""
    run = ["-m", "perdure", "hook", "--seconds", "20"]
    costs: list[Cost] = []
    for number in range(_RUNS + 1):
        if not asked_before:
            shutil.rmtree(home / ".local/share/perdure/sessions/asked", ignore_errors=True)
        event = {
            "session_id": f"session-{next(_sessions)}", "cwd": str(home / "project"), "source": "startup",
            "hook_event_name": "SessionStart",
        }  # fmt: skip
        cost = measure(run, [json.dumps(event).encode()], environ)
        costs += [cost] if number else []
    return Cost(median(cost.wall for cost in costs), median(cost.processor for cost in costs))


def local_computation(folder: Path) -> list[float]:
    """Seconds of vector search, scoring and formatting in a process that has its index, without any network."""
    model = RandomVectors(Generation("bench", "random", _DIMENSIONS, "1"))
    taken: list[float] = []
    with Memory(folder / "wide.db", embedder=model) as memory:
        memory.import_(learnings())
        memory.work()
        for _ in range(_RUNS + 1):
            begun = time.perf_counter()
            session_block(memory, folder / "project", budget=60)
            taken.append(time.perf_counter() - begun)
    return taken[1:]


def main() -> int:
    with TemporaryDirectory() as folder:
        home = Path(folder)
        environ = {name: value for name, value in os.environ.items() if not name.startswith(("PERDURE_", "PYTHON"))}
        environ |= {"HOME": folder, "PYTHONPYCACHEPREFIX": str(home / "bytecode")}
        make_project(home / "project")
        generation = LocalEmbedder().generation
        with Memory(home / ".local/share/perdure/memory.db", embedder=RandomVectors(generation)) as memory:
            memory.import_(learnings())
            memory.work()
        bare = measure(["-c", "pass"], [b""] * 3 * _RUNS, environ)
        print(f"{', '.join(description(home).values())}; {_LEARNINGS:,} learnings, medians of {_RUNS}")
        rows = [("bare interpreter", bare)]
        rows += [("start, a new question", starts(home, environ, asked_before=False))]
        rows += [("start, a question asked before", starts(home, environ, asked_before=True))]
        if _PEERS.exists():
            rows += [("import chromadb", measure(["-c", "import chromadb"], [b""] * _RUNS, environ, str(_PEERS)))]
        for name, cost in rows:
            ratios = f"{cost.wall / bare.wall:6.1f}x{cost.processor / bare.processor:8.1f}x"
            print(f"{name:34}{cost.wall:8.3f} s{cost.processor:8.3f} s of processor time{ratios}")
        if not _PEERS.exists():
            print(f"chromadb is not there to compare with: `make {_PEERS.parts[0]}/.ready` makes its environment.")
        local = local_computation(home)
        print(f"local computation, {_LEARNINGS:,} x {_DIMENSIONS}: {1000 * median(local):.0f} ms, "
              f"{median(local) / bare.wall:.1f} bare interpreters; S1 wants less than 100 ms")  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
