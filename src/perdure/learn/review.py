"""A person's answers to proposals. A model may make proposals, and never answers one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from perdure.errors import Conflict, NotAllowed, NotFound
from perdure.learn.proposals import DECISION, REJECTED, Proposal, kind_of, open_proposal
from perdure.lifecycle.lookup import resolve
from perdure.lifecycle.write import Plan, apply_plan
from perdure.model import Record, replace_record

if TYPE_CHECKING:
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.store.port import Reader, Writer
    from perdure.validation import Reference


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of an answer to a proposal. `records` are its two memories as they are now, and the merged one."""

    proposal: int
    decision: Literal["accepted", "rejected"]
    records: tuple[Record, ...]
    batch: str
    notes: tuple[str, ...] = ()


def reject(services: Services, namespace: str, proposal: Proposal | Reference) -> Decision:
    require_person(services)
    batch = services.context.batch()
    with services.store.write(namespace) as writer:
        record, opened = find_open(services, writer, namespace, proposal)
        close(services, writer, batch, record, REJECTED)
    return Decision(record.number, REJECTED, (opened.first, opened.second), batch.id)


def require_person(services: Services) -> None:
    if not services.context.is_person:
        raise NotAllowed("Only a person may accept or reject a proposal.")


def find_open(
    services: Services, reader: Reader, namespace: str, proposal: Proposal | Reference
) -> tuple[Record, Proposal]:
    """The memory that holds the proposal, and the proposal as it is now."""
    ref = proposal.number if isinstance(proposal, Proposal) else proposal
    record = resolve(reader, namespace, ref)
    if kind_of(record) is None:
        raise NotFound(f"Memory #{record.number} is no proposal.", remedy="`perdure review` lists what waits.")
    opened = open_proposal(reader, record, services.context.clock())
    if opened is None:
        answer = record.metadata.get(DECISION)
        why = f"was {answer}" if record.state != "active" and answer else "is about memories that have changed since"
        raise Conflict(f"Proposal #{record.number} {why}.", remedy="`perdure review` lists what waits.")
    return record, opened


def close(services: Services, writer: Writer, batch: WriteBatch, record: Record, decision: str) -> None:
    """An answered proposal leaves the list; its history says who answered what."""
    answered = replace_record(record, state="deleted", metadata={**record.metadata, DECISION: decision})
    apply_plan(services, writer, Plan(record, answered, "forget", "updated", leaves_tombstone=False), batch)
