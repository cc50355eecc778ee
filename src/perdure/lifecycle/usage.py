"""Counting how often memories are used, and when. The store keeps the counts, so that no read waits for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from perdure.model import Record
from perdure.store.port import Store, Use

_STEP: Final = timedelta(microseconds=1)
_STEPS: Final = 1000


class UseCounter:
    def __init__(self, store: Store) -> None:
        self._store = store

    def recalled(self, records: Iterable[Record], at: datetime) -> None:
        """Count one answer, best first: the best counts as the most recent, each one after it as a moment before, so
        that `rank_of` can tell where it stood.
        """
        whole = at.replace(microsecond=at.microsecond // _STEPS * _STEPS)
        uses = [
            Use(record.namespace, record.number, 1, whole - min(rank, _STEPS - 1) * _STEP, 0, None)
            for rank, record in enumerate(records)
        ]
        self._store.note_use(uses)

    def accessed(self, record: Record, at: datetime) -> None:
        self._store.note_use([Use(record.namespace, record.number, 0, None, 1, at)])


def rank_of(recalled_at: datetime) -> int:
    """Where a memory stood in the last answer that it was part of; the best has rank 0."""
    return -recalled_at.microsecond % _STEPS
