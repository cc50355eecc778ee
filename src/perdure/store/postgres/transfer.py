"""Giving a namespace to another store."""

from __future__ import annotations

from uuid import UUID

from perdure.embed.port import Generation
from perdure.llm.port import Parked
from perdure.model import Checkpoint
from perdure.store.hash_chain import LogEnd
from perdure.store.postgres.pool import PostgresPool
from perdure.store.postgres.reader import generation_key
from perdure.store.postgres.sql import transfer_queries
from perdure.store.rows import has_dimensions, is_sound_vector
from perdure.store.transfer import LoggedLine, NamespaceExtras, VectorRow, logged_line


def log_end(pool: PostgresPool, namespace: UUID) -> LogEnd | None:
    sql = transfer_queries(pool.address.schema)
    (rows,) = pool.ask(namespace, (sql["end_of_log"], {"namespace": namespace}))
    return LogEnd(*rows[0]) if rows else None


def logged_lines(pool: PostgresPool, namespace: UUID, after: int, limit: int) -> list[LoggedLine]:
    sql = transfer_queries(pool.address.schema)
    bindings = {"namespace": namespace, "after": after, "limit": limit}
    (rows,) = pool.ask(namespace, (sql["dump_lines"], bindings))
    return [logged_line(row) for row in rows]


def extras(pool: PostgresPool, namespace: UUID, checkpoints: list[Checkpoint], parked: list[Parked]) -> NamespaceExtras:
    sql, own = transfer_queries(pool.address.schema), {"namespace": namespace}
    names = ("dump_namespace", "dump_tokens", "dump_use", "dump_reviews", "dump_tombstones")
    head, tokens, uses, reviews, tombstones = pool.ask(namespace, *((sql[name], own) for name in names))
    secret, number, unversioned, max_items, max_tokens = head[0]
    return NamespaceExtras(
        secret=secret, number=number, unversioned=unversioned, max_items=max_items, max_tokens=max_tokens,
        tokens=dict(tokens), uses=uses, reviews=reviews, tombstones=tombstones, checkpoints=checkpoints, parked=parked,
    )  # fmt: skip


def vector_rows(pool: PostgresPool, namespace: UUID, generation: Generation, after: int, limit: int) -> list[VectorRow]:
    """Those that are as they were stored."""
    sql = transfer_queries(pool.address.schema)
    bindings = {"namespace": namespace, "generation": generation_key(generation), "after": after, "limit": limit}
    (rows,) = pool.ask(namespace, (sql["dump_vectors"], bindings))
    return [
        VectorRow(position, passage, data)
        for position, passage, checksum, data in rows
        if is_sound_vector(checksum, passage, data) and has_dimensions(data, generation.dimensions)
    ]
