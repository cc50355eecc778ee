"""How full a namespace is, and what may be evicted from it: what the port asks and answers."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf

from perdure.values import value_class


@value_class
class Load:
    """How much a namespace holds (memories that may be found, and their tokens), and its own limits, if it has any."""

    items: int
    tokens: int
    max_items: int | None
    max_tokens: int | None


@value_class
class EvictionRule:
    """Importance from `high` on, and these tiers, are protected; importance below `low` goes first. `models_only`:
    nothing goes that a person said, corrected, judged or brought back, nor what was merged from such a memory.
    """

    low: float
    high: float
    protected_tiers: tuple[str, ...] = ("constitutional", "critical")
    models_only: bool = False

    @property
    def classes(self) -> tuple[tuple[str, float, float], ...]:
        """The states in the order in which they go, each with the importance from which and below which it does."""
        return (
            ("superseded", -inf, self.high),
            ("active", -inf, min(self.low, self.high)),
            ("active", self.low, self.high),
        )


@value_class
class CapacityStats:
    """`versions` counts all that are kept, `importance` has `lowest`, `mean` and `highest` of what may be found."""

    load: Load
    versions: int
    protected: int
    evicted: int
    importance: Mapping[str, float]
