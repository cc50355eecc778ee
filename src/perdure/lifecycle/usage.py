"""Counting use without making a read wait: counted in memory, written in small batches when it costs nothing."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from datetime import datetime
from typing import Final

from perdure.model import Record
from perdure.store.port import Store, Use

# A write takes the counts along from here on: a second commit for a few of them would double what it costs.
_SOME: Final = 64
# A process that only reads writes them itself, but rarely.
_ENOUGH: Final = 4096


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
        """After a write, when there is something to show for it, and never waiting for anyone."""
        if len(self._uses) >= _SOME:
            self.flush(patience=0)

    def flush(self, *, patience: float) -> None:
        """Write what was counted; if a writer is in the way for longer than that, keep it for the next time."""
        with self._lock:
            uses, self._uses = self._uses, {}
        if uses and not self._store.note_use(list(uses.values()), patience=patience):
            self._count(uses.values())

    def _add(self, uses: Iterable[Use]) -> None:
        if self._count(uses) >= _ENOUGH:
            self.flush(patience=0)

    def _count(self, uses: Iterable[Use]) -> int:
        with self._lock:
            for use in uses:
                earlier = self._uses.get(use[:2])
                self._uses[use[:2]] = _sum(earlier, use) if earlier else use
            return len(self._uses)


def _sum(first: Use, second: Use) -> Use:
    return Use(
        first.namespace,
        first.number,
        first.recalls + second.recalls,
        _later(first.recalled_at, second.recalled_at),
        first.accesses + second.accesses,
        _later(first.accessed_at, second.accessed_at),
    )


def _later(first: datetime | None, second: datetime | None) -> datetime | None:
    return max(first, second) if first and second else first or second
