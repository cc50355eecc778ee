"""What every change of a memory needs at hand: the store, the embedder, who writes, and the rules in force."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from perdure.embed.port import Embedder
from perdure.lifecycle.usage import UseCounter
from perdure.lifecycle.write_context import Author
from perdure.settings import Settings
from perdure.store.port import EvictionRule, Store
from perdure.text.tokens import TokenCounter, counter_of


@dataclass(frozen=True, slots=True)
class Policy:
    """The settings that changes obey. A limit of None is no limit; a namespace may have limits of its own."""

    max_items: int | None
    max_tokens: int | None
    eviction: EvictionRule
    grace: timedelta
    constitutional_tokens: int
    validation_step: float
    versioning: bool
    soft_delete: bool

    @classmethod
    def of(cls, settings: Settings) -> Policy:
        return cls(
            max_items=settings.max_items or None,
            max_tokens=settings.max_tokens or None,
            eviction=EvictionRule(settings.importance_low, settings.importance_high),
            grace=timedelta(days=min(settings.grace_days, timedelta.max.days)),
            constitutional_tokens=settings.constitutional_tokens,
            validation_step=settings.validation_step,
            versioning=settings.versioning,
            soft_delete=settings.soft_delete,
        )


@dataclass(frozen=True, slots=True)
class Engine:
    store: Store
    embedder: Embedder | None
    author: Author
    policy: Policy
    # What this process used and has not written down yet; eviction must know it.
    uses: UseCounter | None = None

    @property
    def tokens(self) -> TokenCounter:
        return counter_of(self.embedder)
