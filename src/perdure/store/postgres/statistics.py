"""Counts of a store for people: how many memories, of which kind, how many bytes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime

from perdure.clock import from_micros
from perdure.store.postgres.pool import EVERYWHERE, PostgresPool
from perdure.store.stats import NamespaceStats


def namespace_statistics(
    pool: PostgresPool, sql: Mapping[str, str], generation: int
) -> tuple[tuple[NamespaceStats, ...], int]:
    """Of every namespace, and how many bytes all of it takes. `generation` is whose vectors are missing."""
    names, memories, counts, sizes = pool.ask(
        EVERYWHERE,
        (sql["namespaces"], None),
        (sql["memory_statistics"], None),
        (sql["pending_counts"], {"generation": generation}),
        (sql["table_sizes"], {"schema": pool.address.schema}),
    )
    states: dict[bytes, dict[str, int]] = defaultdict(dict)
    categories: dict[bytes, dict[str, int]] = defaultdict(dict)
    created: dict[bytes, list[datetime]] = defaultdict(list)
    for key, state, category, count, oldest, newest in memories:
        states[key][state] = states[key].get(state, 0) + count
        created[key] += (from_micros(oldest), from_micros(newest))
        if category is not None and state == "active":
            categories[key][category] = count
    pending = dict(counts)
    return tuple(
        NamespaceStats(
            name=name,
            states=states[key],
            categories=categories[key],
            revision_count=seq,
            vectors_pending=pending.get(key, 0),
            oldest=min(created[key], default=None),
            newest=max(created[key], default=None),
        )
        for key, name, seq, _ in names
    ), sizes[0][0]


def server_version(pool: PostgresPool) -> str:
    ((row,),) = pool.ask(EVERYWHERE, ("SHOW server_version", None))
    return f"PostgreSQL {row[0].split(' ')[0]}"
