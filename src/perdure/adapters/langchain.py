"""LangChain: a history of messages, a retriever, and embeddings of LangChain for a memory."""

from __future__ import annotations

import asyncio
import json
from typing import TYPE_CHECKING, Any, cast

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage, HumanMessage, message_to_dict, messages_from_dict
from langchain_core.retrievers import BaseRetriever

from perdure.adapters.documents import Moment, messages_at, require_present
from perdure.bank.framework_documents import fits_metadata
from perdure.embed.port import Generation, Progress
from perdure.errors import EmbedderUnavailable
from perdure.memory import Memory
from perdure.model import Record

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from langchain_core.callbacks import AsyncCallbackManagerForRetrieverRun, CallbackManagerForRetrieverRun
    from langchain_core.embeddings import Embeddings

    from perdure.embed.port import Vectors

# Entries of metadata: the message as LangChain writes it, or that the text of ours is its JSON.
_MESSAGE = "langchain"
_AS_TEXT = "langchain_as_text"


class PerdureChatMessageHistory(BaseChatMessageHistory):
    """The messages of `memory.conversation(session_id)`. The memory is the attribute `perdure`. With `known_at`
    they are what they were at that time, for reading alone.
    """

    def __init__(self, session_id: str, memory: Memory, *, known_at: Moment = None) -> None:
        self.perdure = memory
        self._conversation = memory.conversation(session_id)
        self._known_at = known_at

    @property
    def messages(self) -> list[BaseMessage]:  # pyright: ignore[reportIncompatibleVariableOverride] - as in their own histories
        return [_message(record) for record in messages_at(self.perdure, self._conversation.id, self._known_at)]

    def add_messages(self, messages: Sequence[BaseMessage]) -> None:
        """Store messages in their order, all or none."""
        require_present(self._known_at)
        if messages:
            self._conversation.add_messages([_stored(message) for message in messages])

    def clear(self) -> None:
        """Forget every message, softly: undo brings them back."""
        require_present(self._known_at)
        numbers = [record.number for record in self._conversation.messages()]
        if numbers:
            self.perdure.forget(numbers, confirm=True)

    async def aget_messages(self) -> list[BaseMessage]:
        return await asyncio.to_thread(lambda: self.messages)

    async def aadd_messages(self, messages: Sequence[BaseMessage]) -> None:
        await asyncio.to_thread(self.add_messages, messages)

    async def aclear(self) -> None:
        await asyncio.to_thread(self.clear)


class PerdureRetriever(BaseRetriever):
    """What a memory recalls, as documents. `filters` are further arguments of `Memory.recall`, such as `tags` or
    `known_at`.
    """

    perdure: Any
    limit: int = 5
    filters: dict[str, Any] = {}  # noqa: RUF012 - a model of pydantic copies it

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:  # noqa: ARG002 - nothing is reported
        return self._recalled(query)

    async def _aget_relevant_documents(
        self,
        query: str,
        *,
        run_manager: AsyncCallbackManagerForRetrieverRun,  # noqa: ARG002
    ) -> list[Document]:
        return await asyncio.to_thread(self._recalled, query)

    def _recalled(self, query: str) -> list[Document]:
        memory: Memory = self.perdure
        found = memory.recall(query, limit=self.limit, **self.filters)
        return [
            Document(
                id=hit.record.id,
                page_content=hit.text,
                metadata={**hit.record.metadata, "number": hit.record.number, "relevance": hit.relevance},
            )
            for hit in found
        ]


class LangChainEmbedder:
    """The embedder of a memory, of embeddings of LangChain: `Memory("agent.db", embedder=LangChainEmbedder(…))`.

    `model` names the vectors in the store: give another name to another model, so that theirs are never compared.
    """

    def __init__(self, embeddings: Embeddings, model: str) -> None:
        self._embeddings = embeddings
        self._model = model
        self._dimensions: int | None = None

    @property
    def generation(self) -> Generation:
        if self._dimensions is None:
            self._dimensions = len(self.embed_query("dimensions"))
        return Generation("langchain", self._model, self._dimensions, "1")

    def embed_query(self, text: str) -> Vectors:
        return self._vectors(lambda: self._embeddings.embed_query(text))

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        vectors = self._vectors(lambda: self._embeddings.embed_documents(list(texts)))
        if progress:
            progress(len(texts), len(texts))
        return vectors

    def _vectors(self, ask: Callable[[], object]) -> Vectors:
        import numpy as np

        try:
            return np.asarray(ask(), dtype=np.float32)
        except Exception as error:
            raise EmbedderUnavailable(f"{self._model} gave no vectors: {error}") from error


def _stored(message: BaseMessage) -> dict[str, Any]:
    """A message as ours: what it says, and in its metadata what LangChain writes of it, as far as that fits."""
    written = message_to_dict(message)
    text = str(message.text)
    stored = {"role": {"human": "user", "ai": "assistant"}.get(message.type, message.type)}
    if fits_metadata(written):
        told = text if text.strip() else f"({message.type} without text)"
        return {**stored, "content": told, "metadata": {_MESSAGE: written}}
    rest = {**written, "data": {name: value for name, value in written["data"].items() if name != "content"}}
    if text == written["data"]["content"] and text.strip() and fits_metadata(rest):
        return {**stored, "content": text, "metadata": {_MESSAGE: rest}}
    return {**stored, "content": json.dumps(written), "metadata": {_AS_TEXT: True}}


def _message(record: Record) -> BaseMessage:
    written: Any = json.loads(record.text) if _AS_TEXT in record.metadata else record.metadata.get(_MESSAGE)
    if isinstance(written, dict):
        whole = cast("dict[str, Any]", written)
        return messages_from_dict([{**whole, "data": {"content": record.text, **whole["data"]}}])[0]
    # What others said in this conversation is a message as well.
    role = record.metadata.get("role")
    kinds = {"assistant": "ai", "system": "system"}
    kind = kinds.get(role) if isinstance(role, str) else None
    if kind is None:
        return HumanMessage(record.text)
    return messages_from_dict([{"type": kind, "data": {"content": record.text}}])[0]
