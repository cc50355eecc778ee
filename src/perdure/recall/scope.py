"""Which of the ordinary rules of recall hold under a filter, and what a filter says about a record."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from perdure.model import INDEXED_STATES, Filter, Record
from perdure.tiers import offered_tier

_ORDINARY: Final = Filter()
_EVERYTHING: Final = Filter(states=INDEXED_STATES)
_EXACT: Final = ("context_type", "tier", "source_project", "spec_folder", "conversation_id")


@dataclass(frozen=True, slots=True)
class Scope:
    """`visible`: neither superseded nor deprecated. `valid`: true at the moment asked about. `wanted`: what has to be
    looked up, and `unwanted`: what is then taken away again.
    """

    visible: bool
    valid: bool
    wanted: Filter | None
    unwanted: Filter | None

    @classmethod
    def of(cls, filter: Filter, *, true_then: bool = False) -> Scope:
        """The same rules as the store's own keyword search. `true_then`: a memory that is superseded by now counts,
        if it was true at the moment asked about.
        """
        active = filter.states == _ORDINARY.states
        if active and true_then:
            filter = replace(filter, states=INDEXED_STATES)
        ordinary = active and not true_then
        return cls(
            visible=ordinary and filter.tier != "deprecated",
            valid=active or true_then,
            wanted=None if filter in (_ORDINARY, _EVERYTHING) else filter,
            unwanted=replace(filter, tier="deprecated") if filter.tier is None and not ordinary else None,
        )

    @property
    def looks_up(self) -> bool:
        return self.wanted is not None or self.unwanted is not None


def passes(filter: Filter, record: Record) -> bool:
    """What the store's filters ask of the memories of today, asked of a record of any time."""
    exact = (getattr(filter, name) in {None, getattr(record, name)} for name in _EXACT)
    when = record.valid_at or record.created_at
    return (
        record.state in filter.states
        and all(exact)
        and (not filter.categories or record.category in filter.categories)
        and (not filter.sources or record.source in filter.sources)
        and set(filter.tags) <= set(record.tags)
        and (filter.since is None or when >= filter.since)
        and (filter.until is None or when < filter.until)
        and (filter.created_since is None or record.created_at >= filter.created_since)
        and (filter.created_until is None or record.created_at < filter.created_until)
        and (filter.unexpired_at is None or record.expires_at is None or record.expires_at > filter.unexpired_at)
        and (filter.numbers is None or record.number in filter.numbers)
        and (not filter.offered or offered_tier(record) is not None)
    )
