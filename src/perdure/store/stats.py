"""What a store counts of itself."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from perdure.embed.port import Generation


class GenerationStats(NamedTuple):
    """How many memories have vectors of a generation, what one vector of each takes, and whether they answer."""

    generation: Generation
    vectors: int
    bytes: int
    serving: bool


@dataclass(frozen=True, slots=True)
class NamespaceStats:
    name: str
    states: dict[str, int]
    categories: dict[str, int]
    revision_count: int
    vectors_pending: int
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class StoreStats:
    address: str
    engine: str
    schema: int
    bytes: int
    namespaces: tuple[NamespaceStats, ...]
    generations: tuple[GenerationStats, ...] = ()
