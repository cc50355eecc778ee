"""A person's answers to proposals. A model may make proposals, and never answers one."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final

from perdure.buggify import point
from perdure.errors import Conflict, InvalidInput, NotAllowed, NotFound, shown
from perdure.learn.joined import join_texts, joined_record
from perdure.learn.merge import faithfulness, neighbour_score
from perdure.learn.proposals import ACCEPTED, DECISION, REJECTED, kind_of, open_proposal
from perdure.learn.results import Decision, Proposal
from perdure.learn.save import absorb, store
from perdure.learn.similar import Draft, draft_of, similar_memories, vectors_of
from perdure.lifecycle.lookup import resolve
from perdure.lifecycle.write import Plan, apply_plan, is_unchanged, make_room
from perdure.model import Record, identity_of, replace_record
from perdure.remedies import Remedy, Run
from perdure.text.preview import when
from perdure.validation import check_text

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.store.port import Reader, Writer
    from perdure.validation import Reference

# What ends at the time at which it began was true for a moment.
_MOMENT: Final = timedelta(microseconds=1)


def reject(services: Services, namespace: str, proposal: Proposal | Reference) -> Decision:
    require_person(services)
    batch = services.context.batch()
    with services.store.write(namespace) as writer:
        record, opened = find_open(services, writer, namespace, proposal)
        close(services, writer, batch, record, REJECTED)
    return Decision(record.number, REJECTED, (opened.first, opened.second), batch.id)


def accept(services: Services, namespace: str, proposal: Proposal | Reference, keep: Reference | None) -> Decision:
    """Merge the two memories of a proposal, or let one of them supersede the other. `keep` names the one that is true;
    left out, that is the newer one.
    """
    require_person(services)
    with services.store.read(namespace) as reader:
        record, opened = find_open(services, reader, namespace, proposal)
        kept = None if keep is None else resolve(reader, namespace, keep)
    if kept is not None and (
        opened.kind != "conflict" or kept.number not in {opened.first.number, opened.second.number}
    ):
        raise InvalidInput(
            f"#{kept.number} cannot be kept: {'merging keeps both' if opened.kind == 'merge' else 'it is not meant'}.",
            remedy=f"Proposal #{record.number} is about #{opened.first.number} and #{opened.second.number}.",
        )
    batch = services.context.batch()
    merged, notes = draft_merge(services, opened, batch.at) if opened.kind == "merge" else (None, ())
    point("review: planned")
    with services.store.write(namespace) as writer:
        if not all(is_unchanged(writer, each) for each in (record, opened.first, opened.second)):
            raise Conflict(f"Somebody changed what proposal #{record.number} is about.", remedy="Look at it again.")
        if merged is not None:
            records = merge_pair(services, writer, batch, opened, merged)
        else:
            records = supersede(services, writer, batch, opened, kept or opened.second)
        close(services, writer, batch, record, ACCEPTED)
    return Decision(record.number, ACCEPTED, records, batch.id, notes)


def draft_merge(services: Services, opened: Proposal, at: datetime) -> tuple[Draft, tuple[str, ...]]:
    """The memory for both, and what the gate says about it: a person may merge what the loop would not."""
    settings, pair = services.settings, (opened.first, opened.second)
    text = check_text(opened.text or join_texts(*(each.text for each in pair)))
    draft = draft_of(services, Plan(None, joined_record(*pair, text, at), "insert", "inserted"))
    with services.store.read(opened.first.namespace) as reader:
        vectors = vectors_of(reader, pair, draft.prepared.generation)
    faithful = faithfulness(draft, vectors)
    if faithful is None:
        return draft, ("The gate did not look at it: without vectors nothing can be compared.",)
    found = similar_memories(services, draft, [each.number for each in pair])
    near = neighbour_score(found, settings.merge_neighbours)
    figures = f"faithfulness {faithful:.2f}, neighbours {near:.2f}"
    passed = faithful >= settings.merge_faithfulness and near <= settings.merge_neighbour_score
    return draft, (f"The gate {'passes' if passed else 'would have rejected'} it: {figures}.",)


def merge_pair(
    services: Services, writer: Writer, batch: WriteBatch, opened: Proposal, merged: Draft
) -> tuple[Record, ...]:
    pair = (opened.first, opened.second)
    twin = writer.by_content(identity_of(merged.record))
    if twin and twin.number not in {each.number for each in pair}:
        raise Conflict(f"Memory #{twin.number} says already what the two would say together.")
    absorbed = [absorb(services, writer, batch, each) for each in pair]
    _, result = store(services, writer, batch, merged, "active")
    make_room(services, writer, batch, [result.record])
    return (*absorbed, result.record)


def supersede(
    services: Services, writer: Writer, batch: WriteBatch, opened: Proposal, kept: Record
) -> tuple[Record, ...]:
    """The one that is kept supersedes the other, which was true until then; where the older one is kept, the newer
    one was never true, and ends now.
    """
    newer_is_kept = kept.number == opened.second.number
    other = opened.first if newer_is_kept else opened.second
    ends = when(kept) if newer_is_kept and when(kept) > when(other) else batch.at
    ended = replace_record(other, state="superseded", invalid_at=min(filter(None, (other.invalid_at, ends))))
    if ended.valid_at and ended.invalid_at and ended.invalid_at <= ended.valid_at:
        ended = replace_record(ended, invalid_at=ended.valid_at + _MOMENT)
    now = replace_record(kept, supersedes=tuple(dict.fromkeys((*kept.supersedes, other.id))))
    plans = [Plan(before, after, "annotate", "annotated") for before, after in ((other, ended), (kept, now))]
    return tuple(apply_plan(services, writer, plan, batch).record for plan in plans)


def require_person(services: Services) -> None:
    if not services.context.is_person:
        raise NotAllowed("Only a person may accept or reject a proposal.")


def find_open(
    services: Services, reader: Reader, namespace: str, proposal: Proposal | Reference
) -> tuple[Record, Proposal]:
    """The memory that holds the proposal, and the proposal as it is now."""
    ref = proposal.number if isinstance(proposal, Proposal) else proposal
    try:
        record = resolve(reader, namespace, ref)
    except NotFound as error:
        raise NotFound(
            f"There is no proposal {shown(ref)}.", remedy=Remedy(Run("review"), " lists what waits.")
        ) from error
    if kind_of(record) is None:
        raise NotFound(
            f"Memory #{record.number} is not a proposal.", remedy=Remedy(Run("review"), " lists what waits.")
        )
    opened = open_proposal(reader, record, services.context.clock())
    if opened is None:
        answer = record.metadata.get(DECISION)
        why = f"was {answer}" if record.state != "active" and answer else "is about memories that have changed since"
        raise Conflict(f"Proposal #{record.number} {why}.", remedy=Remedy(Run("review"), " lists what waits."))
    return record, opened


def close(services: Services, writer: Writer, batch: WriteBatch, record: Record, decision: str) -> None:
    """An answered proposal leaves the list; its history says who answered what."""
    answered = replace_record(record, state="deleted", metadata={**record.metadata, DECISION: decision})
    apply_plan(services, writer, Plan(record, answered, "forget", "updated", leaves_tombstone=False), batch)
