"""How full a namespace is, and who would have to go."""

from __future__ import annotations

import json
from math import inf
from typing import Final, cast

from perdure.clock import from_micros
from perdure.model import EvictionCandidate
from perdure.store.port import CapacityStats, EvictionRule, Load
from perdure.store.sqlite.apsw_types import Database, Value
from perdure.store.sqlite.sql import SQL

# Memories of one class that are looked at first, and more than there can be.
_WINDOW: Final = 500
_ALL: Final = 1 << 62

NOTHING: Final = CapacityStats(Load(0, 0, None, None), 0, 0, 0, {"lowest": 0.0, "mean": 0.0, "highest": 0.0})


def evictable(connection: Database, namespace: int, rule: EvictionRule, limit: int) -> list[EvictionCandidate]:
    """Class by class, in the order of `perdure.lifecycle.eviction.order`."""
    classes = (
        ("superseded", -inf, rule.high),
        ("active", -inf, min(rule.low, rule.high)),
        ("active", rule.low, rule.high),
    )
    found: list[EvictionCandidate] = []
    for state, low, high in classes:
        if len(found) < limit:
            one: dict[str, Value] = {"state": state, "from": low, "below": high, "limit": limit - len(found)}
            found += _least_recent(connection, _bindings(namespace, rule) | one)
    return found


def _least_recent(connection: Database, bindings: dict[str, Value]) -> list[EvictionCandidate]:
    """First among a few, then, when these may not be the ones, among all."""
    limit = cast("int", bindings["limit"])
    for window in (limit + _WINDOW, _ALL):
        rows = connection.execute(SQL["evictable"], bindings | {"window": window}).fetchall()
        # One that was changed after the edge was not looked at, but cannot have been used before it.
        if not rows or rows[0][-1] is None or rows[-1][-2] < rows[0][-1]:
            break
    return [
        EvictionCandidate(number, importance, tier, state, tokens, from_micros(last_used))
        for number, importance, tier, state, tokens, last_used, _ in rows
    ]


def capacity(connection: Database, namespace: int, rule: EvictionRule) -> CapacityStats:
    ((items, tokens, max_items, max_tokens),) = connection.execute(SQL["namespace_load"], (namespace,)).fetchall()
    ((protected, lowest, mean, highest),) = connection.execute(
        SQL["capacity"], _bindings(namespace, rule) | {"high": rule.high}
    ).fetchall()
    return CapacityStats(
        load=Load(items, tokens, max_items, max_tokens),
        versions=connection.execute(SQL["version_count"], (namespace,)).get,
        protected=protected,
        evicted=connection.execute(SQL["evicted_count"], (namespace,)).get,
        importance={"lowest": lowest or 0.0, "mean": mean or 0.0, "highest": highest or 0.0},
    )


def _bindings(namespace: int, rule: EvictionRule) -> dict[str, Value]:
    return {"namespace": namespace, "tiers": json.dumps(rule.protected_tiers)}
