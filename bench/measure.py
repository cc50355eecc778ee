"""Rounds in which everyone does the same in turn, in random order, so that a busy machine hits all alike."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar

import numpy as np

from bench.corpus import Batch, Corpus, Vectors
from bench.shuffle import shuffled
from bench.worker import Worker

Item = TypeVar("Item")

_PAUSE: Final = 0.003
"""Between two calls: threads of the one before may still spin."""


@dataclass(frozen=True, slots=True)
class Timing:
    """Milliseconds."""

    p50: float
    p95: float
    n: int

    @classmethod
    def of(cls, samples: Sequence[float]) -> Timing:
        ordered = sorted(samples)
        return cls(statistics.median(ordered), ordered[min(len(ordered) - 1, int(len(ordered) * 0.95))], len(ordered))


def interleaved(
    workers: Sequence[Worker], items: Iterable[Item], act: Callable[[Worker, Item], float], *, seconds: float
) -> dict[str, Timing]:
    """Every worker acts on every item; after that many seconds no new round begins, but for a tenth of the rounds."""
    chosen = np.random.default_rng(0)
    samples: dict[str, list[float]] = {worker.name: [] for worker in workers}
    rounds = list(items)
    end = time.monotonic() + seconds
    for number, item in enumerate(rounds):
        if time.monotonic() > end and number >= max(10, len(rounds) // 10):
            break
        for worker in shuffled(workers, chosen):
            samples[worker.name].append(act(worker, item))
            time.sleep(_PAUSE)
    return {name: Timing.of(taken) for name, taken in samples.items()}


def first_recall(workers: Sequence[Worker], corpus: Corpus) -> dict[str, float]:
    """Milliseconds of the very first after opening; a few more follow, so that everyone is warm."""
    *more, first = list(zip(corpus.questions, corpus.question_vectors, strict=True))[-5:]
    taken = {worker.name: worker.hybrid(*first)[0] for worker in workers}
    for ask in more:
        for worker in workers:
            worker.hybrid(*ask)
    return taken


def warm_recall(workers: Sequence[Worker], corpus: Corpus, rounds: int, seconds: float) -> dict[str, Timing]:
    asked = list(zip(corpus.questions, corpus.question_vectors, strict=True))
    return interleaved(workers, asked[:rounds], lambda worker, ask: worker.hybrid(*ask)[0], seconds=seconds)


def common_recall(workers: Sequence[Worker], corpus: Corpus, rounds: int, seconds: float) -> dict[str, Timing]:
    """Five words that very many memories hold, with the vector of some question."""
    vectors = list(corpus.question_vectors[:rounds])
    return interleaved(
        workers, vectors, lambda worker, vector: worker.hybrid(corpus.common, vector)[0], seconds=seconds
    )


@dataclass(frozen=True, slots=True)
class Adds:
    """`recall_after_add` has to find what was added; what a recall leaves to be written, `add_after_recall` may pay."""

    add: dict[str, Timing]
    add_after_recall: dict[str, Timing]
    recall_after_add: dict[str, Timing]


def durable_adds(workers: Sequence[Worker], corpus: Corpus, new: Batch, seconds: float) -> Adds:
    items = list(zip(*new, strict=True))
    half = len(items) // 2
    recalls: dict[str, list[float]] = {worker.name: [] for worker in workers}
    question = corpus.questions[0], corpus.question_vectors[0]

    def add_and_recall(worker: Worker, item: tuple[str, Vectors]) -> float:
        taken = worker.add(*item)
        recalls[worker.name].append(worker.hybrid(*question)[0])
        return taken

    interleaved(workers, [(f"{text} (first)", vector) for text, vector in items[:1]], add_and_recall, seconds=seconds)
    for samples in recalls.values():
        samples.clear()
    add = interleaved(workers, items[:half], lambda worker, item: worker.add(*item), seconds=seconds / 2)
    after = interleaved(workers, items[half:], add_and_recall, seconds=seconds / 2)
    return Adds(add, after, {name: Timing.of(samples) for name, samples in recalls.items()})


UNKNOWN_WORD: Final = "zqxjkvbp"
_TOP: Final = 10


def exactness(workers: Sequence[Worker], corpus: Corpus, size: int, questions: int = 100) -> dict[str, float]:
    """The share of the ten nearest memories that each finds by vector alone: the word asked for stands in none, and is
    another one each time, because the vector of a question that was asked before is known.
    """
    asked = corpus.question_vectors[:questions]
    nearest = [set(texts) for texts in _nearest(asked, corpus, size)]
    return {
        worker.name: statistics.mean(
            len(wanted.intersection(worker.hybrid(f"{UNKNOWN_WORD}{number}", vector)[1])) / _TOP
            for number, (vector, wanted) in enumerate(zip(asked, nearest, strict=True))
        )
        for worker in workers
    }


def _nearest(asked: Vectors, corpus: Corpus, size: int) -> list[list[str]]:
    """Brute force, a batch at a time."""
    scores = np.full((len(asked), _TOP), -2.0, dtype=np.float32)
    nearest: list[list[str]] = [[""] * _TOP for _ in asked]
    for texts, vectors in corpus.batches(size):
        both = np.hstack([scores, asked @ vectors.T])
        best = np.argsort(-both, axis=1)[:, :_TOP]
        scores = np.take_along_axis(both, best, axis=1)
        nearest = [
            [so_far[i] if i < _TOP else texts[i - _TOP] for i in row]
            for so_far, row in zip(nearest, best.tolist(), strict=True)
        ]
    return nearest
