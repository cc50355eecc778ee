"""What saving costs where memories are merged: in a small store and in a large one, in turn, by processor time.

The vectors are given, so that no embedding hides what the store does; texts are made up, or real ones where they are
named. Every text is said a second time in other words, and then it is merged.
"""

from __future__ import annotations

import tempfile
import time
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from statistics import median
from typing import Final

import numpy as np

from bench.corpus import Corpus, Vectors
from bench.run import told
from bench.synthetic import GivenVectors, fill, synthetic
from bench.turns import Clock, Samples, in_turn
from perdure import Memory, Saved

SMALL: Final = 1_000
LARGE: Final = 100_000
MOST: Final = 3.0
DIMENSIONS: Final = 384
_ROUNDS: Final = 200
_WARMING: Final = 10
# Near enough to be merged, far enough from all others to pass the gate.
_TWIN: Final = 0.97


class Saver:
    """Saves texts that were never said, and after each the same in other words."""

    def __init__(self, path: Path, corpus: Corpus, size: int, opened: ExitStack) -> None:
        self._given = GivenVectors(DIMENSIONS)
        self._memory = opened.enter_context(Memory(path, embedder=self._given))
        fill(self._memory, self._given, corpus.batches(size))
        # Questions are about the stored texts, as what is said next mostly is.
        self._texts, self._vectors = corpus.questions, corpus.question_vectors
        self._rng = np.random.default_rng(1)
        self._numbers = count()
        self.saved: list[Saved] = []

    def save(self, turn: int) -> None:
        """A new text in an even turn, its twin in the odd one behind it."""
        number = next(self._numbers) // 2 % len(self._texts)
        text, vector = self._texts[number], self._vectors[number]
        other = _unit(self._rng.standard_normal(DIMENSIONS).astype(np.float32))
        near = _unit(_TWIN * vector + np.sqrt(1 - _TWIN**2) * other)
        # What holds the other word for word is what both are merged into.
        again = f"{text} indeed"
        self._given.know([text, again], np.stack([vector, near]))
        self.saved.append(self._memory.save_memory(again if turn % 2 else text))


def _unit(vector: Vectors) -> Vectors:
    return (vector / np.linalg.norm(vector)).astype(np.float32)


def measure(directory: Path, corpus: Corpus, sizes: tuple[int, int], clock: Clock) -> tuple[Samples, dict[int, Saver]]:
    with ExitStack() as opened:
        savers: dict[int, Saver] = {}
        for size in sizes:
            with told(f"{size:,} memories"):
                savers[size] = Saver(directory / f"{size}.db", corpus, size, opened)
        sides = {f"{size}": saver.save for size, saver in savers.items()}
        return in_turn(sides, 2 * _ROUNDS, clock, warming=2 * _WARMING), savers


def report(corpus: Corpus | None = None, sizes: tuple[int, int] = (SMALL, LARGE)) -> bool:
    texts = "made-up texts" if corpus is None else "real texts, recombined"
    with tempfile.TemporaryDirectory(prefix="perdure-bench-") as place:
        samples, savers = measure(Path(place), corpus or synthetic(DIMENSIONS), sizes, time.thread_time)
    small, large = ([*samples[f"{size}"]] for size in sizes)
    print(f"Saving with merging, {texts}, {DIMENSIONS} dimensions, {2 * _ROUNDS} saves, processor time, medians")
    for name, which in (("a new text", 0), ("one that is merged", 1), ("all", None)):
        values = [each if which is None else each[which::2] for each in (small, large)]
        few, many = map(median, values)
        print(f"  {name:<20} {sizes[0]:>9,}: {few:6.2f} ms  {sizes[1]:>9,}: {many:6.2f} ms  ratio {many / few:.2f}")
    for size, saver in savers.items():
        merged = sum(each.outcome == "merged" for each in saver.saved)
        searches = [each.searches for each in saver.saved]
        print(f"  {size:>9,}: {merged} of {len(searches)} merged, {max(searches)} searches for one save at most")
    ratio = median(large) / median(small)
    verdict = "reached" if ratio <= MOST else "MISSED"
    print(f"  goal: at most {MOST:.0f} times as much in the large store: {ratio:.2f} {verdict}")
    return ratio <= MOST
