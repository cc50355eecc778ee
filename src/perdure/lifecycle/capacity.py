"""The limits of a namespace, how full it is, and which memories go when it is full.

`write.make_room` evicts the memories that `memories_to_evict` chooses, in the transaction of the write that needs room.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from perdure.errors import CapacityExceeded, NotAllowed, StoreDamaged
from perdure.lifecycle.model_rights import given_by_people
from perdure.model import Capacity, EvictionCandidate, Json, Record
from perdure.store.capacity import EvictionRule, Load
from perdure.store.port import Reader, Writer
from perdure.tiers import ONLY_PEOPLE
from perdure.validation import check_int
from perdure.values import replace
from perdure.vocabulary import UNCHANGED, Limit

if TYPE_CHECKING:
    from perdure.services import Services
    from perdure.settings import Settings

_LISTED: Final = 10
_MAX_LIMIT: Final = 10**12
# The first page has this many candidates more than the limit of items demands; each further page is longer.
_FIRST: Final = 8
_GROWTH: Final = 8
_ORDER: Final = (
    "superseded memories, then those of low importance, then the others, and for what a person writes also those that "
    "only a model protected; of each the least recently used first. What a model writes evicts nothing that a person "
    "wrote"
)
# No importance is as high.
_ABOVE_ALL: Final = 2.0
# How many protected memories are read to find some that only a model protected.
_MAX_PROTECTED_READ: Final = 1000


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


def choose(
    ordered: Iterable[EvictionCandidate], load: Load, max_items: int | None, max_tokens: int | None
) -> list[EvictionCandidate] | None:
    """Pure: the fewest, in this order, without which both limits hold; None when all of them are not enough."""
    items, tokens = load.items, load.tokens
    chosen: list[EvictionCandidate] = []
    for candidate in ordered:
        if not is_over(items, tokens, max_items, max_tokens):
            return chosen
        chosen.append(candidate)
        items, tokens = items - 1, tokens - candidate.tokens
    return None if is_over(items, tokens, max_items, max_tokens) else chosen


def is_over(items: int, tokens: int, max_items: int | None, max_tokens: int | None) -> bool:
    return (max_items is not None and items > max_items) or (max_tokens is not None and tokens > max_tokens)


def fits(services: Services, reader: Reader, items: int, tokens: int) -> bool:
    """Whether so much more has room without evicting anything."""
    load = reader.load()
    return not is_over(load.items + items, load.tokens + tokens, *limits(load, services.settings))


def limits(load: Load, settings: Settings) -> tuple[int | None, int | None]:
    """The limits of items and tokens: the namespace's own, else those of the settings."""
    return (
        (settings.max_items or None) if load.max_items is None else load.max_items,
        (settings.max_tokens or None) if load.max_tokens is None else load.max_tokens,
    )


def protected_by_models(rule: EvictionRule, writer: Writer) -> list[EvictionCandidate]:
    """Memories that are protected because a model said so, and no person: the last to go, and only to make room for
    what a person writes. Otherwise a few memories that a model calls critical would keep the person out.
    """
    nearly_all = EvictionRule(rule.low, _ABOVE_ALL, (ONLY_PEOPLE,))
    found: list[EvictionCandidate] = []
    for candidate in writer.eviction_candidates(nearly_all, _MAX_PROTECTED_READ):
        if candidate.tier in rule.protected_tiers or candidate.importance >= rule.high:
            tier, importance = (given_by_people(writer, candidate.number, name) for name in ("tier", "importance"))
            is_protected = tier in rule.protected_tiers or (importance is not None and importance >= rule.high)
            found += [] if is_protected else [candidate]
    return found


def memories_to_evict(services: Services, writer: Writer, load: Load, written: Sequence[Record]) -> list[Record]:
    """The memories that the namespace has no room for after `written`, which stays. CapacityExceeded when those that
    may go are not enough: for what a model writes, only what models wrote.
    """
    is_person = services.context.is_person
    rule = services.eviction_rule if is_person else replace(services.eviction_rule, models_only=True)
    max_items, max_tokens = limits(load, services.settings)
    if not is_over(load.items, load.tokens, max_items, max_tokens):
        return []
    kept = {record.number for record in written}
    # Candidates are asked for in growing pages: mostly one memory has to go, and it is the first.
    limit = _FIRST + (0 if max_items is None else max(0, load.items - max_items))
    while True:
        page = writer.eviction_candidates(rule, limit + len(kept))
        exhausted = len(page) < limit + len(kept)
        if exhausted and is_person:
            page += protected_by_models(rule, writer)
        chosen = choose((candidate for candidate in page if candidate.number not in kept), load, max_items, max_tokens)
        if chosen is None and exhausted:
            own = sum(services.tokens.count(record.text) for record in written)
            if max_tokens is not None and own > max_tokens:
                what = "The text has" if len(written) == 1 else "The texts have"
                raise CapacityExceeded(
                    f"{what} {own:,} tokens, and the whole namespace may hold {max_tokens:,}.",
                    remedy="Shorten the text, store it in parts, or raise the limit; nothing was changed.",
                )
            usages = ((load.items, max_items, "memory", "memories"), (load.tokens, max_tokens, "token", "tokens"))
            over = [
                f"{most:,} {singular if most == 1 else plural} and would hold {used:,}"
                for used, most, singular, plural in usages
                if most and used > most
            ]
            left = "is protected" if is_person else "is protected, or a person wrote it"
            raise CapacityExceeded(
                f"The namespace may hold {', and '.join(over)}; what is left in it {left}.",
                remedy=None
                if is_person
                else "Ask a person to forget something, or to raise the limit; nothing was changed.",
            )
        if chosen is None:
            limit *= _GROWTH
            continue
        records: list[Record] = []
        for candidate in chosen:
            with suppress(StoreDamaged):
                records += [record] if (record := writer.by_number(candidate.number)) else []
        if len(records) == len(chosen):
            return records
        # A damaged memory cannot be written as evicted: it stays for `doctor`, and others go.
        readable = {record.number for record in records}
        kept |= {candidate.number for candidate in chosen if candidate.number not in readable}
