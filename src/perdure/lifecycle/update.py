"""How a memory changes after it was made: corrected, brought back. Each change is one revision."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, TypeAlias

from perdure.errors import Conflict, NotAllowed
from perdure.ids import content_hash
from perdure.lifecycle.remember import Plan, answer, prepare, write
from perdure.lifecycle.tier_policy import ONLY_PEOPLE, chosen
from perdure.model import Record, Remembered, State, replace_record, same_history
from perdure.store.port import Writer
from perdure.validation import RecordFields, changes_content, check_validity

if TYPE_CHECKING:
    from perdure.services import Services

# A correction may depend on what is there: adding a tag, for one.
Correction: TypeAlias = Callable[[Record], RecordFields]
Planner: TypeAlias = Callable[[Record, datetime], Plan]

_RESTORABLE: frozenset[State] = frozenset({"deleted", "expired", "evicted"})


def update(services: Services, found: Record, correct: Correction) -> Remembered:
    def plan(record: Record, at: datetime) -> Plan:
        _require_active(record)
        fields, notes = chosen(services, correct(record), at, record)
        clean = {name: value for name, value in fields.items() if getattr(record, name) != value}
        if not clean:
            return Plan(record, record, "annotate", "unchanged", (*notes, "Nothing to change."))
        changed = replace_record(record, **clean, content_hash=content_hash(clean.get("text", record.text)))
        check_validity(changed.valid_at, changed.invalid_at)
        if not changes_content(clean):
            return Plan(record, changed, "annotate", "annotated", notes)
        return Plan(
            record, replace_record(changed, version=record.version + 1, updated_at=at), "update", "updated", notes
        )

    return carry_out(services, found, plan)


def restore(services: Services, found: Record) -> Remembered:
    """Exactly as it was, but that it does not expire again at once."""

    def plan(record: Record, at: datetime) -> Plan:
        over = record.expires_at is not None and record.expires_at <= at
        if record.state not in _RESTORABLE and not (over and record.state == "active"):
            raise Conflict(
                f"Memory #{record.number} is {record.state}, so there is nothing to restore.",
                remedy=f"See what happened to it: perdure history {record.number}",
            )
        if record.tier == ONLY_PEOPLE and not services.context.is_person:
            raise NotAllowed(f"Memory #{record.number} was constitutional: only a person brings it back.")
        back = replace_record(record, state="active", expires_at=None if over else record.expires_at)
        return Plan(record, back, "restore", "updated")

    return carry_out(services, found, plan)


def carry_out(services: Services, found: Record, plan_for: Planner) -> Remembered:
    """Prepared outside the transaction on what was read; if someone else was faster, prepared again on theirs."""
    batch = services.context.batch()
    while True:
        plan = plan_for(found, batch.at)
        if plan.outcome == "unchanged":
            return Remembered(found, plan.outcome, None, notes=plan.notes)
        prepared = prepare(services, plan)
        with services.store.write(found.namespace) as writer:
            current = writer.by_number(found.number)
            if current is not None and same_history(current, found):
                _require_free_key(writer, plan)
                written = write(services, writer, plan, prepared, batch)
                return answer(services, plan, prepared, written, batch)
        if current is None:
            raise Conflict(f"Memory #{found.number} was erased meanwhile.")
        found = current


def _require_active(record: Record) -> None:
    if record.state != "active":
        raise Conflict(
            f"Memory #{record.number} is {record.state} and cannot be corrected.",
            remedy=f"Bring it back first: perdure restore {record.number}",
        )


def _require_free_key(writer: Writer, plan: Plan) -> None:
    key = plan.record.key
    if plan.basis and key and key != plan.basis.key and writer.by_key(key):
        raise Conflict(f"The key {key!r} names another memory.", remedy="Choose another key.")
