"""How a recall index is filled, and how it learns what changed."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Final

from perdure.embed.port import Generation
from perdure.store.port import IndexChanges, IndexRow, Position, TriggerRow, TurnInfo
from perdure.store.sqlite.apsw_types import Database, Row
from perdure.store.sqlite.rows import NUMBER_MASK, range_of, slot_of
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.vectors import generation_id
from perdure.text.question_share import question_share

_TERMS: Final = 4


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
    return [_row(row) for row in rows]


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
    for row in connection.execute(SQL["index_changes"], bindings):
        if row[_TERMS] is None:
            removed.append(row[0])
        else:
            rows.append(_row(row))
    return IndexChanges(rows, removed)


def _row(row: Row) -> IndexRow:
    number, visible, valid_from, valid_until, terms, vector, *told = row
    known = None if told[0] is None and told[2] is None else _told(*told)
    return IndexRow(number, visible == 1, valid_from, valid_until, terms, vector, known)


def _told(conversation: bytes | None, session: bytes | None, speaker: bytes | None, asking: bytes | None) -> TurnInfo:
    return TurnInfo(_text(conversation), _text(session), _text(speaker), question_share(_text(asking) or ""))


def _text(stored: bytes | None) -> str | None:
    return None if stored is None else stored.decode("utf-8", "replace")


def trigger_phrases(connection: Database, namespace: int) -> Sequence[TriggerRow]:
    rows = connection.execute(SQL["trigger_phrases"], (namespace,))
    return [TriggerRow(number, tuple(map(str, json.loads(phrases))), *rest) for number, phrases, *rest in rows]
