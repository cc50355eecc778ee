"""How a recall index is filled, and how it learns what changed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from perdure.embed.port import Generation
from perdure.store.port import IndexChanges, IndexRow, Position, UseCount
from perdure.store.rows import NUMBER_MASK, Row, Unwritten, Value, range_of, slot_of
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.reader import generation_id
from perdure.store.sqlite.sql import SQL
from perdure.store.use import with_unwritten
from perdure.text.introductions import find_introduction
from perdure.text.names_and_times import holds_name
from perdure.text.question_share import question_share


def index_rows(
    connection: Database,
    namespace: int,
    generation: Generation | None,
    after: int,
    limit: int,
    *,
    with_triggers: bool = False,
    categories: Sequence[str] = (),
    vectors: bool = True,
) -> Sequence[IndexRow]:
    bindings: dict[str, Value] = {
        "generation": generation_id(connection, generation),
        "after": slot_of(namespace, max(0, min(after, NUMBER_MASK))),
        "last": range_of(namespace)[1],
        "limit": limit,
        "vectors": vectors,
    }
    if with_triggers:
        bindings["namespace"] = namespace
    statement = SQL["index_rows_with_triggers" if with_triggers else "index_rows"]
    if categories:
        bindings["categories"] = json.dumps(categories)
        statement = SQL["index_rows_of_categories"]
    return list(map(_index_row, connection.execute(f"{SQL['index_columns']} {statement}", bindings)))


def index_changes(connection: Database, namespace: int, generation: Generation | None, since: Position) -> IndexChanges:
    anew = since.repairs != (connection.execute(SQL["get_meta"], ("repairs",)).get or 0)
    if since.seq and not anew:
        known: bytes | None = connection.execute(SQL["hash_at"], (namespace, since.seq)).get
        anew = known is None or not since.head or not known.startswith(since.head)
    if anew:
        since = Position()
    bindings = {
        "namespace": namespace,
        "generation": generation_id(connection, generation),
        "seq": since.seq,
        "first_vector": slot_of(namespace, since.vector + 1),
        "last_vector": range_of(namespace)[1],
        "vectors": True,
    }
    rows: list[IndexRow] = []
    removed: list[int] = []
    for row in connection.execute(f"{SQL['index_columns']} {SQL['index_changes']}", bindings):
        if row[0] is None:
            removed.append(row[-1])
        else:
            rows.append(_index_row(row))
    return IndexChanges(rows, removed, anew)


def use_counts(
    connection: Database, namespace: int, numbers: Sequence[int] | None, unwritten: Mapping[int, Unwritten]
) -> Sequence[UseCount]:
    first, last = range_of(namespace)
    if numbers is None:
        rows = connection.execute(f"{SQL['use_counts']} {SQL['use_in_namespace']}", {"first": first, "last": last})
    else:
        slots = json.dumps([first | number for number in numbers])
        rows = connection.execute(f"{SQL['use_counts']} {SQL['use_of_slots']}", {"slots": slots})
    counts = cast("list[UseCount]", rows.fetchall())
    return with_unwritten(counts, unwritten, numbers)


_new_row: Final[Callable[[type[IndexRow], tuple[Any, ...]], IndexRow]] = cast("Any", tuple).__new__


def _index_row(row: Row) -> IndexRow:
    (
        terms, vector, active, tier, kind, valid_from, valid_until, expires_at, dated, updated_at, category,
        observations, confidence, importance, anchor, conversation, session, said, speaker, stability, phrases, passage,
        has_low_trust, told_in, number,
    ) = row  # fmt: skip
    asking, introduction = 0.0, None
    if said is not None:
        said = said.decode("utf-8", "replace")
        asking, introduction = question_share(said), find_introduction(said, holds_names=holds_name(said))
    # Much quicker than calling the class by its many arguments, or `_make`, which counts them.
    return _new_row(IndexRow, (
        number, terms, vector, active == 1, tier.decode("utf-8", "replace"), kind, valid_from, valid_until, expires_at,
        dated, updated_at, category and category.decode("utf-8", "replace"), observations, confidence, importance,
        anchor and anchor.decode("utf-8", "replace"),
        None if conversation is None else conversation.decode("utf-8", "replace"),
        None if session is None else session.decode("utf-8", "replace"),
        None if speaker is None else speaker.decode("utf-8", "replace"),
        asking,
        stability,
        tuple(map(str, json.loads(phrases.decode("utf-8", "replace")))) if phrases else (),
        passage,
        introduction,
        has_low_trust == 1,
        None if told_in is None else told_in.decode("utf-8", "replace"),
    ))  # fmt: skip
