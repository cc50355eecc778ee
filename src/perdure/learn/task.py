"""What is to be consolidated, as everybody sees it who does so: episodes of one conversation, and the facts about it
that are known already.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Protocol

from perdure.clock import parse_iso_time
from perdure.learn.actions import FactAction
from perdure.llm.port import Schema
from perdure.model import Record

# In the metadata of an episode.
UNTIL: Final = "until"
SURPRISE: Final = "surprise"
CONSOLIDATED_AT: Final = "consolidated_at"


@dataclass(frozen=True, slots=True)
class TaskEpisode:
    """One episode, and what was said in it, in order."""

    record: Record
    messages: tuple[Record, ...]

    @property
    def until(self) -> datetime:
        """When it ended."""
        told = self.record.metadata.get(UNTIL)
        ended = parse_iso_time(told, until=False) if isinstance(told, str) else None
        return ended or self.record.valid_at or self.record.created_at


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
    schema: Schema | None = None
    token: str = ""


class Engine(Protocol):
    """Who decides what the episodes say about the facts."""

    @property
    def name(self) -> str:
        """As in `metadata.learned_by` of a fact: `rules`, `agent`, or a model such as `ollama:qwen3`."""
        ...

    @property
    def sees_all_facts(self) -> bool:
        """Whether it is shown every active fact of the conversation, and not only those that are related."""
        ...

    def actions(self, task: ConsolidationTask) -> Sequence[FactAction]:
        """Pure as far as memories go: it reads what the task shows, and writes nothing."""
        ...
