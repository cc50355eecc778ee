"""Forgetting, soft: memories leave every list and every search, and can be brought back."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Final, Literal

from perdure.errors import Conflict, NeedsConfirmation, NotAllowed
from perdure.lifecycle.confirmation import require, token_of
from perdure.lifecycle.disk_reserve import with_reserve
from perdure.lifecycle.remember import Plan, Prepared, write
from perdure.lifecycle.selection import Scope, Selection, select
from perdure.lifecycle.tier_policy import ONLY_PEOPLE
from perdure.model import INDEXED_STATES, Filter, Forgotten, Record, replace_record, same_history
from perdure.text.entry import entry_of

if TYPE_CHECKING:
    from perdure.services import Services

TRIES: Final = 10


@dataclass(frozen=True, slots=True)
class Order:
    """What one call asks for: which memories, whether somebody confirmed it, and whether it only wants to know."""

    what: object
    confirm: object = False
    dry_run: bool = False
    related: bool = False


def forget(scope: Scope, order: Order) -> Forgotten:
    """All of them or none. Whoever changes one meanwhile makes us look again."""
    services = scope.services
    if not services.settings.soft_delete:
        raise Conflict(
            "Memories cannot be forgotten softly here: soft_delete is switched off.",
            remedy="Erase them for ever with mode='hard' (`perdure erase`), or switch it on; nothing was changed.",
        )
    for _ in range(TRIES):
        selection = _forgettable(services, select(scope, order.what, services.context.clock()))
        preview = preview_of(scope, selection, "soft", selection.records)
        count = len(preview.records)
        certain = selection.named or count == 1
        if not agreed(scope, preview, order, going=count, certain=certain):
            return counted(scope, preview)
        done = with_reserve(services.store, partial(_carry_out, scope, preview))
        if done is not None:
            return done
    raise overtaken()


def preview_of(
    scope: Scope, selection: Selection, mode: Literal["soft", "hard"], going: tuple[Record, ...]
) -> Forgotten:
    return Forgotten(
        records=selection.records,
        deletion=mode,
        done=False,
        understood=selection.understood,
        token=token_of(scope.namespace, mode, going),
        notes=() if selection.records else ("Nothing matches, so nothing was changed.",),
    )


def agreed(scope: Scope, preview: Forgotten, order: Order, *, going: int, certain: bool) -> bool:
    """False when there is nothing to do, or it is only to be looked at; an error when somebody has to say yes."""
    if order.dry_run or not preview.records:
        return False
    try:
        require(preview, order.confirm, going=going, certain=certain)
    except NeedsConfirmation as needed:
        needed.preview = counted(scope, preview)
        raise
    return True


def counted(scope: Scope, preview: Forgotten) -> Forgotten:
    """With the number of memories that may be found now."""
    found = scope.services.store.matching(scope.namespace, Filter(states=INDEXED_STATES))
    return replace(preview, remaining=len(found))


def overtaken() -> Conflict:
    return Conflict("Others keep changing these memories.", remedy="Try again; nothing was changed.")


def take_back(services: Services, records: tuple[Record, ...], batch: str) -> str:
    if len(records) == 1 or not services.settings.versioning:
        return f"Take it back: perdure restore {' '.join(str(record.number) for record in records)}"
    return f"Take it back: perdure undo {batch}"


def _forgettable(services: Services, selection: Selection) -> Selection:
    if not services.context.is_person:
        for record in selection.records:
            if record.tier == ONLY_PEOPLE and record.state == "active":
                raise NotAllowed(f"Memory #{record.number} is constitutional: only a person may forget it.")
    forgotten = [record for record in selection.records if record.state == "deleted"]
    if forgotten and selection.named:
        number = forgotten[0].number
        raise Conflict(f"Memory #{number} is forgotten already.", remedy=f"Bring it back: perdure restore {number}")
    alive = tuple(record for record in selection.records if record.state != "deleted")
    return replace(selection, records=alive) if forgotten else selection


def _carry_out(scope: Scope, preview: Forgotten) -> Forgotten | None:
    """None when one of them is not as it was seen; then nothing was changed."""
    services = scope.services
    batch = services.context.batch()
    plans = [Plan(record, replace_record(record, state="deleted"), "forget", "updated") for record in preview.records]
    entries = [entry_of(plan.record, services.tokens.count) for plan in plans]
    with services.store.write(scope.namespace) as writer:
        for record in preview.records:
            current = writer.by_number(record.number)
            if current is None or not same_history(current, record):
                return None
        written = tuple(
            write(services, writer, plan, Prepared(entry, None, pending=False), batch).record
            for plan, entry in zip(plans, entries, strict=True)
        )
        remaining = writer.load().items
    return replace(
        preview,
        records=written,
        done=True,
        batch=batch.id,
        remaining=remaining,
        notes=(take_back(services, written, batch.id),),
    )
