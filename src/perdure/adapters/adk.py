"""Google ADK: `PerdureMemoryService` keeps what was said in the sessions of each user of an app, once, and finds it by
meaning and by words. A memory that was deleted stays out, however often its session is added again.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import unquote

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.genai import types

from perdure.adapters.documents import Documents, Moment, name_of, text_of
from perdure.bank.framework_documents import document_key, fits_metadata
from perdure.errors import Conflict
from perdure.ids import new_id
from perdure.memory import Memory
from perdure.model import Record

if TYPE_CHECKING:
    from google.adk.events.event import Event
    from google.adk.sessions.session import Session

KIND: Final = "adk"
# `PreloadMemoryTool` puts all that is found into every request.
MAX_FOUND: Final = 10
# Entries of metadata.
_CONTENT: Final = "content"
_AUTHOR: Final = "author"
_SAID_AT: Final = "said_at"
_CUSTOM: Final = "custom"


class PerdureMemoryService(BaseMemoryService):
    """The memories of ADK in a `Memory`, which is the attribute `perdure`: `service.perdure.undo(session=…)`.

    `uri` is for `services.yaml` and `--memory_service_uri`: after `perdure://` stands a file, or the address of a
    server or a database, as `Memory` takes it. `min_relevance` leaves out what fits less. With `known_at` the
    service is what it was at that time, for reading alone.
    """

    def __init__(
        self,
        memory: Memory | None = None,
        *,
        uri: str | None = None,
        limit: int = MAX_FOUND,
        min_relevance: float | None = None,
        known_at: Moment = None,
        **_: Any,
    ) -> None:
        self.perdure = memory or Memory(_store_of(uri), actor="adk", writer="model")
        self._documents = Documents(self.perdure, KIND, "adk", known_at)
        self._limit = limit
        self._min_relevance = min_relevance

    async def add_session_to_memory(self, session: Session) -> None:
        await self.add_events_to_memory(
            app_name=session.app_name, user_id=session.user_id, events=session.events, session_id=session.id
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Event],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store what was said in events that are not known, or not as they are now."""
        told = [
            MemoryEntry(
                id=event.id,
                content=event.content,
                author=event.author,
                timestamp=datetime.fromtimestamp(event.timestamp, UTC).isoformat(),
                custom_metadata=dict(custom_metadata or {}),
            )
            for event in events
            if event.content and _words(event.content)
        ]
        await asyncio.to_thread(self._add, (app_name, user_id), told, session_id)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        told = [
            entry.model_copy(
                update={
                    "id": entry.id or new_id(),
                    "custom_metadata": {**entry.custom_metadata, **(custom_metadata or {})},
                }
            )
            for entry in memories
            if _words(entry.content)
        ]
        await asyncio.to_thread(self._add, (app_name, user_id), told, None)

    async def search_memory(self, *, app_name: str, user_id: str, query: str) -> SearchMemoryResponse:
        if not query.strip():
            return SearchMemoryResponse()
        folder = json.dumps([app_name, user_id])
        found = await asyncio.to_thread(self._documents.search, query, folder, self._limit, self._min_relevance)
        return SearchMemoryResponse(memories=[_entry(hit.record) for hit in found])

    async def delete_memory(self, *, app_name: str, user_id: str, memory_id: str | None = None) -> None:
        """Forget one memory, softly; the event that it was made of does not bring it back."""
        if memory_id:
            await asyncio.to_thread(self._delete, json.dumps([app_name, user_id, memory_id]))

    def _add(self, scope: tuple[str, str], entries: Iterable[MemoryEntry], session_id: str | None) -> None:
        with self.perdure.batch():
            for entry in entries:
                name = json.dumps([*scope, entry.id])
                known = self._documents.get(name)
                if known is None or _is_other(known, entry):
                    self._store(scope, name, entry, session_id, is_known=known is not None)

    def _store(
        self, scope: tuple[str, str], name: str, entry: MemoryEntry, session_id: str | None, *, is_known: bool
    ) -> None:
        content = entry.content.model_dump(mode="json", exclude_none=True)
        entries: dict[str, Any] = {_AUTHOR: entry.author, _SAID_AT: entry.timestamp}
        # Of what is too large its words are the text of the memory.
        entries[_CONTENT] = content if fits_metadata(content) else {"role": entry.content.role}
        entries |= (
            {_CUSTOM: entry.custom_metadata} if entry.custom_metadata and fits_metadata(entry.custom_metadata) else {}
        )
        # A memory of this event that was deleted since, or erased, is known by the key of the request.
        more: dict[str, Any] = {} if is_known else {"idempotency_key": f"adk {document_key(KIND, name)}"}
        if session_id:
            more["session_id"] = session_id
        if entry.timestamp:
            more["valid_at"] = entry.timestamp
        try:
            self._documents.put(name, _words(entry.content), [json.dumps(scope)], entries, **more)
        except Conflict:
            # It said something else when it was deleted.
            return

    def _delete(self, name: str) -> None:
        if record := self._documents.get(name):
            self._documents.remove(record)


def _store_of(uri: str | None) -> str | None:
    _, _, place = (uri or "").partition("://")
    return unquote(place) or None


def _words(content: types.Content) -> str:
    return " ".join(part.text for part in content.parts or () if part.text).strip()


def _is_other(record: Record, entry: MemoryEntry) -> bool:
    return text_of(record) != _words(entry.content)


def _entry(record: Record) -> MemoryEntry:
    metadata = record.metadata
    kept, author, said_at, custom = (metadata.get(name) for name in (_CONTENT, _AUTHOR, _SAID_AT, _CUSTOM))
    content = types.Content.model_validate(kept or {})
    content.parts = content.parts or [types.Part(text=text_of(record))]
    return MemoryEntry(
        id=json.loads(name_of(record))[-1],
        content=content,
        author=author if isinstance(author, str) else None,
        timestamp=said_at if isinstance(said_at, str) else record.created_at.isoformat(),
        custom_metadata=dict(custom) if isinstance(custom, Mapping) else {},
    )
