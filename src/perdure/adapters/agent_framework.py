"""Microsoft Agent Framework: `PerdureContextProvider` puts before each run what a memory knows about it, and stores
what was said in it. Where it stores and where it searches are said apart, and nothing else is searched.
"""

from __future__ import annotations

import asyncio
from typing import Any

from agent_framework import ContextProvider, Message

from perdure.memory import Memory


class PerdureContextProvider(ContextProvider):
    """A context provider on a `Memory`, which is the attribute `perdure`. Messages go into
    `memory.conversation(conversation_id)`; `filters` say what of the memory is searched, and without any that is this
    conversation alone. With `known_at` among them it tells what was known at that time, and stores nothing.
    """

    def __init__(
        self,
        memory: Memory,
        conversation_id: str,
        *,
        filters: dict[str, Any] | None = None,
        budget: int = 1000,
        source_id: str = "perdure",
    ) -> None:
        super().__init__(source_id)
        self.perdure = memory
        self._conversation = memory.conversation(conversation_id)
        self._filters: dict[str, Any] = {"conversation_id": conversation_id} if filters is None else filters
        self._budget = budget

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        del agent, session, state
        asked = "\n".join(message.text for message in context.input_messages if message.text)
        if not asked.strip():
            return
        known = await asyncio.to_thread(self.perdure.context, asked, budget=self._budget, **self._filters)
        if str(known):
            context.extend_messages(self.source_id, [Message(role="user", contents=[str(known)])])

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: dict[str, Any]) -> None:
        del agent, session, state
        answered = context.response.messages if context.response else ()
        if self._filters.get("known_at") is not None:
            return
        said = [
            {"role": str(message.role), "content": message.text}
            for message in (*context.input_messages, *answered)
            if message.text and message.text.strip()
        ]
        if said:
            await asyncio.to_thread(self._conversation.add_messages, said)
