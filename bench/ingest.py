"""How much of the bare embedder's speed is left when memories are stored as well."""

from __future__ import annotations

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
    """Texts a second."""

    bare: float
    stored: float

    @property
    def share(self) -> float:
        return self.stored / self.bare


def ingest(texts: Sequence[str], file: Path) -> Ingest:
    """The same texts chunk by chunk, once embedded and dropped, once imported and worked off, by turns."""
    embedder = local_embedder()
    embedder.embed_passages(texts[:32])
    bare = stored = 0.0
    with Memory(file, embedder=local_embedder()) as memory:
        memory.remember("The first call loads the model.")
        for start in range(0, len(texts), _CHUNK):
            chunk = texts[start : start + _CHUNK]
            before = time.perf_counter()
            embedder.embed_passages(chunk)
            between = time.perf_counter()
            memory.import_({"text": text} for text in chunk)
            memory.work()
            bare += between - before
            stored += time.perf_counter() - between
    return Ingest(len(texts) / bare, len(texts) / stored)
