"""A history and a retriever of LangChain on a memory."""

from __future__ import annotations

import asyncio

import pytest

from perdure import Memory
from perdure.errors import InvalidInput

pytest.importorskip("langchain_core.chat_history", reason="`make test-adapters` has LangChain")

from langchain_core.embeddings import DeterministicFakeEmbedding
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from perdure.adapters.langchain import LangChainEmbedder, PerdureChatMessageHistory, PerdureRetriever

MESSAGES = [
    SystemMessage("Be kind"),
    HumanMessage("I live in Porto"),
    AIMessage("", tool_calls=[{"name": "weather", "args": {"city": "Porto"}, "id": "c1", "type": "tool_call"}]),
    ToolMessage("sunny", tool_call_id="c1"),
    AIMessage("It is sunny."),
]


def test_messages_come_back_as_they_were_and_clearing_can_be_undone(memory: Memory):
    history = PerdureChatMessageHistory("alice", memory)
    history.add_messages(MESSAGES)
    assert history.messages == MESSAGES
    then = memory.list(limit=1).records[0].updated_at
    found = PerdureRetriever(perdure=memory, limit=1).invoke("where does the user live?")
    assert [document.page_content for document in found] == ["I live in Porto"]
    history.clear()
    history.clear()
    assert history.messages == []
    past = PerdureChatMessageHistory("alice", memory, known_at=then)
    assert past.messages == MESSAGES
    for change in (past.clear, lambda: past.add_messages(MESSAGES)):
        with pytest.raises(InvalidInput):
            change()
    memory.undo(memory.log(limit=1)[0].change.batch)
    assert history.messages == MESSAGES


def test_messages_that_metadata_cannot_hold_come_back_as_well(file_memory: Memory):
    history = PerdureChatMessageHistory("alice", file_memory)
    calls = [{"name": "weather", "args": {"city": "Porto"}, "id": "c1", "type": "tool_call"}]
    large: list[BaseMessage] = [
        AIMessage("A long answer. " * 5000, id="a1", tool_calls=calls),
        ToolMessage("sunny " * 20_000, tool_call_id="c1"),
        HumanMessage([{"type": "image_url", "image_url": {"url": "data:" + "x" * 90_000}}]),
        AIMessage("", tool_calls=[{**calls[0], "args": {"city": "Porto " * 20_000}}]),
    ]
    history.add_messages(large)
    assert history.messages == large


def test_an_event_loop_uses_the_same_history(file_memory: Memory):
    history = PerdureChatMessageHistory("alice", file_memory)
    file_memory.conversation("alice").add_message("assistant", "Hello")
    file_memory.conversation("alice").add_message("user", "Hi")

    async def run() -> None:
        assert await history.aget_messages() == [AIMessage("Hello"), HumanMessage("Hi")]
        await history.aadd_messages([HumanMessage("The ferry leaves at noon")])
        found = await PerdureRetriever(perdure=file_memory).ainvoke("ferry")
        assert found[0].metadata["number"] == 3
        await history.aclear()

    asyncio.run(run())
    assert history.messages == []


def test_embeddings_of_langchain_are_an_embedder():
    embedder = LangChainEmbedder(DeterministicFakeEmbedding(size=8), "fake")
    with Memory(":memory:", embedder=embedder) as memory:
        memory.remember("The ferry leaves at noon")
        assert memory.recall("The ferry leaves at noon")[0].explain["vector"].raw > 0.99
        assert embedder.generation.name == "langchain/fake/8/1"
