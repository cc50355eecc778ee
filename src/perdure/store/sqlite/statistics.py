"""Counts for people: how many, of what, how large."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime

from perdure.clock import from_micros
from perdure.errors import StoreDamaged
from perdure.store.port import NamespaceStats
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.vectors import NO_GENERATION, pending_count


def newest_generation(connection: Database) -> int:
    """What is pending is counted against this when the caller has no model at hand."""
    return connection.execute(SQL["newest_generation"]).get or NO_GENERATION


def namespace_statistics(connection: Database, generation: int) -> tuple[NamespaceStats, ...]:
    states: dict[int, dict[str, int]] = defaultdict(dict)
    categories: dict[int, dict[str, int]] = defaultdict(dict)
    made: dict[int, list[int]] = defaultdict(list)
    for namespace, state, category, count, oldest, newest in connection.execute(SQL["memory_statistics"]):
        states[namespace][state] = states[namespace].get(state, 0) + count
        made[namespace] += (oldest, newest)
        if category is not None and state == "active":
            categories[namespace][category] = count
    return tuple(
        NamespaceStats(
            name=name,
            states=states[namespace],
            categories=categories[namespace],
            revision_count=seq,
            vectors_pending=pending_count(connection, generation, namespace),
            oldest=_moment(min(made[namespace])) if made[namespace] else None,
            newest=_moment(max(made[namespace])) if made[namespace] else None,
        )
        for namespace, name, seq in connection.execute(SQL["namespace_statistics"]).fetchall()
    )


def _moment(micros: int) -> datetime:
    try:
        return from_micros(micros)
    except (OverflowError, TypeError) as error:
        raise StoreDamaged("A memory has a time that no clock can show.") from error


def size(connection: Database) -> int:
    return connection.pragma("page_count") * connection.pragma("page_size")
