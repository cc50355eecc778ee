"""Giving a namespace to another store, and taking one."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from perdure.clock import to_micros
from perdure.embed.port import Generation
from perdure.model import Checkpoint
from perdure.store.hash_chain import LogEnd
from perdure.store.queries import load_queries
from perdure.store.rows import encode_json, has_dimensions, is_sound_vector, range_of, slot_of
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.checkpoints import EVERYTHING
from perdure.store.sqlite.erasure import UNVERSIONED, dropped_until
from perdure.store.sqlite.reader import generation_id
from perdure.store.sqlite.sql import SQL
from perdure.store.transfer import LoggedLine, NamespaceExtras, VectorRow, logged_line

TRANSFER_SQL: Final = load_queries(Path(__file__).with_name("transfer.sql"))


def log_end(connection: Database, namespace: int) -> LogEnd | None:
    rows = connection.execute(TRANSFER_SQL["end_of_log"], (namespace,)).fetchall()
    return LogEnd(*rows[0]) if rows else None


def logged_lines(connection: Database, namespace: int, after: int, limit: int) -> list[LoggedLine]:
    rows = connection.execute(TRANSFER_SQL["dump_lines"], (namespace, after, limit)).fetchall()
    return [logged_line(row) for row in rows]


def extras(connection: Database, namespace: int, name: str, checkpoints: list[Checkpoint]) -> NamespaceExtras:
    # What calls providers is loaded where it is needed, and not whenever a store is opened.
    from perdure.store.sqlite.models import parked

    places = range_of(namespace)

    def rows(statement: str) -> list[tuple[object, ...]]:
        return connection.execute(TRANSFER_SQL[statement], places).fetchall()

    ((number, max_items, max_tokens),) = connection.execute(TRANSFER_SQL["dump_namespace"], (namespace,)).fetchall()
    return NamespaceExtras(
        secret=connection.execute(SQL["secret"], (f"secret:{namespace}",)).get,
        number=number,
        unversioned=dropped_until(connection, namespace),
        max_items=max_items,
        max_tokens=max_tokens,
        tokens=dict(connection.execute(TRANSFER_SQL["dump_tokens"], places).fetchall()),
        uses=rows("dump_use"),
        reviews=rows("dump_reviews"),
        tombstones=connection.execute(TRANSFER_SQL["dump_tombstones"], (namespace,)).fetchall(),
        checkpoints=[checkpoint for checkpoint in checkpoints if checkpoint.namespace == name],
        parked=parked(connection, namespace, name),
    )


def vector_rows(
    connection: Database, namespace: int, generation: Generation, after: int, limit: int
) -> list[VectorRow]:
    """Those that are as they were stored."""
    bindings = (slot_of(namespace, after), range_of(namespace)[1], generation_id(connection, generation), limit)
    return [
        VectorRow(position, passage, data)
        for position, passage, checksum, data in connection.execute(TRANSFER_SQL["dump_vectors"], bindings)
        if is_sound_vector(checksum, passage, data) and has_dimensions(data, generation.dimensions)
    ]


def put_extras(connection: Database, namespace: int, taken: NamespaceExtras, *, is_new: bool) -> None:
    from perdure.store.sqlite.models import park

    execute = connection.execute
    if is_new:
        execute(SQL["change_meta"], (f"secret:{namespace}", taken.secret))
    if taken.unversioned:
        execute(SQL["raise_mark"], (f"{UNVERSIONED}{namespace}", taken.unversioned))
    for number, *columns in taken.uses:
        execute(TRANSFER_SQL["put_use"], (slot_of(namespace, number), *columns))
    for number, first_at, at, rank in taken.reviews:
        execute(SQL["note_review"], (slot_of(namespace, number), first_at, at, rank))
    execute(TRANSFER_SQL["clear_tombstones"], (namespace,))
    for row in taken.tombstones:
        execute(SQL["add_tombstone"], (namespace, *row))
    execute(TRANSFER_SQL["clear_parked"], (namespace,))
    for each in taken.parked:
        park(connection, namespace, each)
    for checkpoint in taken.checkpoints:
        put_checkpoint(connection, namespace, checkpoint, {checkpoint.namespace or "": namespace})


def put_checkpoint(connection: Database, namespace: int, checkpoint: Checkpoint, ids: dict[str, int]) -> None:
    positions = {str(ids[name]): seq for name, seq in checkpoint.positions.items() if name in ids}
    row = (
        namespace, checkpoint.name, encode_json(positions), checkpoint.memory_count, checkpoint.actor,
        checkpoint.spec_folder, checkpoint.description,
        encode_json(checkpoint.metadata) if checkpoint.metadata else None, to_micros(checkpoint.created_at),
    )  # fmt: skip
    connection.execute(TRANSFER_SQL["put_checkpoint"], row)


def copy_checkpoint(connection: Database, checkpoint: Checkpoint) -> None:
    ids = {name: id for id, name in connection.execute(SQL["namespace_names"])}
    put_checkpoint(connection, EVERYTHING, checkpoint, ids)
