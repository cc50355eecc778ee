"""OpenAI Agents: `PerdureSession` keeps the items of a session as the messages of a conversation, so that the next run
goes on where this one ended, facts are learned from what was said, and clearing a session can be undone.
"""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import fields
from typing import TYPE_CHECKING, Any, Final, cast

from agents.memory.session import SessionABC
from agents.memory.session_settings import SessionSettings, resolve_session_limit

from perdure.adapters.documents import Moment, messages_at, require_present
from perdure.bank.framework_documents import fits_metadata
from perdure.errors import Conflict
from perdure.memory import Memory
from perdure.model import Record

if TYPE_CHECKING:
    from agents.items import TResponseInputItem

# Entries of metadata: the item as it was given, or that the text of the message is its JSON.
_ITEM: Final = "item"
_AS_TEXT: Final = "item_as_text"


class PerdureSession(SessionABC):
    """A session in a `Memory`, which is the attribute `perdure`: `session.perdure.undo(session=…)`. Its items are the
    messages of `memory.conversation(session_id)`. With `known_at` it is what it was at that time, for reading alone.
    """

    def __init__(
        self,
        session_id: str,
        memory: Memory,
        *,
        session_settings: SessionSettings | dict[str, Any] | None = None,
        known_at: Moment = None,
    ) -> None:
        self.session_id = session_id
        self.session_settings = _settings(session_settings)
        self.perdure = memory
        self._conversation = memory.conversation(session_id)
        self._known_at = known_at
        self._popping = threading.Lock()

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The latest items, as many as the limit says, oldest first."""
        most = resolve_session_limit(limit, self.session_settings)
        if most is not None and most <= 0:
            return []
        messages = await asyncio.to_thread(messages_at, self.perdure, self.session_id, self._known_at, most)
        return [_item(message) for message in messages]

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Store items in their order, all or none."""
        require_present(self._known_at)
        if items:
            await asyncio.to_thread(self._conversation.add_messages, [_message(item) for item in items])

    async def pop_item(self) -> TResponseInputItem | None:
        require_present(self._known_at)
        return await asyncio.to_thread(self._pop)

    async def clear_session(self) -> None:
        """Forget every item, softly: undo brings them back."""
        require_present(self._known_at)
        await asyncio.to_thread(self._clear)

    def _pop(self) -> TResponseInputItem | None:
        with self._popping:
            while last := self._conversation.messages(limit=1):
                # Another process may have taken the same one meanwhile.
                with suppress(Conflict):
                    self.perdure.forget(last[0].number)
                    return _item(last[0])
            return None

    def _clear(self) -> None:
        numbers = [message.number for message in self._conversation.messages()]
        if numbers:
            self.perdure.forget(numbers, confirm=True)


def _settings(given: SessionSettings | dict[str, Any] | None) -> SessionSettings:
    if not isinstance(given, dict):
        return given or SessionSettings()
    if unknown := set(given) - {field.name for field in fields(SessionSettings)}:
        raise TypeError(f"Unknown session settings: {', '.join(sorted(unknown))}")
    return SessionSettings(**given)


def _message(item: Any) -> dict[str, Any]:
    """An item as a message: what a person would read, and the item itself to the letter."""
    entries: dict[str, Any] = dict(item) if isinstance(item, Mapping) else item.model_dump(exclude_unset=True)  # pyright: ignore[reportUnknownArgumentType]
    role = entries.get("role")
    message = {"role": role if isinstance(role, str) and role else "tool"}
    if fits_metadata(dict(entries)):
        return {**message, "content": _words(entries), "metadata": {_ITEM: dict(entries)}}
    return {**message, "content": json.dumps(dict(entries)), "metadata": {_AS_TEXT: True}}


def _item(message: Record) -> Any:
    kept = message.metadata.get(_ITEM)
    if isinstance(kept, Mapping):
        return json.loads(json.dumps(kept))
    if _AS_TEXT in message.metadata:
        return json.loads(message.text)
    # What others said in this conversation is an item as well.
    return {"role": message.metadata.get("role", "user"), "content": message.text}


def _words(item: Mapping[str, Any]) -> str:
    content = item.get("content") or item.get("output") or item.get("summary")
    if isinstance(content, list):
        parts = (cast("Mapping[str, Any]", each) for each in cast("list[Any]", content) if isinstance(each, Mapping))
        content = "\n".join(part["text"] for part in parts if isinstance(part.get("text"), str))
    if isinstance(content, str) and content.strip():
        return content
    if item.get("type") == "function_call":
        return f"{item.get('name')}({item.get('arguments')})"
    return json.dumps(dict(item), ensure_ascii=False)
