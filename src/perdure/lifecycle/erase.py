"""Erasing: what a memory said is gone from every file of the store, and nothing brings it back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Final, Literal

from perdure.buggify import point
from perdure.errors import InvalidReference, NotAllowed, StoreDamaged, StoreError
from perdure.ids import parse_reference
from perdure.lifecycle.disk_reserve import with_reserve
from perdure.lifecycle.forget import TRIES, Order, agreed, counted, overtaken, preview_of
from perdure.lifecycle.known_backups import known
from perdure.lifecycle.selection import MOST, Scope, formerly, select
from perdure.lifecycle.tombstone import settle
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import Forgotten, Record, Related, same_history
from perdure.store.port import LinkKind, Writer

SCRUB_PATIENCE: Final = 2.0
# `references` is no descent: what mentions a memory does not say what it says.
_DESCENT: Final[frozenset[LinkKind]] = frozenset({"supersedes", "merged_from", "evidence"})
_NOT_OURS: Final = "Exports, copies and file system snapshots made before are not ours to erase."
_RESTORED: Final = (
    "Restoring one over this store erases it again; into another file only with this store's list of what was erased "
    "(--erased)."
)
_ONCE: Final = "Some memories said so in an earlier version only. They are suggested, and stay unless you name them."
_WAITING: Final = (
    "Its bytes still wait in a log or an unfinished copy that another process holds; they go when it lets go, or the "
    "next time anybody opens the store."
)


def erase(scope: Scope, order: Order) -> Forgotten:
    """All of them or none, in one transaction; then every file is rid of the bytes."""
    services = scope.services
    if not services.context.is_person:
        raise NotAllowed("A model cannot erase memories.", remedy="Forget it instead, or ask a person to erase it.")
    for _ in range(TRIES):
        selection = select(scope, order.what, services.context.clock())
        related = _related(scope, selection.records)
        going = (*selection.records, *(one.record for one in related)) if order.related else selection.records
        preview = preview_of(scope, selection, "hard", going)
        once = _formerly(scope, order, {record.number for record in going})
        notes = (*preview.notes, *_offer(order, related), *((_ONCE,) if once else ()))
        preview = replace(preview, related=related, suggested=once, notes=notes)
        certain = selection.named and len(going) == 1
        if not agreed(scope, preview, order, going=len(going), certain=certain):
            return counted(scope, preview)
        batch = services.context.batch()
        remaining = with_reserve(services.store, partial(_carry_out, scope, going, batch))
        if remaining is not None:
            return _done(scope, replace(preview, done=True, batch=batch.id, remaining=remaining))
    raise overtaken()


def _offer(order: Order, related: tuple[Related, ...]) -> tuple[str, ...]:
    if not related:
        return ()
    count = "1 memory" if len(related) == 1 else f"{len(related):,} memories"
    if order.related:
        return (f"With it, {count} that it came from or led to.",)
    return (f"Without {count} that it came from or led to; related=True (--related) includes them.",)


def _carry_out(scope: Scope, going: tuple[Record, ...], batch: WriteBatch) -> int | None:
    """How many memories may still be found. None when one of them is not as it was seen; then nothing was changed."""
    point("erase: begin")
    with scope.services.store.write(scope.namespace) as writer:
        if not all(_as_seen(writer, record) for record in going):
            return None
        for record in going:
            writer.erase(record.number, batch.change("erase"))
            point("erase: one erased")
        for record in going:
            settle(writer, "erase", record, None, batch.at)
        remaining = writer.load().items
        point("erase: before commit")
    point("erase: committed")
    return remaining


def _as_seen(writer: Writer, record: Record) -> bool:
    try:
        current = writer.by_number(record.number)
    except StoreDamaged:
        return True  # nobody can change it any more
    return current is not None and same_history(current, record)


def _done(scope: Scope, done: Forgotten) -> Forgotten:
    try:
        clean = scope.services.store.scrub(patience=SCRUB_PATIENCE)
    except StoreError:
        clean = False
    point("erase: scrubbed")
    notes = (*done.notes, *(() if clean else (_WAITING,)), *_backups(scope), _NOT_OURS)
    return replace(done, scrub_pending=not clean, notes=notes)


def _backups(scope: Scope) -> tuple[str, ...]:
    paths = known(scope.services.store)
    return (f"Backups that may still hold it: {', '.join(paths)}. {_RESTORED}",) if paths else ()


def _formerly(scope: Scope, order: Order, going: set[int]) -> tuple[Record, ...]:
    found = formerly(scope, order.what, scope.services.context.clock())
    return tuple(record for record in found if record.number not in going)


def _related(scope: Scope, records: tuple[Record, ...]) -> tuple[Related, ...]:
    """What they came from and what they led to, by any number of steps, none of them twice."""
    found: dict[int, Related] = {}
    chosen = {record.number for record in records}
    for relation in _RELATIONS:
        seen = set(chosen)
        waiting = list(records)
        while waiting and len(found) < MOST:
            for record in _next(scope, waiting.pop(), relation):
                if record.number not in seen:
                    seen.add(record.number)
                    waiting.append(record)
                    found.setdefault(record.number, Related(record, relation))
    return tuple(found[number] for number in sorted(found))


_Relation = Literal["source", "derived"]
_RELATIONS: Final[tuple[_Relation, ...]] = ("source", "derived")


def _next(scope: Scope, record: Record, relation: _Relation) -> Iterator[Record]:
    store, namespace = scope.services.store, scope.namespace
    for link in store.links(namespace, record.id):
        if link.kind not in _DESCENT:
            continue
        other = link.target if link.source == record.id else link.source
        if (relation == "source") != (link.source == record.id):
            continue
        try:
            reference = parse_reference(other)
        except InvalidReference:
            continue
        if reference.id is not None:
            yield from store.find(namespace, reference)
