"""Strands: `PerdureStrandsStore` is a store for its `MemoryManager`. It takes whole messages, so that facts are learned
from them here, without asking a model of Strands, and answers memories by meaning and by words.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from strands.memory.types import MemoryEntry

from perdure.adapters.documents import Moment, require_present
from perdure.ids import content_hash, new_id
from perdure.memory import Memory
from perdure.validation import check_metadata

if TYPE_CHECKING:
    from strands.memory.types import AddMessagesContext, SearchOptions
    from strands.types.content import Message

MAX_FOUND: Final = 5


class PerdureStrandsStore:
    """A store of Strands in a `Memory`, which is the attribute `perdure`: `store.perdure.undo(session=…)`. Messages go
    into `memory.conversation(conversation_id)`; a search looks at the whole namespace of the memory. With `known_at`
    the store is what it was at that time, for reading alone.
    """

    def __init__(  # noqa: PLR0913 - one for each thing a caller may decide
        self,
        memory: Memory,
        *,
        name: str = "perdure",
        description: str | None = "What was said and decided in earlier conversations.",
        conversation_id: str = "strands",
        max_search_results: int | None = MAX_FOUND,
        min_relevance: float | None = None,
        writable: bool = True,
        extraction: Any = True,
        known_at: Moment = None,
    ) -> None:
        self.perdure = memory
        self.name = name
        self.description = description
        self.max_search_results = max_search_results
        self.writable = writable and known_at is None
        self.extraction = extraction if self.writable else False
        self._conversation = memory.conversation(conversation_id)
        self._min_relevance = min_relevance
        self._known_at = known_at
        self._runs = _AgentRuns()

    async def initialize(self) -> None:
        await asyncio.to_thread(self.perdure.warm)

    async def search(self, query: str, options: SearchOptions | None = None) -> list[MemoryEntry]:
        limit = (options or {}).get("max_search_results") or self.max_search_results or MAX_FOUND
        if not query.strip():
            return []
        found = await asyncio.to_thread(
            self.perdure.recall, query, limit=limit, min_relevance=self._min_relevance, known_at=self._known_at
        )
        return [
            MemoryEntry(
                content=hit.text,
                metadata={
                    "number": hit.record.number,
                    "relevance": hit.relevance,
                    "said_at": (hit.record.valid_at or hit.record.created_at).isoformat(),
                },
            )
            for hit in found
        ]

    async def add(self, content: str, metadata: dict[str, Any] | None = None) -> int:
        """Store one statement, and answer its number."""
        require_present(self._known_at)
        entries = check_metadata(metadata, "metadata") if metadata else None
        more: dict[str, Any] = {"metadata": entries} if entries else {}
        done = await asyncio.to_thread(self.perdure.remember, content, **more)
        return done.record.number

    async def add_messages(self, messages: list[Message], context: AddMessagesContext | None = None) -> int:
        """Store messages, all or none, and answer how many were new. A batch that is sent again is not stored again."""
        require_present(self._known_at)
        told = [(message["role"], _words(message)) for message in messages]
        numbers = (context.sequence_numbers if context else None) or [None] * len(told)
        run = self._runs.run_of([number for number in numbers if number is not None], told)
        batch: list[Mapping[str, Any]] = []
        for (role, words), number in zip(told, numbers, strict=True):
            if words:
                key = None if number is None else f"strands {run} {number} {content_hash(words)}"
                batch.append({"role": role, "content": words, "idempotency_key": key})
        if not batch:
            return 0
        return (await asyncio.to_thread(self._conversation.add_messages, batch)).inserted


class _AgentRuns:
    """Which run of the agent a batch belongs to: its numbers begin again with each run, and nothing else says so."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._run = new_id()
        self._highest = -1
        self._last: object = None

    def run_of(self, numbers: list[int], told: list[tuple[str, str]]) -> str:
        with self._lock:
            batch = (numbers, told)
            if numbers and batch != self._last:
                if numbers[0] <= self._highest:
                    self._run, self._highest = new_id(), -1
                self._highest, self._last = max(self._highest, *numbers), batch
            return self._run


def _words(message: Mapping[str, Any]) -> str:
    """What a message says. What a tool was asked and answered is left to the transcript."""
    return "\n".join(part["text"] for part in message["content"] if part.get("text", "").strip())
