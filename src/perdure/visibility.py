"""Whether a memory may be shown: one rule for recall, triggers, the constitution, summaries and `get`.

Two mirrors of it exist for speed: `store/sqlite/filters.py` says it in SQL, and `recall/index.py` over columns.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from perdure.model import Filter, Record

GONE_STATES: Final = frozenset({"deleted", "evicted", "expired"})


def has_expired(record: Record, moment: datetime) -> bool:
    return record.expires_at is not None and record.expires_at <= moment


def is_in_force(record: Record, moment: datetime) -> bool:
    """Whether a memory is true at this moment, and has not expired."""
    begun = record.valid_at is None or record.valid_at <= moment
    return begun and (record.invalid_at is None or record.invalid_at > moment) and not has_expired(record, moment)


def is_visible(record: Record, filter: Filter, moment: datetime) -> bool:
    """Whether a read with this filter may show the memory: it is in a state that the filter names, deprecated only when
    the filter asks for that tier, and in force where the filter asks for active memories alone.
    """
    if record.state not in filter.states or (record.tier == "deprecated" and filter.tier != "deprecated"):
        return False
    return filter.states != ("active",) or is_in_force(record, moment)
