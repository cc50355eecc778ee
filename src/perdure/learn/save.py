"""Saving a memory so that what is said twice becomes one (S4).

The loop of `learn/merge.py` plans. Then one transaction looks at everything again and writes all of it: the new text,
the merged memory, and the two it was made of, which stay, restorable, in the state `merged`. When somebody saved
something similar meanwhile it is planned again, and in the end the text is stored alone: it is never lost.
"""

# A checked memory has a text and a content hash.
# pyright: reportTypedDictNotRequiredAccess=false

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from perdure.buggify import point
from perdure.errors import InvalidInput, StoreDamaged
from perdure.ids import MemoryId, Reference
from perdure.learn.joined import ROLES, join_texts, may_join
from perdure.learn.merge import MergeLoop
from perdure.learn.merge_results import Saved
from perdure.learn.proposals import propose
from perdure.learn.similar import Draft, draft_of
from perdure.lifecycle.keywords import keywords_at_write
from perdure.lifecycle.tier_policy import apply_tier
from perdure.lifecycle.write import (
    Plan,
    WriteRequest,
    WriteResult,
    answer,
    apply_change,
    apply_plan,
    check_request,
    identity_of_fields,
    is_unchanged,
    lookup,
    make_room,
    plan_observation,
    plan_write,
    remember,
)
from perdure.model import Identity, Record, Remembered, State, identity_of, replace_record
from perdure.store.port import LogFilter
from perdure.validation import check_choice

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.store.port import Reader, Writer

# When others save something similar at the same time, it is planned again so often.
_ATTEMPTS: Final = 3
# Of more new lines in the log it is not asked what they say: something similar may be among them.
_NEW_LINES: Final = 100
# How often a merged memory was merged again at most, as far as a duplicate is looked for.
_LONGEST_LINE: Final = 1000


class MergeConflict(Exception):
    """What was planned cannot be done any more; it is planned again."""


def save_memory(services: Services, namespace: str, text: str, role: str | None, fields: Mapping[str, object]) -> Saved:
    if fields.get("key") is not None:
        raise InvalidInput("A memory with a key is not merged.", remedy="Use upsert, or leave the key out.")
    said = text if role is None else f"{check_choice(ROLES, role, 'role')}: {text}"
    request, notes = check_request(services, said, fields)
    loop, draft = MergeLoop(services), None
    for _ in range(_ATTEMPTS):
        seq = services.store.position(namespace, None).seq
        with services.store.read(namespace) as reader:
            known = find_duplicate(reader, identity_of_fields(request.fields))
        if known is not None:
            if observation := observe(services, namespace, request, known, loop, notes):
                return observation
            continue
        batch = services.context.batch(request.fields.get("session_id"))
        draft, told = plan_draft(services, namespace, request, batch.at, draft)
        final = loop.again().run(draft) if may_join(draft.record, draft.record) else draft
        if loop.duplicate is not None:
            if observation := observe(services, namespace, request, loop.duplicate, loop, notes):
                return observation
            continue
        point("merge: planned")
        with services.store.write(namespace) as writer:
            if is_current(writer, loop, draft, final, seq):
                return write_all(services, writer, batch, loop, draft, (*notes, *told))
    # The text alone can be overtaken by nobody.
    return saved(remember(services, namespace, request), loop.again(), notes)


def find_duplicate(reader: Reader, identity: Identity) -> Record | None:
    """The active memory that says this to the letter, or into which one was merged that does."""
    active = lookup(reader, identity)
    if active is not None:
        return active
    # What is damaged keeps no text from being saved.
    with suppress(StoreDamaged):
        for record in reader.find(Reference(identity.content_hash, hash=identity.content_hash)):
            if record.state == "merged" and identity_of(record) == identity:
                heir = merged_into(reader, record)
                if heir is not None and heir.state == "active":
                    return heir
    return None


def merged_into(reader: Reader, record: Record) -> Record | None:
    """What a merged memory became in the end."""
    heir: Record | None = None
    for _ in range(_LONGEST_LINE):
        ids = [
            link.source for link in reader.links(record.id) if link.kind == "merged_from" and link.source != record.id
        ]
        found = [each for id in ids for each in reader.find(Reference(id, id=MemoryId(id)))]
        heir = next((each for each in reversed(found) if each.state in {"active", "merged"}), None)
        if heir is None or heir.state == "active":
            break
        record = heir
    return heir


def plan_draft(
    services: Services, namespace: str, request: WriteRequest, at: datetime, earlier: Draft | None
) -> tuple[Draft, tuple[str, ...]]:
    """The memory that the text alone would be, and notes about it."""
    fields, notes = apply_tier(services, request.fields, at, None)
    plan = plan_write(None, namespace, fields, at)
    if plan.record.category in services.settings.keyword_categories:
        add_keywords = keywords_at_write(services, namespace, fields, None)
        plan = add_keywords(plan) if add_keywords else plan
    return draft_of(services, plan, earlier), (*notes, *plan.notes)


def observe(
    services: Services,
    namespace: str,
    request: WriteRequest,
    known: Record,
    loop: MergeLoop,
    notes: tuple[str, ...],
) -> Saved | None:
    """Count once more what is said already, in the words that it has. None when it is not active any more, because
    somebody else merged or forgot it meanwhile.
    """
    if identity_of(known) == identity_of_fields(request.fields):
        return saved(remember(services, namespace, request), loop, notes)

    done = observe_known(services, request, known)
    return saved(done, loop, notes) if done else None


def observe_known(services: Services, request: WriteRequest, known: Record) -> Remembered | None:
    """Count a memory once more that says the same in other words; None when it is not active any more."""

    def plan(current: Record, at: datetime) -> Plan:
        if current.state != "active":
            raise MergeConflict
        fields = request.fields.copy()
        fields |= {"text": current.text, "content_hash": current.content_hash}
        allowed, told = apply_tier(services, fields, at, current)
        planned = plan_observation(current, allowed, at)
        return replace(planned, notes=(*told, *planned.notes))

    try:
        return apply_change(services, known, plan)
    except MergeConflict:
        return None


def saved(done: Remembered, loop: MergeLoop, notes: tuple[str, ...]) -> Saved:
    missing = loop.services.note_missing_embedder() if done.vector_pending else ()
    return Saved(
        done.record,
        "inserted" if done.outcome == "inserted" else "observed",
        done.batch,
        steps=tuple(loop.steps),
        searches=loop.searches,
        asked=loop.asked,
        vector_pending=done.vector_pending,
        evicted=done.evicted,
        notes=(*notes, *loop.notes, *done.notes, *missing),
    )


def is_current(writer: Writer, loop: MergeLoop, draft: Draft, final: Draft, seq: int) -> bool:
    """Whether everything that was planned at this position of the log can still be done: nobody says the same, the
    other memories are as they were, and nothing came that should have been looked at.
    """
    absorbed = {merge.absorbed.number for merge in loop.merges}
    others = (*(merge.absorbed for merge in loop.merges), *(question.other.record for question in loop.questions))
    if not all(is_unchanged(writer, record) for record in others):
        return False
    for record in {draft.record.id: draft.record, final.record.id: final.record}.values():
        twin = lookup(writer, identity_of(record))
        if twin is not None and twin.number not in absorbed:
            return False
    lines = writer.log(LogFilter(after=seq), limit=_NEW_LINES)
    return len(lines) < _NEW_LINES and not any(
        line.record and line.record.state == "active" and may_join(line.record, draft.record) for line in lines
    )


def write_all(
    services: Services,
    writer: Writer,
    batch: WriteBatch,
    loop: MergeLoop,
    draft: Draft,
    notes: tuple[str, ...],
) -> Saved:
    """The new memory, what it was merged with and into, and what a person is asked: one batch."""
    drafts = [draft, *(merge.merged for merge in loop.merges)]
    absorbed = tuple(absorb(services, writer, batch, merge.absorbed) for merge in loop.merges)
    for each in drafts[:-1]:
        store(services, writer, batch, each, "merged")
        writer.lift_tombstone(identity_of(each.record))
    plan, result = store(services, writer, batch, drafts[-1], "active")
    point("merge: written")
    proposals = [
        propose(
            services, writer, batch, kind=question.kind, first=question.other.record, second=result.record,
            reasons=question.reasons, cosine=question.other.cosine,
            text=join_texts(question.other.record.text, result.record.text) if question.kind == "merge" else None,
        )
        for question in loop.questions
    ]  # fmt: skip
    evicted = make_room(services, writer, batch, [result.record])
    done = answer(plan, replace(result, evicted=evicted), drafts[-1].prepared, batch)
    return replace(
        saved(done, loop, notes),
        outcome="merged" if absorbed else "inserted",
        absorbed=absorbed,
        proposals=tuple(proposal.number for proposal in proposals if proposal),
    )


def absorb(services: Services, writer: Writer, batch: WriteBatch, record: Record) -> Record:
    """What was merged stays as it is, and is found no more. It was not forgotten, so it may come back."""
    merged = replace_record(record, state="merged")
    plan = Plan(record, merged, "annotate", "annotated", leaves_tombstone=False)
    point("merge: absorbed")
    return apply_plan(services, writer, plan, batch).record


def store(
    services: Services, writer: Writer, batch: WriteBatch, draft: Draft, state: State
) -> tuple[Plan, WriteResult]:
    plan = replace(draft.plan, record=replace_record(draft.record, state=state))
    return plan, apply_plan(services, writer, plan, batch, draft.prepared, room=False)
