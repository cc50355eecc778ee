"""Counts of use in the database: every store of this process that has the same address open shares them."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Mapping
from typing import Any, Final
from weakref import WeakSet, WeakValueDictionary

from perdure.buggify import point
from perdure.clock import to_micros
from perdure.store.port import Review
from perdure.store.postgres.models import write_calls
from perdure.store.postgres.pool import PostgresPool
from perdure.store.postgres.reader import namespace_key
from perdure.store.rows import NUMBER_MASK, Row, Unwritten
from perdure.store.use import UseBatch, UseCounts, UseWriter


class PostgresUse(UseWriter):
    """What is counted is written in one small transaction for each namespace: none waits for who writes memories."""

    def __init__(self, pool: PostgresPool, sql: Mapping[str, str]) -> None:
        with _gate:
            counts = _counts_of.setdefault(pool.address.conninfo + pool.address.schema, UseCounts())
        super().__init__(counts, thread=True)
        self._pool = pool
        self._sql = sql
        _alive.add(self)

    def _write(self, batch: UseBatch, patience: float) -> None:
        reviews: dict[str, list[Review]] = {}
        for review in batch.reviews:
            reviews.setdefault(review.namespace, []).append(review)
        for namespace in sorted(batch.counts.keys() | reviews.keys()):
            counts = batch.counts.get(namespace, {})
            with (
                self._settling({namespace: counts}) as settle,
                self._pool.writing(namespace_key(namespace), patience) as transaction,
            ):
                own: dict[str, Any] = {"namespace": namespace_key(namespace)}
                for review in sorted(reviews.get(namespace, ())):
                    if 0 < review.number <= NUMBER_MASK:
                        times = {"first_at": to_micros(review.first_at), "at": to_micros(review.at)}
                        row = {**own, **times, "number": review.number, "rank": review.rank}
                        transaction.send(self._sql["note_review"], row)
                # In the order of the numbers, so that no two of these wait for each other.
                questions = [
                    (self._sql["note_use"], {**own, "number": number, **_columns(use)})
                    for number, use in sorted(counts.items())
                    if 0 < number <= NUMBER_MASK
                ]
                answers = transaction.ask_all(questions) if questions else []
                totals: dict[int, Row] = {row[0]: row[1:] for rows in answers for row in rows}
                settle({namespace: totals})
            point("use: written")
        if batch.calls:
            write_calls(self._pool, self._sql, batch.calls)


def _columns(use: Unwritten) -> dict[str, int | None]:
    times = {"recalled_at": use.recalled_at, "accessed_at": use.accessed_at}
    return {"recalls": use.recalls, "accesses": use.accesses, **times}


_gate: Final = threading.Lock()
_counts_of: Final[WeakValueDictionary[str, UseCounts]] = WeakValueDictionary()
_alive: Final[WeakSet[PostgresUse]] = WeakSet()

# The thread must have ended before the interpreter does.
atexit.register(lambda: [writer.close() for writer in list(_alive)])
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: [writer.pause() for writer in list(_alive)],
        after_in_parent=lambda: [writer.resume() for writer in list(_alive)],
        after_in_child=lambda: [writer.after_fork_in_child() for writer in list(_alive)],
    )
