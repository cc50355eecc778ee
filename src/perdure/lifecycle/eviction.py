"""Making room: which memories go when a namespace is full, in which order, and that they go with the write."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING, Final

from perdure.buggify import point
from perdure.errors import CapacityExceeded, StoreDamaged
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import INDEXED_STATES, EvictionCandidate, Record, replace_record
from perdure.store.port import EvictionRule, Load, Writer
from perdure.text.entry import entry_of

if TYPE_CHECKING:
    from perdure.services import Services
    from perdure.settings import Settings

# How many candidates are looked at first, beside those that must go by number alone, and how this grows.
_FIRST: Final = 8
_GROWTH: Final = 8


def may_go(standing: EvictionCandidate, rule: EvictionRule) -> bool:
    """Pure: whether eviction may ever touch it."""
    return (
        standing.state in INDEXED_STATES
        and standing.importance < rule.high
        and standing.tier not in rule.protected_tiers
    )


def order(standings: Iterable[EvictionCandidate], rule: EvictionRule) -> list[EvictionCandidate]:
    """Pure: those that may go, first to last. Superseded ones, then those of low importance, then the others; inside
    each class the least recently used first, of equal ones the oldest.
    """

    def place(standing: EvictionCandidate) -> tuple[int, object, int]:
        group = 0 if standing.state == "superseded" else 1 if standing.importance < rule.low else 2
        return group, standing.last_used, standing.number

    return sorted((one for one in standings if may_go(one, rule)), key=place)


def choose(
    ordered: Iterable[EvictionCandidate], load: Load, max_items: int | None, max_tokens: int | None
) -> list[EvictionCandidate] | None:
    """Pure: the fewest, in this order, without which both limits hold; None when all of them are not enough."""
    items, tokens = load.items, load.tokens
    chosen: list[EvictionCandidate] = []
    for standing in ordered:
        if _fits(items, max_items) and _fits(tokens, max_tokens):
            return chosen
        chosen.append(standing)
        items, tokens = items - 1, tokens - standing.tokens
    return chosen if _fits(items, max_items) and _fits(tokens, max_tokens) else None


def limits(load: Load, settings: Settings) -> tuple[int | None, int | None]:
    """Items and tokens: what the namespace says for itself, else what the settings say."""
    return (
        (settings.max_items or None) if load.max_items is None else load.max_items,
        (settings.max_tokens or None) if load.max_tokens is None else load.max_tokens,
    )


def make_room(services: Services, writer: Writer, batch: WriteBatch, keep: Collection[int]) -> tuple[Record, ...]:
    """Evict, inside the transaction of a write, whatever the namespace has no room for any more; never those in `keep`,
    which were just written. Raises CapacityExceeded, and so takes the write back, when what may go is not enough.
    """
    load = writer.load()
    max_items, max_tokens = limits(load, services.settings)
    if _fits(load.items, max_items) and _fits(load.tokens, max_tokens):
        return ()
    kept = set(keep)
    _note_uses(services, writer, kept)
    while True:
        chosen = _candidates(writer, services.eviction_rule, load, (max_items, max_tokens), kept)
        if chosen is None:
            raise _full(load, max_items, max_tokens)
        records = [_readable(writer, standing.number) for standing in chosen]
        # What cannot be read cannot be written as evicted either: it stays for `doctor`, and others go.
        damaged = {one.number for one, record in zip(chosen, records, strict=True) if record is None}
        if not damaged:
            return tuple(_evict(services, writer, batch, record) for record in records if record)
        kept |= damaged


def _note_uses(services: Services, writer: Writer, kept: set[int]) -> None:
    """What this process has just used is not least recently used, whether it has been written down or not."""
    written = next((record for number in kept if (record := writer.by_number(number))), None)
    if written:
        for number, at in services.usage.last_uses(written.namespace):
            writer.touch(number, at)


def _candidates(
    writer: Writer, rule: EvictionRule, load: Load, most: tuple[int | None, int | None], kept: set[int]
) -> Sequence[EvictionCandidate] | None:
    """Asked for in growing pages: mostly one memory has to go, and it is the first."""
    over = 0 if most[0] is None else max(0, load.items - most[0])
    limit = over + len(kept) + _FIRST
    while True:
        page = writer.evictable(rule, limit)
        chosen = choose((one for one in page if one.number not in kept), load, *most)
        if chosen is not None or len(page) < limit:
            return chosen
        limit *= _GROWTH


def _evict(services: Services, writer: Writer, batch: WriteBatch, record: Record) -> Record:
    evicted = writer.put(
        replace_record(record, state="evicted"), batch.change("evict"), entry_of(record, services.tokens.count)
    )
    point("evict: put")
    if not services.grace:
        writer.erase(record.number, batch.change("erase"), traceless=False)
        point("evict: erased")
    elif not services.settings.versioning:
        writer.drop_payloads(record.number)
    return evicted


def _readable(writer: Writer, number: int) -> Record | None:
    try:
        return writer.by_number(number)
    except StoreDamaged:
        return None


def _full(load: Load, max_items: int | None, max_tokens: int | None) -> CapacityExceeded:
    held = ((load.items, max_items, "memory", "memories"), (load.tokens, max_tokens, "token", "tokens"))
    over = [
        f"{most:,} {one if most == 1 else many} and would hold {count:,}"
        for count, most, one, many in held
        if most is not None and count > most
    ]
    return CapacityExceeded(f"The namespace may hold {', and '.join(over)}; what is left in it is protected.")


def _fits(held: int, most: int | None) -> bool:
    return most is None or held <= most
