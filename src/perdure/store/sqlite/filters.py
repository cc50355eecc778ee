"""A Filter as conditions on the memory table. The conditions are constants; every value is bound."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import datetime
from typing import Any, Final, TypeAlias

from perdure.clock import to_micros
from perdure.model import Filter
from perdure.store.rows import Value, range_of
from perdure.store.sqlite.sql import SQL
from perdure.tiers import PROMOTED_TO, PROMOTION_CONFIDENCE, PROMOTION_VALIDATIONS, PROPOSED, TIERS

Bindings: TypeAlias = dict[str, Value]


# The fields of a Filter that are one condition each, `where_<field>`, and how their value is bound.
_ENCODERS: Final[dict[str, Callable[[Any], Value]]] = {
    "context_type": str, "tier": str, "source_project": str, "spec_folder": str, "conversation_id": str,
    "key_type": str, "min_importance": float, "max_importance": float,
    "categories": json.dumps, "sources": json.dumps, "numbers": json.dumps, "told_in": json.dumps,
    # An object with a list of values for each entry; the values are JSON already.
    "where": lambda entries: "{" + ", ".join(f'"{name}": [{", ".join(values)}]' for name, values in entries) + "}",
    "since": to_micros, "until": to_micros, "created_since": to_micros, "created_until": to_micros,
    "unexpired_at": to_micros,
}  # fmt: skip
_OFFERED: Final[Bindings] = {
    "proposed": PROPOSED,
    "boosts": json.dumps({name: tier.boost for name, tier in TIERS.items()}),
    "validations": PROMOTION_VALIDATIONS,
    "enough": PROMOTION_CONFIDENCE,
    "below": json.dumps([name for name, tier in TIERS.items() if tier.boost < TIERS[PROMOTED_TO].boost]),
}
_ACTIVE: Final = ("active",)


def conditions(namespace: int, filter: Filter, now: datetime | None = None) -> tuple[str, Bindings]:
    """What `filter` asks, and the namespace's own range of slots. With `now`, also what a search asks unless the filter
    does: memories that are not deprecated, and are true now.
    """
    first, last = range_of(namespace)
    clauses = [SQL["in_namespace"], SQL["where_active" if filter.states == _ACTIVE else "where_states"]]
    bindings: Bindings = {"first": first, "last": last, "namespace": namespace, "states": json.dumps(filter.states)}
    for name, encode in _ENCODERS.items():
        value = getattr(filter, name)
        # No categories, sources or entries are no condition; no numbers are a condition that nothing passes.
        if value is not None and (value != () or name == "numbers"):
            clauses.append(SQL[f"where_{name}"])
            bindings[name] = encode(value)
    if filter.tier == "constitutional":
        clauses.append(SQL["where_constitutional"])
    if filter.offered:
        clauses.append(SQL["where_offered"])
        bindings |= _OFFERED
    clauses += (SQL[f"where_no_{kind}"] for kind in filter.hidden)
    if filter.tags:
        tags = list(dict.fromkeys(filter.tags))
        clauses.append(SQL["where_tags"])
        bindings |= {"tags": json.dumps(tags), "tag_count": len(tags)}
    if now is not None:
        bindings["now"] = to_micros(now)
        if filter.tier is None:
            clauses.append(SQL["where_not_deprecated"])
        if filter.states == _ACTIVE:
            clauses.append(SQL["where_valid"])
    return " AND ".join(clauses), bindings
