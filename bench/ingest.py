"""How much of the bare embedder's speed is left when memories are stored as well."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.ours import local_embedder
from perdure import Memory

_CHUNK: Final = 1024


@dataclass(frozen=True, slots=True)
class Ingest:
    """Texts a second, chunk by chunk."""

    bare: tuple[float, ...]
    stored: tuple[float, ...]

    @property
    def shares(self) -> list[float]:
        return [stored / bare for bare, stored in zip(self.bare, self.stored, strict=True)]

    @property
    def share(self) -> float:
        return statistics.median(self.shares)


def ingest(texts: Sequence[str], file: Path) -> Ingest:
    """The same texts once embedded and dropped, once imported and worked off; either comes first by turns."""
    embedder = local_embedder()
    embedder.embed_passages(texts[:32])
    bare: list[float] = []
    stored: list[float] = []
    with Memory(file, embedder=embedder) as memory:
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            if len(bare) % 2:
                stored.append(_stored(memory, chunk))
            before = time.perf_counter()
            embedder.embed_passages(chunk)
            bare.append(len(chunk) / (time.perf_counter() - before))
            if len(bare) > len(stored):
                stored.append(_stored(memory, chunk))
    return Ingest(tuple(bare), tuple(stored))


def _stored(memory: Memory, texts: Sequence[str]) -> float:
    before = time.perf_counter()
    memory.import_({"text": text} for text in texts)
    memory.work()
    return len(texts) / (time.perf_counter() - before)
