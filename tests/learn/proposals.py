"""Pairs of memories, and proposals about them."""

from __future__ import annotations

from perdure import Memory, Proposal, Record
from perdure.learn.proposals import ProposalKind, propose

TEA = ("Ada likes tea.", "Ada is fond of tea.")


def pair(memory: Memory, *texts: str) -> tuple[Record, Record]:
    first, second = (memory.remember(text).record for text in texts or TEA)
    return first, second


def proposed(memory: Memory, first: Record, second: Record, kind: ProposalKind = "merge") -> Record | None:
    """What consolidation does where it may not decide: a proposal inside its own transaction."""
    services = memory._services  # There is no public door that only proposes.
    with services.store.write(first.namespace) as writer:
        batch = services.context.batch()
        return propose(
            services, writer, batch, kind=kind, first=first, second=second, reasons=["the words differ"], cosine=0.85
        )


def only(memory: Memory) -> Proposal:
    (proposal,) = memory.review()
    return proposal
