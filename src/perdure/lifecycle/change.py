"""How a memory changes after it was made: corrected, forgotten, brought back. Each change is one revision."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TypeAlias

from perdure.draft import Clean, changes_content, check_validity
from perdure.errors import Conflict
from perdure.ids import content_hash
from perdure.lifecycle.engine import Engine
from perdure.lifecycle.remember import PENDING, Plan, prepare, put_vector, write
from perdure.model import Record, Remembered, State, evolve
from perdure.store.port import Writer

# A correction may depend on what is there: adding a tag, for one.
Correction: TypeAlias = Callable[[Record], Clean]
Planner: TypeAlias = Callable[[Record, datetime], Plan]

_RESTORABLE: frozenset[State] = frozenset({"deleted", "expired", "evicted"})


def update(engine: Engine, found: Record, correct: Correction) -> Remembered:
    def plan(record: Record, at: datetime) -> Plan:
        _require_active(record)
        clean = {name: value for name, value in correct(record).items() if getattr(record, name) != value}
        if not clean:
            return Plan(record, record, "annotate", "unchanged", ("Nothing to change.",))
        changed = evolve(record, **clean, content_hash=content_hash(clean.get("text", record.text)))
        check_validity(changed.valid_at, changed.invalid_at)
        if not changes_content(clean):
            return Plan(record, changed, "annotate", "annotated")
        return Plan(record, evolve(changed, version=record.version + 1, updated_at=at), "update", "updated")

    return _carry_out(engine, found, plan)


def forget(engine: Engine, found: Record) -> Record:
    """Soft: it leaves every list and every search, and can be restored."""

    def plan(record: Record, _: datetime) -> Plan:
        if record.state == "deleted":
            raise Conflict(
                f"Memory #{record.number} is forgotten already.",
                remedy=f"Bring it back: perdure restore {record.number}",
            )
        return Plan(record, evolve(record, state="deleted"), "forget", "updated")

    return _carry_out(engine, found, plan).record


def restore(engine: Engine, found: Record) -> Record:
    def plan(record: Record, _: datetime) -> Plan:
        if record.state not in _RESTORABLE:
            raise Conflict(
                f"Memory #{record.number} is {record.state}, so there is nothing to restore.",
                remedy=f"See what happened to it: perdure history {record.number}",
            )
        return Plan(record, evolve(record, state="active"), "restore", "updated")

    return _carry_out(engine, found, plan).record


def _carry_out(engine: Engine, found: Record, plan_for: Planner) -> Remembered:
    """Prepared outside the transaction on what was read; if someone else was faster, prepared again on theirs."""
    store, embedder = engine.store, engine.embedder
    batch = engine.author.batch()
    while True:
        plan = plan_for(found, batch.at)
        if plan.outcome == "unchanged":
            return Remembered(found, plan.outcome, batch.id, notes=plan.notes)
        prepared = prepare(embedder, plan)
        with store.write(found.namespace) as writer:
            current = writer.by_number(found.number)
            if current is not None and current.seq == found.seq:
                _require_free_key(writer, plan)
                record = write(writer, plan, prepared, batch)
                put_vector(writer, embedder, prepared)
                notes = (PENDING,) if prepared.pending and embedder else ()
                return Remembered(record, plan.outcome, batch.id, prepared.pending, notes)
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
