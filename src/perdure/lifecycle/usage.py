"""Counting how often memories are used. Counts are kept in memory and written in batches, so no read waits."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from perdure.model import Record
from perdure.store.port import Store, Use

# After a write, counts are flushed when there are this many: a second commit for fewer would double its cost.
_FLUSH_WITH_WRITE: Final = 64
# A process that only reads flushes when there are this many.
_FLUSH_AT: Final = 4096


class UseCounter:
    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._uses: dict[tuple[str, int], Use] = {}

    def recalled(self, records: Iterable[Record], at: datetime) -> None:
        self._add(Use(record.namespace, record.number, 1, at, 0, None) for record in records)

    def accessed(self, record: Record, at: datetime) -> None:
        self._add((Use(record.namespace, record.number, 0, None, 1, at),))

    def last_uses(self, namespace: str) -> list[tuple[int, datetime]]:
        """The memories of a namespace that were used since the last flush, and when."""
        with self._lock:
            uses = [use for use in self._uses.values() if use.namespace == namespace]
        latest = ((use.number, _later(use.recalled_at, use.accessed_at)) for use in uses)
        return [(number, at) for number, at in latest if at]

    def flush_some(self) -> None:
        """Called after a write. It never waits for another writer."""
        if len(self._uses) >= _FLUSH_WITH_WRITE:
            self.flush(patience=0)

    def flush(self, *, patience: float) -> None:
        """Write the counts; when a writer is in the way for longer than `patience`, they are kept for the next time."""
        with self._lock:
            uses, self._uses = self._uses, {}
        if uses and not self._store.note_use(list(uses.values()), patience=patience):
            self._count(uses.values())

    def _add(self, uses: Iterable[Use]) -> None:
        if self._count(uses) >= _FLUSH_AT:
            self.flush(patience=0)

    def _count(self, uses: Iterable[Use]) -> int:
        with self._lock:
            for use in uses:
                key = (use.namespace, use.number)
                earlier = self._uses.get(key)
                if earlier is not None:
                    use = Use(  # noqa: PLW2901
                        *key,
                        earlier.recalls + use.recalls,
                        _later(earlier.recalled_at, use.recalled_at),
                        earlier.accesses + use.accesses,
                        _later(earlier.accessed_at, use.accessed_at),
                    )
                self._uses[key] = use
            return len(self._uses)


def _later(first: datetime | None, second: datetime | None) -> datetime | None:
    return max(first, second) if first and second else first or second
