"""Whether a memory may be shown, and passes a filter: one rule for recall, triggers, constitution, summaries and `get`.

Two mirrors of it exist for speed: `store/sqlite/filters.py` says it in SQL, and `recall/index.py` over columns.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime
from typing import Final

from perdure.clock import local_day
from perdure.ids import KINDS
from perdure.model import Filter, Record
from perdure.text.patterns import pattern
from perdure.tiers import offered_tier
from perdure.validation import RecordFields, scalar_json

GONE_STATES: Final = frozenset({"deleted", "evicted", "expired"})

# In the metadata of what was imported from a project: the ids of the projects that say it.
TOLD_IN: Final = "told_in"

_KIND: Final = pattern(rf"({'|'.join(KINDS)}):.*/[0-9]{{8}}", re.DOTALL)

_EXACT_FIELDS: Final = ("context_type", "tier", "source_project", "spec_folder", "conversation_id")


def kind_of(key: str) -> str | None:
    """Whether a memory is a message, an episode or a proposal: by the type of a key that Perdure gave."""
    kind = _KIND.fullmatch(key)
    return kind[1] if kind else None


def places_of(record: Record) -> tuple[str, ...] | None:
    """The projects in which alone a memory is told without being asked for: what was imported from one that nobody has
    vouched for stays there. Its metadata has their ids; the name of one, after a slash, is all that is known of what
    was imported by an earlier version. None: everywhere.
    """
    if record.trust != "low" or record.source != "import":
        return None
    ids = record.metadata.get(TOLD_IN)
    if isinstance(ids, list | tuple):
        return tuple(id for id in ids if isinstance(id, str))
    return None if record.source_project is None else (f"/{record.source_project}",)


def is_told_in(record: Record, places: Collection[str]) -> bool:
    own = places_of(record) if places else None
    return own is None or not set(own).isdisjoint(places)


def has_expired(record: Record, moment: datetime) -> bool:
    return record.expires_at is not None and record.expires_at <= moment


def is_visible(record: Record, filter: Filter, moment: datetime) -> bool:
    """Whether a read with this filter may show the memory: it is in a state that the filter names, of no kind that it
    hides, told where it asks for that, deprecated only when the filter asks for that tier, and true and unexpired at
    this moment where it asks for active memories alone.
    """
    if record.state not in filter.states or (record.tier == "deprecated" and filter.tier != "deprecated"):
        return False
    if record.key and filter.hidden and kind_of(record.key) in filter.hidden:
        return False
    if filter.told_in and not is_told_in(record, filter.told_in):
        return False
    if filter.states != ("active",):
        return True
    begun = record.valid_at is None or record.valid_at <= moment
    ended = record.invalid_at is not None and record.invalid_at <= moment
    expired = record.expires_at is not None and record.expires_at <= moment
    return begun and not ended and not expired


def notes_on_times(fields: RecordFields, at: datetime) -> list[str]:
    """Notes on times that were given, and that hide the memory from recall now."""
    notes: list[str] = []
    if (begins := fields.get("valid_at")) and begins > at:
        notes.append(
            f"It becomes true on {local_day(begins)}. Until then recall shows neither it nor what it replaces, unless "
            "it is asked with as_of (--as-of)."
        )
    if (ends := fields.get("expires_at")) and ends <= at:
        notes.append(f"Its expires_at, {local_day(ends)}, is in the past, so recall does not show it.")
    return notes


def has_entry(record: Record, name: str, values: tuple[str, ...]) -> bool:
    """Whether this entry of the metadata is one of the values, or a list that holds one."""
    if name not in record.metadata:
        return False
    held = record.metadata[name]
    return any(scalar_json(each) in values for each in (held if isinstance(held, list) else [held]))


def where_in_words(where: tuple[tuple[str, tuple[str, ...]], ...]) -> str:
    """`project "x", severity 1 or 2`, for a sentence about a filter."""
    return ", ".join(f"{name} {' or '.join(values)}" for name, values in where)


def matches_filter(record: Record, filter: Filter) -> bool:
    """Whether a record of any time passes a filter, as the store's own filters decide it for the records of today."""
    exact = (getattr(filter, name) in {None, getattr(record, name)} for name in _EXACT_FIELDS)
    dated = record.valid_at or record.created_at
    return (
        record.state in filter.states
        and all(exact)
        and (not filter.categories or record.category in filter.categories)
        and (not filter.sources or record.source in filter.sources)
        and set(filter.tags) <= set(record.tags)
        and (filter.key_type is None or (record.key or "").startswith(f"{filter.key_type}:"))
        and (not filter.hidden or kind_of(record.key or "") not in filter.hidden)
        and (filter.min_importance is None or record.importance >= filter.min_importance)
        and (filter.max_importance is None or record.importance <= filter.max_importance)
        and all(has_entry(record, name, values) for name, values in filter.where)
        and (filter.since is None or dated >= filter.since)
        and (filter.until is None or dated < filter.until)
        and (filter.created_since is None or record.created_at >= filter.created_since)
        and (filter.created_until is None or record.created_at < filter.created_until)
        and (filter.unexpired_at is None or not has_expired(record, filter.unexpired_at))
        and (filter.numbers is None or record.number in filter.numbers)
        and is_told_in(record, filter.told_in)
        and (not filter.offered or offered_tier(record) is not None)
    )
