"""Counts of use in the file: every store of this process that has the same file open shares them."""

from __future__ import annotations

import atexit
import json
import os
import threading
from collections.abc import Iterable, Mapping
from typing import Final
from weakref import WeakSet, WeakValueDictionary

from perdure.buggify import point
from perdure.clock import to_micros
from perdure.store.port import Review
from perdure.store.rows import NUMBER_MASK, Row, Unwritten, slot_of
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.file import FileIdentity
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sql import SQL
from perdure.store.use import UseBatch, UseCounts, UseWriter


class SqliteUse(UseWriter):
    """What is counted is written in one small transaction."""

    def __init__(self, pool: Pool, identity: FileIdentity | None, *, thread: bool) -> None:
        counts = UseCounts()
        if identity is not None:
            with _gate:
                counts = _counts_of.setdefault(identity, counts)
        super().__init__(counts, thread=thread, in_memory=identity is None)
        self._pool = pool
        _alive.add(self)

    def _write(self, batch: UseBatch, patience: float) -> None:
        with self._settling(batch.counts) as settle, self._pool.writing(patience) as connection:
            if batch.calls:
                from perdure.store.sqlite.models import write_calls

                write_calls(connection, batch.calls)
            write_reviews(connection, batch.reviews)
            settle({name: write_counts(connection, name, numbers) for name, numbers in batch.counts.items()})
        point("use: written")


def write_reviews(connection: Database, reviews: Iterable[Review]) -> None:
    for review in reviews:
        namespace_id = connection.execute(SQL["namespace_id"], (review.namespace,)).get
        if namespace_id and 0 < review.number <= NUMBER_MASK:
            times = to_micros(review.first_at), to_micros(review.at)
            row = (slot_of(namespace_id, review.number), *times, review.rank)
            connection.execute(SQL["note_review"], row)


def write_counts(connection: Database, namespace: str, numbers: Mapping[int, Unwritten]) -> dict[int, Row]:
    """How often each of these memories has been recalled and accessed now; those that are gone are left out."""
    namespace_id: int | None = connection.execute(SQL["namespace_id"], (namespace,)).get
    if namespace_id is None:
        return {}
    slots = {slot_of(namespace_id, number): use for number, use in numbers.items() if 0 < number <= NUMBER_MASK}
    for slot, use in slots.items():
        connection.execute(SQL["note_use"], (slot, use.recalls, use.recalled_at, use.accesses, use.accessed_at))
    rows = connection.execute(SQL["use_totals"], (json.dumps(list(slots)),))
    return {row[0]: row[1:] for row in rows}


_gate: Final = threading.Lock()
_counts_of: Final[WeakValueDictionary[FileIdentity, UseCounts]] = WeakValueDictionary()
_alive: Final[WeakSet[SqliteUse]] = WeakSet()


# The thread must have ended before the interpreter does.
atexit.register(lambda: [writer.close() for writer in list(_alive)])
if hasattr(os, "register_at_fork"):
    # Registered after that of `fork`, which therefore runs when no thread is writing any more.
    os.register_at_fork(
        before=lambda: [writer.pause() for writer in list(_alive)],
        after_in_parent=lambda: [writer.resume() for writer in list(_alive)],
        after_in_child=lambda: [writer.after_fork_in_child() for writer in list(_alive)],
    )
