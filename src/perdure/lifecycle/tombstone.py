"""Texts that must not come back from older evidence: the one rule that every write obeys.

A text is alive while an active memory says it. What a write ends is buried, what it makes alive is lifted again. Only
what somebody took away counts: a memory that expired or had to make room may come back from any file.
"""

from __future__ import annotations

from datetime import datetime
from typing import Final

from perdure.model import Operation, Record
from perdure.store.port import Writer

# Why a text was buried. It is kept beside the tombstone, so it must not quote the text.
_REASONS: Final[dict[Operation, str]] = {
    "update": "corrected", "forget": "forgotten", "erase": "erased", "undo": "taken back", "rewind": "taken back",
}  # fmt: skip

# Also of a memory that had expired or been evicted before.
_TAKING_AWAY: Final[frozenset[Operation]] = frozenset({"forget", "erase"})


def settle(
    writer: Writer, operation: Operation, before: Record | None, after: Record | None, at: datetime
) -> datetime | None:
    """After the write that made `after` of `before` (None: no memory). Answers when the text that came to life was
    buried, None when it was not.
    """
    taken_away = operation in _TAKING_AWAY
    ended = before.content_hash if before and (taken_away or before.state == "active") else None
    alive = after.content_hash if after and after.state == "active" else None
    if ended == alive:
        return None
    # Another memory may say the same; then the text is alive still.
    if ended and not writer.has_active_text(ended):
        writer.add_tombstone(ended, _REASONS.get(operation, "replaced"), at)
    since = writer.tombstone_since(alive) if alive else None
    if alive and since:
        writer.lift_tombstone(alive)
    return since


def keeps_out(tombstone_since: datetime | None, said_at: datetime | None) -> bool:
    """Pure: whether a tombstone stands against what was said then; what has no time may be as old as you like."""
    return tombstone_since is not None and (said_at is None or said_at <= tombstone_since)


def remembered_again(tombstone_since: datetime) -> str:
    return f"This was forgotten or corrected on {tombstone_since:%Y-%m-%d}; it is remembered again."
