"""Which of the ordinary rules of recall hold under a filter."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from perdure.model import Filter

_ORDINARY: Final = Filter()


@dataclass(frozen=True, slots=True)
class Scope:
    """`visible`: neither superseded nor deprecated. `valid`: true now. `wanted`: what the store has to look up, and
    `unwanted`: what is then taken away again.
    """

    visible: bool
    valid: bool
    wanted: Filter | None
    unwanted: Filter | None

    @classmethod
    def of(cls, filter: Filter) -> Scope:
        """The same rules as the store's own keyword search."""
        active = filter.states == _ORDINARY.states
        return cls(
            visible=active and filter.tier != "deprecated",
            valid=active,
            wanted=None if filter == _ORDINARY else filter,
            unwanted=replace(filter, tier="deprecated") if filter.tier is None and not active else None,
        )
