"""A small namespace in a large store, against a store that holds nothing else.

`python -m bench.inside STORE QUESTION VECTOR.npy` is a process that asks once.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np

from bench.corpus import Batch, Corpus
from bench.synthetic import GivenVectors, fill
from bench.turns import Clock, Samples, in_turn
from perdure import Memory

SMALL: Final = 1000
ALONE: Final = "alone"
INSIDE: Final = "inside"
_NAME: Final = "small"
_PARTS: Final = 10
_ROUNDS: Final = 300
_OPENED: Final = 40
_PROCESSES: Final = 15


def inside(directory: Path, corpus: Corpus, size: int, clock: Clock) -> dict[str, Samples]:
    dimensions = corpus.vectors.shape[1]
    files = {name: directory / f"{name}.db" for name in (ALONE, INSIDE)}
    for name, large in ((ALONE, 0), (INSIDE, size - SMALL)):
        _build(files[name], corpus, large)
    vector = directory / "question.npy"
    np.save(vector, corpus.question_vectors[0])
    return {
        "warm": _warm(files, corpus, dimensions, clock),
        "opened, then the first recall": _opened(files, corpus, dimensions, clock),
        "the same by words alone": _opened(files, corpus, 0, clock),
        "a new process that asks once": _processes(files, corpus.questions[0], vector),
    }


def _build(file: Path, corpus: Corpus, large: int) -> None:
    """The small one comes in parts, with the others between them, as it does in a life."""
    given = GivenVectors(corpus.vectors.shape[1])
    with Memory(file, embedder=given, namespace="others") as others:
        small = others.namespace(_NAME)
        between = _shares(_after(corpus, large), large)
        step = SMALL // _PARTS
        for start in range(0, SMALL, step):
            fill(small, given, [(list(corpus.texts[start : start + step]), corpus.vectors[start : start + step])])
            if large:
                fill(others, given, next(between))


def _after(corpus: Corpus, large: int) -> Iterator[Batch]:
    """What the corpus holds behind the small namespace."""
    skipped = SMALL
    for texts, vectors in corpus.batches(SMALL + large):
        yield texts[skipped:], vectors[skipped:]
        skipped = 0


def _shares(batches: Iterator[Batch], large: int) -> Iterator[list[Batch]]:
    every = list(batches)
    for part in range(_PARTS):
        yield every[part * len(every) // _PARTS : (part + 1) * len(every) // _PARTS]
    assert sum(len(texts) for texts, _ in every) == large  # noqa: S101


def _warm(files: dict[str, Path], corpus: Corpus, dimensions: int, clock: Clock) -> Samples:
    given = GivenVectors(dimensions)
    given.know(corpus.questions, corpus.question_vectors)
    memories = {name: Memory(file, embedder=given, namespace=_NAME) for name, file in files.items()}
    try:
        sides = {name: partial(_ask, memory, corpus) for name, memory in memories.items()}
        return in_turn(sides, _ROUNDS, clock, warming=10)
    finally:
        for memory in memories.values():
            memory.close()


def _opened(files: dict[str, Path], corpus: Corpus, dimensions: int, clock: Clock) -> Samples:
    given = GivenVectors(dimensions or 1)
    given.know(corpus.questions, corpus.question_vectors)

    def ask(file: Path, turn: int) -> None:
        with Memory(file, embedder=given if dimensions else "none", namespace=_NAME) as memory:
            _ask(memory, corpus, turn)

    return in_turn({name: partial(ask, file) for name, file in files.items()}, _OPENED, clock)


def _processes(files: dict[str, Path], question: str, vector: Path) -> Samples:
    def ask(file: Path, _: int) -> None:
        command = (sys.executable, "-m", "bench.inside", str(file), question, str(vector))
        subprocess.run(command, cwd=Path(__file__).parent.parent, check=True)  # noqa: S603

    return in_turn({name: partial(ask, file) for name, file in files.items()}, _PROCESSES, time.perf_counter)


def _ask(memory: Memory, corpus: Corpus, turn: int) -> None:
    if not memory.recall(corpus.questions[turn % len(corpus.questions)], min_relevance=0):
        raise RuntimeError("Nothing was found.")


def main(arguments: Sequence[str]) -> None:
    file, question, path = arguments
    vector = np.load(path)
    given = GivenVectors(len(vector))
    given.know([question], vector[np.newaxis])
    with Memory(file, embedder=given, namespace=_NAME) as memory:
        memory.recall(question, min_relevance=0)


if __name__ == "__main__":
    main(sys.argv[1:])
