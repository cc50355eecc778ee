"""Checkpoints: names for positions in the log, a few numbers each, however much they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from typing import Final
from uuid import UUID

from perdure.buggify import point
from perdure.clock import to_micros
from perdure.errors import Conflict, StoreDamaged
from perdure.model import Checkpoint
from perdure.store.checkpoints import decode_checkpoint
from perdure.store.postgres.connection import Row
from perdure.store.postgres.pool import EVERYWHERE, PostgresPool, Transaction
from perdure.store.postgres.reader import namespace_key
from perdure.store.rows import encode_json
from perdure.values import replace

# In place of a namespace's key: a checkpoint of all namespaces.
EVERYTHING: Final = UUID(int=0)


def put_checkpoint(
    transaction: Transaction, sql: Mapping[str, str], checkpoint: Checkpoint, logs: list[Row]
) -> Checkpoint:
    """`logs` are the rows of the namespaces that it stands for."""
    namespace = EVERYTHING if checkpoint.namespace is None else namespace_key(checkpoint.namespace)
    taken = {
        "name": checkpoint.name, "namespaces": [EVERYTHING, namespace], "everything": checkpoint.namespace is None,
    }  # fmt: skip
    if transaction.ask(sql["checkpoint_taken"], taken)[0][0]:
        raise Conflict(
            f"There is a checkpoint called {checkpoint.name!r:.80} already.",
            remedy="Choose another name, or delete it.",
        )
    if checkpoint.spec_folder is None:
        memory_count = sum(documents for *_, documents in logs)
    else:
        folder = checkpoint.spec_folder
        counts = [(sql["folder_count"], {"namespace": UUID(bytes=key), "folder": folder}) for key, *_ in logs]
        memory_count = sum(rows[0][0] for rows in transaction.ask_all(counts)) if counts else 0
    stored = replace(checkpoint, positions={name: seq for _, name, seq, _ in logs}, memory_count=memory_count)
    transaction.send(sql["put_checkpoint"], columns(stored))
    point("checkpoint: before commit")
    return stored


def columns(checkpoint: Checkpoint) -> Row:
    positions = {str(namespace_key(name)): seq for name, seq in checkpoint.positions.items()}
    return (
        EVERYTHING if checkpoint.namespace is None else namespace_key(checkpoint.namespace), checkpoint.name,
        encode_json(positions), checkpoint.memory_count, checkpoint.actor, checkpoint.spec_folder,
        checkpoint.description, encode_json(checkpoint.metadata) if checkpoint.metadata else None,
        to_micros(checkpoint.created_at),
    )  # fmt: skip


def checkpoints(pool: PostgresPool, sql: Mapping[str, str], namespace: UUID) -> list[Checkpoint]:
    """Those of the namespace and those of everything. One that cannot be read is left out; doctor names it."""
    rows, names = pool.ask(
        EVERYWHERE, (sql["checkpoints"], {"namespaces": [EVERYTHING, namespace]}), (sql["namespaces"], None)
    )
    readable: list[Checkpoint] = []
    for row in rows:
        with suppress(StoreDamaged):
            readable.append(decoded(row, names))
    return readable


def decoded(row: Row, namespaces: list[Row]) -> Checkpoint:
    names = {str(UUID(bytes=key)): name for key, name, *_ in namespaces}
    return decode_checkpoint((UUID(bytes=row[0]), *row[1:]), names, EVERYTHING)
