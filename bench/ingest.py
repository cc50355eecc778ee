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
from perdure.settings import load

_CHUNK: Final = 1000
# Comparing takes ten times as long.
_COMPARED_CHUNKS: Final = 2


@dataclass(frozen=True, slots=True)
class Ingest:
    """Texts a second, chunk by chunk; `compared` are those of the first chunks, where `work` compares each memory with
    those near it, as it does by default.
    """

    bare: tuple[float, ...]
    stored: tuple[float, ...]
    compared: tuple[float, ...]

    @property
    def shares(self) -> list[float]:
        return [stored / bare for bare, stored in zip(self.bare, self.stored, strict=True)]

    @property
    def share(self) -> float:
        return statistics.median(self.shares)

    @property
    def compared_share(self) -> float:
        return statistics.median(compared / bare for bare, compared in zip(self.bare, self.compared, strict=False))


def ingest(texts: Sequence[str], folder: Path) -> Ingest:
    """The same texts once embedded and dropped, once imported and worked off, either first by turns; the first chunks
    once more with all comparing.
    """
    embedder = local_embedder()
    embedder.embed_passages(texts[:32])
    bare: list[float] = []
    stored: list[float] = []
    compared: list[float] = []
    with (
        Memory(settings=load(store=folder / "stored.db", learn="off"), embedder=embedder) as storing,
        Memory(folder / "compared.db", embedder=embedder) as comparing,
    ):
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            if len(bare) % 2:
                stored.append(_stored(storing, chunk))
            before = time.perf_counter()
            embedder.embed_passages(chunk)
            bare.append(len(chunk) / (time.perf_counter() - before))
            if len(bare) > len(stored):
                stored.append(_stored(storing, chunk))
            if len(compared) < _COMPARED_CHUNKS:
                compared.append(_stored(comparing, chunk))
    return Ingest(tuple(bare), tuple(stored), tuple(compared))


def _stored(memory: Memory, texts: Sequence[str]) -> float:
    before = time.perf_counter()
    memory.import_({"text": text} for text in texts)
    memory.work()
    return len(texts) / (time.perf_counter() - before)
