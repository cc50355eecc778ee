"""How a recall index is filled, and how it learns what changed."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.embed.port import Generation
from perdure.store.port import IndexChanges, IndexRow, Position
from perdure.store.sqlite.database import Database
from perdure.store.sqlite.rows import NUMBER_MASK, range_of, slot_of
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.vectors import generation_id


def position(connection: Database, name: str, generation: Generation | None) -> Position:
    rows = connection.execute(SQL["position"], (name,)).fetchall()
    if not rows:
        return Position()
    seq, vector, repairs = rows[0]
    return Position(seq, vector if generation else 0, repairs)


def index_rows(
    connection: Database, namespace: int, generation: Generation | None, after: int, limit: int
) -> Sequence[IndexRow]:
    bindings = {
        "generation": generation_id(connection, generation),
        "after": slot_of(namespace, max(0, min(after, NUMBER_MASK))),
        "last": range_of(namespace)[1],
        "limit": limit,
    }
    rows = connection.execute(SQL["index_rows"], bindings)
    return [IndexRow(number, visible == 1, *rest) for number, visible, *rest in rows]


def index_changes(connection: Database, namespace: int, generation: Generation | None, since: Position) -> IndexChanges:
    if since.repairs != (connection.execute(SQL["get_meta"], ("repairs",)).get or 0):
        since = Position()
    bindings = {
        "namespace": namespace,
        "generation": generation_id(connection, generation),
        "seq": since.seq,
        "first_vector": slot_of(namespace, since.vector + 1),
        "last_vector": range_of(namespace)[1],
    }
    rows: list[IndexRow] = []
    removed: list[int] = []
    for number, visible, valid_from, valid_until, terms, vector in connection.execute(SQL["index_changes"], bindings):
        if terms is None:
            removed.append(number)
        else:
            rows.append(IndexRow(number, visible == 1, valid_from, valid_until, terms, vector))
    return IndexChanges(rows, removed)
