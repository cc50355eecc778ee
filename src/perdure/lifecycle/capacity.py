"""The limits of a namespace, how full it is, and which memories would be evicted first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from perdure.errors import NotAllowed
from perdure.lifecycle.eviction import is_over, limits
from perdure.model import Capacity, Json
from perdure.validation import check_int

if TYPE_CHECKING:
    from perdure.services import Services

Limit: TypeAlias = "int | Literal['unchanged'] | None"
UNCHANGED: Final = "unchanged"

_LISTED: Final = 10
_MAX_LIMIT: Final = 10**12
_ORDER: Final = (
    "superseded memories, then those of low importance, then the others; of each the least recently used first"
)


def set_limits(services: Services, namespace: str, max_items: Limit, max_tokens: Limit) -> None:
    """0 and None make the limits of the settings count again. Nothing is evicted at once: the next write makes room."""
    for name, limit in (("max_items", max_items), ("max_tokens", max_tokens)):
        if limit is not None and limit != UNCHANGED:
            check_int(limit, name, 0, _MAX_LIMIT)
    if not services.context.is_person:
        raise NotAllowed("Only a person may change the limits of a namespace.")
    with services.store.write(namespace) as writer:
        load = writer.load()
        writer.set_limits(
            load.max_items if max_items == UNCHANGED else max_items or None,
            load.max_tokens if max_tokens == UNCHANGED else max_tokens or None,
        )


def capacity(services: Services, namespace: str) -> Capacity:
    rule = services.eviction_rule
    with services.store.read(namespace) as reader:
        stats = reader.capacity(rule)
        eviction_order = tuple(reader.eviction_candidates(rule, _LISTED))
    load = stats.load
    max_items, max_tokens = limits(load, services.settings)
    own_limits = {"max_items": load.max_items, "max_tokens": load.max_tokens}
    policy: Mapping[str, Json] = {
        "enabled": max_items is not None or max_tokens is not None,
        "order": _ORDER,
        "importance_high": rule.high,
        "importance_low": rule.low,
        "protected_tiers": list(rule.protected_tiers),
        "grace_days": services.grace.days,
        "own_limits": [name for name, limit in own_limits.items() if limit is not None],
        "over": is_over(load.items, load.tokens, max_items, max_tokens),
    }
    return Capacity(
        namespace=namespace,
        item_count=load.items,
        tokens=load.tokens,
        max_items=max_items,
        max_tokens=max_tokens,
        token_counter=services.tokens.name,
        version_count=stats.versions,
        protected=stats.protected,
        evicted_count=stats.evicted,
        importance_range=stats.importance,
        eviction_order=eviction_order,
        policy=policy,
    )
