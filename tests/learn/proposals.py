"""Pairs of memories, and proposals about them."""

from __future__ import annotations

from perdure import Memory, Proposal, Record
from perdure.learn.proposals import ProposalKind, propose
from perdure.providers.call import ProviderCall

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


def parked(memory: Memory, number: int, output: str, *, model: str) -> None:
    """What a language model said that could not be used, as `work` parks it, and the call that brought it."""
    services = memory._services  # There is no public door without a model that fails.
    services.store.park(
        memory._namespace, purpose="keywords", memory=number, model=model, error=output, output=output, attempts=1,
        at=services.context.clock(),
    )  # fmt: skip
    services.store.record_calls([ProviderCall(
        at=services.context.clock(), provider="openai", model=model, host=model, purpose=output, items=1, sent_bytes=1,
        received_bytes=1,
    )])  # fmt: skip


def only(memory: Memory) -> Proposal:
    (proposal,) = memory.review()
    return proposal
