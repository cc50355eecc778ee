"""LlamaIndex: `PerdureMemoryBlock` is a block of its `Memory`: what is said goes into a conversation, and what fits the
last words of the user comes before the model.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

from llama_index.core.memory import BaseMemoryBlock

from perdure.memory import Memory

if TYPE_CHECKING:
    from llama_index.core.llms import ChatMessage

_USER = "user"


class PerdureMemoryBlock(BaseMemoryBlock[str]):
    """A block of text with what a memory knows, at most `budget` tokens of it. The memory is the field `perdure`. With
    `known_at` it tells what was known at that time, and stores nothing.
    """

    name: str = "perdure"
    perdure: Any
    conversation_id: str = "llama-index"
    budget: int = 1000
    known_at: Any = None

    async def _aget(self, messages: list[ChatMessage] | None = None, **block_kwargs: Any) -> str:
        del block_kwargs
        asked = [message.content for message in messages or () if message.role.value == _USER and message.content]
        memory: Memory = self.perdure
        if not asked:
            return ""
        return str(await asyncio.to_thread(memory.context, asked[-1], budget=self.budget, known_at=self.known_at))

    async def _aput(self, messages: list[ChatMessage]) -> None:
        said = [{"role": each.role.value, "content": each.content} for each in messages if (each.content or "").strip()]
        memory: Memory = self.perdure
        if said and self.known_at is None:
            await asyncio.to_thread(memory.conversation(self.conversation_id).add_messages, said)
