"""Checkpoints: names for positions in the log, a few numbers each, however much they stand for."""

from __future__ import annotations

import json
from contextlib import suppress
from typing import Any, Final

from perdure.buggify import point
from perdure.clock import Clock, from_micros, to_micros
from perdure.errors import Conflict, StoreDamaged
from perdure.model import Checkpoint
from perdure.store.sqlite.apsw_types import Database, Row
from perdure.store.sqlite.hash_chain import genesis
from perdure.store.sqlite.rows import encode_json
from perdure.store.sqlite.sql import SQL
from perdure.values import replace

# In place of a namespace's id: a checkpoint of all namespaces.
EVERYTHING: Final = 0


def put_checkpoint(connection: Database, checkpoint: Checkpoint, clock: Clock) -> Checkpoint:
    name, spec_folder = checkpoint.namespace, checkpoint.spec_folder
    namespace: int = EVERYTHING
    if name is not None:
        namespace = connection.execute(SQL["namespace_id"], (name,)).get or EVERYTHING
        if namespace == EVERYTHING:
            # A namespace that nobody has written to yet can be gone back to as well.
            row = (name, genesis(name), to_micros(clock()))
            namespace = connection.execute(SQL["create_namespace"], row).get
    if connection.execute(SQL["checkpoint_taken"], {"name": checkpoint.name, "namespace": namespace}).get:
        raise Conflict(
            f"There is a checkpoint called {checkpoint.name!r:.80} already.",
            remedy="Choose another name, or delete it.",
        )
    logs = [row for row in connection.execute(SQL["positions"]).fetchall() if namespace in (EVERYTHING, row[0])]
    if spec_folder is None:
        memory_count = sum(documents for *_, documents in logs)
    else:
        memory_count = sum(connection.execute(SQL["folder_count"], (log[0], spec_folder)).get for log in logs)
    stored = replace(checkpoint, positions={name: seq for _, name, seq, _ in logs}, memory_count=memory_count)
    row = (
        namespace, stored.name, encode_json({str(log_id): seq for log_id, _, seq, _ in logs}), memory_count,
        stored.actor, spec_folder, stored.description, encode_json(stored.metadata) if stored.metadata else None,
        to_micros(stored.created_at),
    )  # fmt: skip
    connection.execute(SQL["put_checkpoint"], row)
    point("checkpoint: before commit")
    return stored


def checkpoints(connection: Database, namespace: int) -> list[Checkpoint]:
    """Those of the namespace and those of everything. One that cannot be read is left out; doctor names it."""
    names = dict[int, str](connection.execute(SQL["namespace_names"]).fetchall())
    readable: list[Checkpoint] = []
    for row in connection.execute(SQL["checkpoints"], (namespace,)).fetchall():
        with suppress(StoreDamaged):
            readable.append(decode_checkpoint(row, names))
    return readable


def decode_checkpoint(row: Row, names: dict[int, str]) -> Checkpoint:
    namespace, name, positions, memory_count, actor, spec_folder, description, metadata, created_at = row
    damaged = StoreDamaged(f"The checkpoint {name!r:.80} is not as it was written.")
    try:
        own = None if namespace == EVERYTHING else names[namespace]
        by_name = {names[int(log_id)]: seq for log_id, seq in json.loads(positions).items()}
        if own is not None:
            by_name = {own: by_name[own]}
        facts = dict[str, Any](json.loads(metadata or "{}").items())
        moment = from_micros(created_at)
    except (KeyError, ValueError, TypeError, AttributeError, OverflowError) as error:
        raise damaged from error
    if any(not isinstance(seq, int) or seq < 0 for seq in by_name.values()):
        raise damaged
    return Checkpoint(name, own, by_name, memory_count, moment, actor, spec_folder, description, facts)
