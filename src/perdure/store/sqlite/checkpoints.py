"""Checkpoints: names for positions in the log, a few numbers each, however much they stand for."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

from perdure.buggify import point
from perdure.clock import Clock, to_micros
from perdure.errors import Conflict, StoreDamaged
from perdure.model import Checkpoint
from perdure.store.checkpoints import decode_checkpoint
from perdure.store.hash_chain import genesis
from perdure.store.rows import encode_json
from perdure.store.sqlite.apsw_types import Database
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
    names = {str(log_id): name for log_id, name in connection.execute(SQL["namespace_names"])}
    readable: list[Checkpoint] = []
    for row in connection.execute(SQL["checkpoints"], (namespace,)).fetchall():
        with suppress(StoreDamaged):
            readable.append(decode_checkpoint(row, names, EVERYTHING))
    return readable
