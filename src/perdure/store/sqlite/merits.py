"""What recall by prominence looks at."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.store.port import Merit
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.rows import NUMBER_MASK, range_of, slot_of
from perdure.store.sqlite.sql import SQL

_NEWEST: Final = 1 << 62


def merits(connection: Database, namespace: int, after: int, limit: int) -> Sequence[Merit]:
    first = slot_of(namespace, max(0, min(after, NUMBER_MASK)))
    bindings = {"after": first, "last": range_of(namespace)[1], "limit": limit}
    return [Merit(*row) for row in connection.execute(SQL["merits"], bindings)]


def recall_counts(connection: Database, namespace: int) -> Sequence[tuple[int, int]]:
    first, last = range_of(namespace)
    return connection.execute(SQL["recall_counts"], {"first": first, "last": last}).fetchall()


def most_observed(connection: Database, namespace: int, seq: int | None) -> int:
    first, last = range_of(namespace)
    bindings = {"first": first, "last": last, "seq": _NEWEST if seq is None else seq}
    return connection.execute(SQL["most_observed"], bindings).get or 0
