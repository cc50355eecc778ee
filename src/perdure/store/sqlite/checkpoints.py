"""Names for positions in the log: a few numbers each, whatever they stand for."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, cast

from perdure.buggify import point
from perdure.clock import from_micros, to_micros
from perdure.errors import Conflict, StoreDamaged
from perdure.model import Checkpoint
from perdure.store.sqlite.apsw_types import Database, Row
from perdure.store.sqlite.hash_chain import genesis
from perdure.store.sqlite.rows import encode_json
from perdure.store.sqlite.sql import SQL

EVERYTHING: Final = 0


def put_checkpoint(connection: Database, wanted: Checkpoint, now: Callable[[], datetime]) -> Checkpoint:
    own = EVERYTHING if wanted.namespace is None else _ensure_namespace(connection, wanted.namespace, now)
    if connection.execute(SQL["checkpoint_taken"], {"name": wanted.name, "namespace": own}).get:
        raise Conflict(
            f"There is a checkpoint called {wanted.name!r:.80} already.", remedy="Choose another name, or delete it."
        )
    logs = [row for row in connection.execute(SQL["positions"]) if own in (EVERYTHING, row[0])]
    kept = Checkpoint(
        wanted.name, wanted.namespace, {name: seq for _, name, seq, _ in logs},
        sum(_memories(connection, row, wanted.spec_folder) for row in logs), wanted.created_at, wanted.actor,
        wanted.spec_folder, wanted.description, wanted.metadata,
    )  # fmt: skip
    row = (
        own, kept.name, encode_json({str(known): seq for known, _, seq, _ in logs}), kept.memory_count, kept.actor,
        kept.spec_folder, kept.description, encode_json(kept.metadata) if kept.metadata else None,
        to_micros(kept.created_at),
    )  # fmt: skip
    connection.execute(SQL["put_checkpoint"], row)
    point("checkpoint: before commit")
    return kept


def checkpoints(connection: Database, namespace: int | None) -> list[Checkpoint]:
    """One that cannot be read is left out; doctor names it."""
    names = dict[int, str](connection.execute(SQL["namespace_names"]).fetchall())
    found: list[Checkpoint] = []
    for row in connection.execute(SQL["checkpoints"], (EVERYTHING if namespace is None else namespace,)).fetchall():
        try:
            found.append(decode_checkpoint(row, names))
        except StoreDamaged:
            continue
    return found


def delete_checkpoint(connection: Database, namespace: int | None, name: str) -> bool:
    connection.execute(SQL["delete_checkpoint"], (EVERYTHING if namespace is None else namespace, name))
    return connection.changes() > 0


def decode_checkpoint(row: Row, names: dict[int, str]) -> Checkpoint:
    namespace, name, positions, memories, actor, spec_folder, description, metadata, created_at = row
    try:
        own = None if namespace == EVERYTHING else names[namespace]
        stands = {names[int(known)]: _position(seq) for known, seq in _mapping(positions).items()}
        if own is not None:
            stands = {own: stands[own]}
        return Checkpoint(
            name,
            own,
            stands,
            memories,
            from_micros(created_at),
            actor,
            spec_folder,
            description,
            _mapping(metadata or "{}"),
        )
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise StoreDamaged(f"The checkpoint {name!r:.80} is not as it was written.") from error


def _position(seq: object) -> int:
    if not isinstance(seq, int) or seq < 0:
        raise ValueError("not a position")
    return seq


def _mapping(text: str) -> dict[str, Any]:
    found = json.loads(text)
    if not isinstance(found, dict):
        raise TypeError("not a mapping")
    return cast("dict[str, Any]", found)


def _memories(connection: Database, row: Row, spec_folder: str | None) -> int:
    known, _, _, documents = row
    return documents if spec_folder is None else connection.execute(SQL["folder_count"], (known, spec_folder)).get


def _ensure_namespace(connection: Database, name: str, now: Callable[[], datetime]) -> int:
    """A namespace that nobody wrote to yet can be gone back to as well."""
    known: int | None = connection.execute(SQL["namespace_id"], (name,)).get
    if known is not None:
        return known
    return connection.execute(SQL["create_namespace"], (name, genesis(name), to_micros(now()))).get
