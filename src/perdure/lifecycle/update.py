"""Correcting a memory, and bringing one back. Each change is one revision."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final

from perdure.errors import Conflict, InvalidInput, NotAllowed, VersionConflict
from perdure.ids import content_hash, is_said
from perdure.lifecycle.forget import note_on_derived
from perdure.lifecycle.keywords import keywords_at_write
from perdure.lifecycle.tier_policy import apply_tier
from perdure.lifecycle.write import (
    Plan,
    WriteResult,
    answer,
    apply_change,
    apply_plan,
    is_same,
    make_room,
    prepare,
    require_own_key,
    require_present,
    require_unique,
    retry_when_rolled_back,
)
from perdure.model import NOTHING, ORIGIN_FIELDS, SPEAKER, Json, Record, Remembered, State, identity_of, replace_record
from perdure.remedies import Remedy, Run
from perdure.store.port import About
from perdure.tiers import ONLY_PEOPLE
from perdure.validation import RecordFields, changes_content, check_fields, check_validity
from perdure.visibility import has_expired, notes_on_times

if TYPE_CHECKING:
    from perdure.lifecycle.comparison import Comparison
    from perdure.services import Services

_RESTORABLE: Final[frozenset[State]] = frozenset({"deleted", "expired", "evicted", "merged"})


def update(
    services: Services,
    record: Record,
    fields: RecordFields,
    add_tags: Sequence[str] = (),
    remove_tags: Sequence[str] = (),
    expected_version: int | None = None,
    provenance: Mapping[str, Json] = NOTHING,
    comparison: Comparison | None = None,
) -> Remembered:
    """Other words make a new version; anything else is a revision of the same version. Tags are added and removed, and
    entries of `metadata` changed, on the record as it is when it is written.
    """

    def plan(current: Record, at: datetime) -> Plan:
        require_active(current, "corrected")
        if expected_version is not None and current.version != expected_version:
            raise VersionConflict(
                f"Memory #{current.number} has version {current.version} now, not {expected_version}."
            )
        require_same_origin(current, fields)
        if fields.get("key") != current.key:
            require_own_key(services, fields.get("key"))
        corrected = fields.copy()
        if add_tags or remove_tags:
            tags = dict.fromkeys((*fields.get("tags", current.tags), *add_tags))
            corrected |= check_fields({"tags": [tag for tag in tags if tag not in remove_tags]})
        if metadata := fields.get("metadata"):
            corrected["metadata"] = {**current.metadata, **metadata}
        elif "metadata" in fields and SPEAKER in current.metadata:
            corrected["metadata"] = {SPEAKER: current.metadata[SPEAKER]}
        corrected, notes = apply_tier(services, corrected, at, current)
        changes = {name: value for name, value in corrected.items() if getattr(current, name) != value}
        if not changes:
            return Plan(current, current, "annotate", "unchanged", (*notes, "Nothing to change."))
        if "text" in corrected:
            changes["content_hash"] = content_hash(corrected["text"])
        changed = replace_record(current, **changes)
        check_validity(changed.valid_at, changed.invalid_at)
        notes = (*notes, *notes_on_times(fields, at))
        if not changes_content(changes):
            return Plan(current, changed, "annotate", "annotated", notes)
        changed = replace_record(changed, version=current.version + 1, updated_at=at)
        planned = Plan(current, changed, "update", "updated", notes, provenance=provenance)
        return add_keywords(planned) if add_keywords else planned

    wants_keywords = fields.get("category", record.category) in services.settings.keyword_categories
    reworded = wants_keywords and changes_content(fields)
    add_keywords = keywords_at_write(services, record.namespace, fields, record) if reworded else None
    done = apply_change(services, record, plan, comparison)
    if done.outcome != "updated" or not is_said(done.record.key):
        return done
    # Episodes and facts are made of it, and do not change with it.
    with services.store.read(record.namespace) as reader:
        return replace(done, notes=(*done.notes, *note_on_derived(reader, [done.record])))


def restore(services: Services, namespace: str, records: Sequence[Record]) -> tuple[Remembered, ...]:
    """Bring memories back exactly as they were, except that they do not expire again at once: all of them or none, in
    one batch.
    """
    return retry_when_rolled_back(partial(_restore, services, namespace, records))


def _restore(services: Services, namespace: str, records: Sequence[Record]) -> tuple[Remembered, ...]:

    def plan(current: Record, at: datetime) -> Plan:
        expired = has_expired(current, at)
        if current.state not in _RESTORABLE and not (expired and current.state == "active"):
            raise Conflict(
                f"Memory #{current.number} is {current.state}, so there is nothing to restore.",
                remedy=Remedy("See what happened to it: ", Run("history", current.number)),
            )
        if current.tier == ONLY_PEOPLE and not services.context.is_person:
            raise NotAllowed(f"Memory #{current.number} was constitutional: only a person brings it back.")
        restored = replace_record(current, state="active", expires_at=None if expired else current.expires_at)
        return Plan(current, restored, "restore", "updated")

    batch = services.context.batch()
    plans = [plan(record, batch.at) for record in records]
    prepared = [prepare(services, each) for each in plans]
    results: list[WriteResult] = []
    with services.store.write(namespace, [About(identity_of(each), number=each.number) for each in records]) as writer:
        for place, record in enumerate(records):
            current = require_present(writer.by_number(record.number), record.number)
            if not is_same(current, record):
                plans[place] = plan(current, batch.at)
                prepared[place] = prepare(services, plans[place], prepared[place])
            plans[place] = require_unique(writer, plans[place], current)
            results.append(apply_plan(services, writer, plans[place], batch, prepared[place], room=False))
        if results:
            evicted = make_room(services, writer, batch, [result.record for result in results])
            results[-1] = replace(results[-1], evicted=evicted)
    done = zip(plans, results, prepared, strict=True)
    return tuple(answer(*each, batch) for each in done)


def require_same_origin(record: Record, fields: RecordFields) -> None:
    """A correction cannot change where a memory comes from."""
    moved = [name for name in ORIGIN_FIELDS if name in fields and fields.get(name) != getattr(record, name)]
    metadata = fields.get("metadata") or {}
    if SPEAKER in metadata and metadata[SPEAKER] != record.metadata.get(SPEAKER):
        moved.append(SPEAKER)
    if moved:
        raise InvalidInput(
            f"The {moved[0]} of memory #{record.number} says where it comes from, and that never changes.",
            remedy="Forget it, and remember it anew with the right origin; nothing was changed.",
        )


def require_active(record: Record, verb: str) -> None:
    if record.state != "active":
        raise Conflict(
            f"Memory #{record.number} is {record.state} and cannot be {verb}.",
            remedy=Remedy("Bring it back first: ", Run("restore", record.number)),
        )
