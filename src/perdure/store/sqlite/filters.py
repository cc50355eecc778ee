"""A Filter as conditions on the memory table. The conditions are constants; every value is bound."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final, TypeAlias

from perdure.clock import to_micros
from perdure.model import Filter
from perdure.store.sqlite.apsw_types import Value
from perdure.store.sqlite.rows import NUMBER_MASK, range_of
from perdure.store.sqlite.sql import SQL
from perdure.tiers import PROMOTED_TO, PROMOTION_CONFIDENCE, PROMOTION_VALIDATIONS, PROPOSED, TIERS

Bindings: TypeAlias = dict[str, Value]

_EXACT: Final = ("context_type", "tier", "source_project", "spec_folder", "conversation_id")
_MOMENTS: Final = ("since", "until", "created_since", "created_until", "unexpired_at")
_OFFER: Final[Bindings] = {
    "proposed": PROPOSED,
    "tiers": json.dumps(list(TIERS)),
    "validations": PROMOTION_VALIDATIONS,
    "enough": PROMOTION_CONFIDENCE,
    "below": json.dumps([name for name, tier in TIERS.items() if tier.boost < TIERS[PROMOTED_TO].boost]),
}
_ACTIVE: Final = ("active",)


def conditions(namespace: int, filter: Filter) -> tuple[list[str], Bindings]:
    """What `filter` asks, and the namespace's own range of slots."""
    first, last = range_of(namespace)
    bindings: Bindings = {"first": first, "last": last}
    found = [SQL["in_namespace"], _states(filter, bindings)]
    for name in _EXACT:
        value = getattr(filter, name)
        if value is not None:
            found.append(SQL[f"where_{name}"])
            bindings[name] = value
    if filter.tier == "constitutional":
        found.append(SQL["where_constitutional"])
        bindings["namespace"] = namespace
    for name, values in _lists(filter, first):
        found.append(SQL[f"where_{name}"])
        bindings[name] = json.dumps(values)
    for name in _MOMENTS:
        moment = getattr(filter, name)
        if moment is not None:
            found.append(SQL[f"where_{name}"])
            bindings[name] = to_micros(moment)
    if filter.offered:
        found.append(SQL["where_offered"])
        bindings |= _OFFER
    if filter.tags:
        tags = list(dict.fromkeys(filter.tags))
        found.append(SQL["where_tags"])
        bindings |= {"namespace": namespace, "tags": json.dumps(tags), "tag_count": len(tags)}
    return found, bindings


def ordinary(filter: Filter, now: datetime) -> tuple[list[str], Bindings]:
    """What recall leaves out unless the filter asks for it: the deprecated, and what is not true now."""
    found: list[str] = []
    bindings: Bindings = {}
    if filter.tier is None:
        found.append(SQL["where_not_deprecated"])
    if filter.states == _ACTIVE:
        found.append(SQL["where_valid"])
        bindings["now"] = to_micros(now)
    return found, bindings


def _lists(filter: Filter, first: int) -> Iterator[tuple[str, Sequence[str | int]]]:
    if filter.categories:
        yield "categories", filter.categories
    if filter.sources:
        yield "sources", filter.sources
    if filter.numbers is not None:
        yield "numbers", [first | number for number in filter.numbers if 0 < number <= NUMBER_MASK]


def _states(filter: Filter, bindings: Bindings) -> str:
    if filter.states == _ACTIVE:
        return SQL["where_active"]
    bindings["states"] = json.dumps(filter.states)
    return SQL["where_states"]
