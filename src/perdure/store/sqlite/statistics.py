"""Counts of a store for people: how many memories, of which kind, how many bytes."""

from __future__ import annotations

from collections import defaultdict
from datetime import datetime
from typing import TYPE_CHECKING

from perdure.clock import from_micros
from perdure.errors import StoreDamaged
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.reader import NO_GENERATION
from perdure.store.sqlite.sql import SQL

if TYPE_CHECKING:
    from perdure.store.stats import NamespaceStats


def serving_generation(connection: Database) -> int:
    """Pending vectors are counted against this generation when the caller has no model at hand."""
    serving = connection.execute(SQL["get_meta"], ("serving",)).get
    return serving if isinstance(serving, int) else NO_GENERATION


def pending_count(connection: Database, generation: int, namespace: int) -> int:
    """How many passages of a namespace have no vector of the generation."""
    return connection.execute(SQL["pending_count"], {"namespace": namespace, "generation": generation}).get


def namespace_statistics(connection: Database, generation: int) -> tuple[NamespaceStats, ...]:
    from perdure.store.stats import NamespaceStats

    states: dict[int, dict[str, int]] = defaultdict(dict)
    categories: dict[int, dict[str, int]] = defaultdict(dict)
    created: dict[int, list[datetime]] = defaultdict(list)
    for namespace, state, category, count, oldest, newest in connection.execute(SQL["memory_statistics"]):
        states[namespace][state] = states[namespace].get(state, 0) + count
        try:
            created[namespace] += (from_micros(oldest), from_micros(newest))
        except (OverflowError, TypeError) as error:
            raise StoreDamaged("A memory has a time that no clock can show.") from error
        if category is not None and state == "active":
            categories[namespace][category] = count
    return tuple(
        NamespaceStats(
            name=name,
            states=states[namespace],
            categories=categories[namespace],
            revision_count=seq,
            vectors_pending=pending_count(connection, generation, namespace),
            oldest=min(created[namespace], default=None),
            newest=max(created[namespace], default=None),
        )
        for namespace, name, seq in connection.execute(SQL["namespace_statistics"]).fetchall()
    )


def size(connection: Database) -> int:
    return connection.pragma("page_count") * connection.pragma("page_size")
