"""A block of LlamaIndex and a context provider of Microsoft's framework: what one run said, the next one is told."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from perdure import Memory


def test_a_block_tells_what_was_said_and_undo_takes_it_back(memory: Memory):
    llms = pytest.importorskip("llama_index.core.llms", reason="`make test-adapters` has LlamaIndex")
    from perdure.adapters.llama_index import PerdureMemoryBlock

    block = PerdureMemoryBlock(perdure=memory)
    said = [llms.ChatMessage("I live in Porto", role="user"), llms.ChatMessage("", role="assistant")]
    asked = [llms.ChatMessage("Where do I live?", role="user")]
    asyncio.run(block.aput(said))
    assert "I live in Porto" in asyncio.run(block.aget(asked))
    assert asyncio.run(block.aget([])) == ""
    past = PerdureMemoryBlock(perdure=memory, known_at=memory.list(limit=1).records[0].updated_at)
    memory.undo(session="monday")
    assert asyncio.run(block.aget(asked)) == ""
    asyncio.run(past.aput(said))
    assert "I live in Porto" in asyncio.run(past.aget(asked))
    assert not memory.list()


def test_a_provider_tells_what_was_said_in_its_own_conversation_alone(memory: Memory):
    framework = pytest.importorskip("agent_framework", reason="`make test-adapters` has Agent Framework")
    from perdure.adapters.agent_framework import PerdureContextProvider

    def message(text: str, role: str = "user") -> Any:
        return framework.Message(role=role, contents=[text])

    def run(provider: PerdureContextProvider, text: str, answer: str) -> str:
        told: list[Any] = []
        context = SimpleNamespace(
            input_messages=[message(text)],
            response=SimpleNamespace(messages=[message(answer, "assistant")]),
            extend_messages=lambda _, messages: told.extend(messages),
        )
        whole: dict[str, Any] = {"agent": None, "session": None, "context": context, "state": {}}
        asyncio.run(provider.before_run(**whole))
        asyncio.run(provider.after_run(**whole))
        return "\n".join(each.text for each in told)

    alice, bob = PerdureContextProvider(memory, "alice"), PerdureContextProvider(memory, "bob")
    run(alice, "I live in Porto", "A fine city.")
    assert "I live in Porto" in run(alice, "Where do I live?", "In Porto.")
    assert "Porto" not in run(bob, "Where do I live?", "I do not know.")
