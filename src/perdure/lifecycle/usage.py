"""Counting how often memories are used, and when. The store keeps the counts, so that no read waits for them."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

from perdure.ids import EPISODE
from perdure.model import Record
from perdure.store.port import Review, Store, Use
from perdure.visibility import kind_of

_STEP: Final = timedelta(microseconds=1)


class UseCounter:
    def __init__(self, store: Store) -> None:
        self._store = store

    def recalled(self, records: Iterable[Record], at: datetime) -> None:
        """Count one answer, best first: the best counts as the most recent, each one after it as a moment before."""
        self._store.note_use(
            [Use(record.namespace, record.number, 1, at - rank * _STEP, 0, None) for rank, record in enumerate(records)]
        )

    def accessed(self, record: Record, at: datetime) -> None:
        self._store.note_use([Use(record.namespace, record.number, 0, None, 1, at)])

    def retrieved(self, records: Iterable[Record], at: datetime) -> None:
        """Note that the episodes of an answer, best first, wait for their review."""
        self._store.note_reviews([
            Review(record.namespace, record.number, rank, at, at)
            for rank, record in enumerate(records, 1)
            if record.key and kind_of(record.key) == EPISODE
        ])  # fmt: skip

    def read_by_model(self, records: Iterable[Record], at: datetime) -> None:
        """Count that episodes stand in a text for a model as if somebody had looked at each of them."""
        for record in records:
            if record.key and kind_of(record.key) == EPISODE:
                self.accessed(record, at)
