"""What time does to memories, in all namespaces: those that expire, those whose grace is over, and the times known."""

from __future__ import annotations

from datetime import datetime

from perdure.clock import from_micros, to_micros
from perdure.model import Record
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.vectors import sound


def due(connection: Database, now: datetime, limit: int) -> list[Record]:
    return _records(connection, SQL["due"], now, limit)


def purgeable(connection: Database, until: datetime, limit: int) -> list[Record]:
    return _records(connection, SQL["purgeable"], until, limit)


def write_times_after(connection: Database, moment: datetime) -> list[datetime]:
    return [from_micros(at) for (at,) in connection.execute(SQL["times_after"], (to_micros(moment),))]


def _records(connection: Database, sql: str, moment: datetime, limit: int) -> list[Record]:
    """Damaged ones are left out, and others take their place."""
    found: list[Record] = []
    for name, slot in connection.execute(sql, (to_micros(moment),)):
        if len(found) >= limit:
            break
        record = sound(connection, name, slot)
        if record is not None:
            found.append(record)
    return found
