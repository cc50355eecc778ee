"""A Filter as conditions on the memory table. The conditions are constants; every value is bound."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final, TypeAlias

from perdure.clock import to_micros
from perdure.model import Filter
from perdure.store.rows import NUMBER_MASK
from perdure.tiers import PROMOTED_TO, PROMOTION_CONFIDENCE, PROMOTION_VALIDATIONS, PROPOSED, TIERS

Bindings: TypeAlias = dict[str, Any]


def _numbers(numbers: tuple[int, ...]) -> list[int]:
    return [number for number in numbers if 0 < number <= NUMBER_MASK]


# The fields of a Filter that are one condition each, `where_<field>`, and how their value is bound.
_ENCODERS: Final[dict[str, Callable[[Any], Any]]] = {
    "context_type": str, "tier": str, "source_project": str, "spec_folder": str, "conversation_id": str,
    "key_type": str, "min_importance": float, "max_importance": float,
    "categories": list, "sources": list, "numbers": _numbers, "told_in": list,
    "since": to_micros, "until": to_micros, "created_since": to_micros, "created_until": to_micros,
    "unexpired_at": to_micros,
}  # fmt: skip
_OFFERED: Final[Bindings] = {
    "proposed": PROPOSED,
    "boosts": json.dumps({name: tier.boost for name, tier in TIERS.items()}),
    "validations": PROMOTION_VALIDATIONS,
    "enough": float(PROMOTION_CONFIDENCE),
    "below": [name for name, tier in TIERS.items() if tier.boost < TIERS[PROMOTED_TO].boost],
}
_ACTIVE: Final = ("active",)


def conditions(sql: Mapping[str, str], filter: Filter, now: datetime | None = None) -> tuple[str, Bindings]:
    """What `filter` asks. With `now`, also what a search asks unless the filter does: memories that are not deprecated,
    and are true now.
    """
    bindings: Bindings = {}
    if filter.states == _ACTIVE:
        clauses = [sql["where_active"]]
    else:
        clauses = [sql["where_states"]]
        bindings["states"] = list(filter.states)
    for name, encode in _ENCODERS.items():
        value = getattr(filter, name)
        # No categories, sources or places are no condition; no numbers are a condition that nothing passes.
        if value is not None and (value != () or name == "numbers"):
            clauses.append(sql[f"where_{name}"])
            bindings[name] = encode(value)
    for at, (entry, values) in enumerate(filter.where):
        clauses.append(
            sql["where_where"].replace("%(entry)s", f"%(entry{at})s").replace("%(values)s", f"%(values{at})s")
        )
        bindings |= {f"entry{at}": entry, f"values{at}": list(values)}
    if filter.tier == "constitutional":
        clauses.append(sql["where_constitutional"])
    if filter.offered:
        clauses.append(sql["where_offered"])
        bindings |= _OFFERED
    clauses += (sql[f"where_no_{kind}"] for kind in filter.hidden)
    if filter.tags:
        tags = list(dict.fromkeys(filter.tags))
        clauses.append(sql["where_tags"])
        bindings |= {"tags": tags, "tag_count": len(tags)}
    if now is not None:
        bindings["now"] = to_micros(now)
        if filter.tier is None:
            clauses.append(sql["where_not_deprecated"])
        if filter.states == _ACTIVE:
            clauses.append(sql["where_valid"])
    return " AND ".join(clauses), bindings
