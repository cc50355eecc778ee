"""What every system under measurement has to do: the same work, behind the same few calls."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from pathlib import Path
from typing import ClassVar

from bench.corpus import Batch, Vectors

LEG = 50
"""How many candidates each half of a hybrid search brings, where we put the halves together ourselves."""


class Contender(ABC):
    """One system, keeping its data in one directory. Vectors are handed to it: embedding is never part of the time."""

    name: ClassVar[str]
    about: ClassVar[str]
    packages: ClassVar[tuple[str, ...]] = ()
    syncs: ClassVar[bool] = True
    """Whether an add asks the disk to keep it, which a power failure would show."""
    store: ClassVar[str] = ""
    """Whose store it asks, when not its own; such a one builds nothing."""
    adds: ClassVar[bool] = True
    """Whether its adds are measured; one that only asks another's store in another way has none of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @abstractmethod
    def build(self, batches: Iterator[Batch]) -> None:
        """A new store with all of these, on disk when this returns; not open afterwards."""

    @abstractmethod
    def open(self) -> None: ...

    @abstractmethod
    def hybrid(self, query: str, vector: Vectors, limit: int) -> list[str]:
        """The texts that answer best, by words and by meaning."""

    @abstractmethod
    def add(self, text: str, vector: Vectors) -> None:
        """On disk, as far as the system can promise, and found by the next search, when this returns."""

    @abstractmethod
    def close(self) -> None: ...


def fused(*rankings: list[str], limit: int) -> list[str]:
    """Reciprocal rank fusion, as every guide to hybrid search writes it."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, text in enumerate(ranking, 1):
            scores[text] = scores.get(text, 0.0) + 1 / (60 + rank)
    return sorted(scores, key=scores.__getitem__, reverse=True)[:limit]
