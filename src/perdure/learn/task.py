"""What is to be consolidated, as everybody sees it who does so: episodes of one conversation, and the facts about it
that are known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Protocol

from perdure.clock import parse_iso_time
from perdure.episodes.messages import said_after
from perdure.episodes.metadata import UNTIL
from perdure.learn.actions import FactAction
from perdure.llm.port import Schema
from perdure.model import NOTHING, Record


@dataclass(frozen=True, slots=True)
class TaskEpisode:
    """One episode, and what was said in it, in order."""

    record: Record
    messages: tuple[Record, ...]

    @property
    def since(self) -> datetime:
        """When it began."""
        return self.record.valid_at or self.record.created_at

    @property
    def until(self) -> datetime:
        """When it ended; not before what was said earlier, also if the clock went back."""
        told = self.record.metadata.get(UNTIL)
        ended = (parse_iso_time(told, until=False) if isinstance(told, str) else None) or self.since
        return max([ended, *filter(None, map(said_after, self.messages))])


@dataclass(frozen=True, slots=True)
class ConsolidationTask:
    """One run. `facts` may be named in an answer, by number, and no others. `instructions` and `schema` tell an agent
    what to answer; `token` is what it gives back with the answer, and says what it was shown.
    """

    namespace: str
    conversation_id: str
    episodes: tuple[TaskEpisode, ...]
    facts: tuple[Record, ...]
    instructions: str = ""
    schema: Schema = field(default_factory=lambda: NOTHING)
    token: str = ""


class Engine(Protocol):
    """Who decides what the episodes say about the facts."""

    @property
    def name(self) -> str:
        """As in `metadata.learned_by` of a fact: `rules`, `agent`, or a model such as `ollama:qwen3`."""
        ...

    @property
    def needs_facts(self) -> bool:
        """Whether it is shown the facts that are related to the episodes, which costs embedding the episodes."""
        ...

    @property
    def joins_conversations(self) -> bool:
        """Whether it says of each fact which of the episodes tell it, so that they may be of several conversations."""
        ...

    @property
    def most_episodes(self) -> int:
        """How many of a conversation it looks at together."""
        ...

    def actions(self, task: ConsolidationTask) -> Sequence[FactAction]:
        """It reads what the task shows, and writes nothing. `ProviderUnavailable` when a model cannot be asked, and
        `ModelOutputInvalid` when its answer is of no use.
        """
        ...
