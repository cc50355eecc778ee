"""Sessions of OpenAI Agents on a memory: items to the letter, undo, and what is learned from them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perdure import Memory
from perdure.errors import InvalidInput

pytest.importorskip("agents.memory", reason="`make test-adapters` has OpenAI Agents")

from agents import SessionSettings
from agents.memory import Session

from perdure.adapters.openai_agents import PerdureSession

ITEMS: list[Any] = [
    {"role": "user", "content": "I live in Porto"},
    {"type": "reasoning", "id": "rs_1", "summary": []},
    {"type": "function_call", "call_id": "c1", "name": "weather", "arguments": '{"city": "Porto"}', "id": "fc_1"},
    {"type": "function_call_output", "call_id": "c1", "output": "sunny"},
    {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "It is sunny."}]},
]


def test_items_come_back_to_the_letter_and_clearing_can_be_undone(memory: Memory):
    async def run() -> None:
        session, other = PerdureSession("s1", memory), PerdureSession("s2", memory)
        assert isinstance(session, Session)
        await session.add_items(ITEMS)
        await other.add_items([{"role": "user", "content": "I live in Oslo"}])
        assert await session.get_items() == ITEMS
        assert await session.get_items(2) == ITEMS[-2:]
        assert await session.get_items(0) == []
        then = memory.list(limit=1).records[0].updated_at
        assert await session.pop_item() == ITEMS[-1]
        await session.clear_session()
        past = PerdureSession("s1", memory, known_at=then)
        assert (await past.get_items(), await past.get_items(2)) == (ITEMS, ITEMS[-2:])
        for change in (past.pop_item(), past.clear_session(), past.add_items(ITEMS)):
            with pytest.raises(InvalidInput):
                await change
        assert await session.get_items() == []
        assert await session.pop_item() is None
        assert len(await other.get_items()) == 1
        memory.undo(memory.log(limit=1)[0].change.batch)
        assert await session.get_items() == ITEMS[:-1]

    asyncio.run(run())
    assert memory.recall("where does the user live?", conversation_id="s1")[0].text == "I live in Porto"
    memory.undo(session="monday", force=True)
    assert asyncio.run(PerdureSession("s1", memory).get_items()) == []


def test_an_item_that_metadata_cannot_hold_comes_back_as_well(file_memory: Memory):
    items: list[Any] = [{"role": "user", "content": [{"type": "input_image", "image_url": "data:" + "x" * 90_000}]}]

    async def run() -> None:
        session = PerdureSession("s", file_memory, session_settings=SessionSettings(limit=1))
        await session.add_items(items)
        assert await session.get_items() == items

    asyncio.run(run())


def test_what_others_say_in_the_conversation_is_an_item(file_memory: Memory):
    file_memory.conversation("s").add_message("user", "[1] is a list, and this is a sentence")
    items = asyncio.run(PerdureSession("s", file_memory).get_items())
    assert items == [{"role": "user", "content": "[1] is a list, and this is a sentence"}]


def test_several_tasks_pop_each_item_once(file_memory: Memory):
    async def run() -> list[Any]:
        session = PerdureSession("s", file_memory)
        await session.add_items([{"role": "user", "content": f"note {n}"} for n in range(6)])
        return await asyncio.gather(*(session.pop_item() for _ in range(6)))

    assert len({item["content"] for item in asyncio.run(run())}) == 6


def test_facts_are_learned_from_a_session(file_memory: Memory):
    asyncio.run(PerdureSession("s", file_memory).add_items([{"role": "user", "content": "My name is Ada Lovelace"}]))
    file_memory.conversation("s").end()
    file_memory.work()
    assert any("Ada" in fact.record.text for fact in file_memory.facts())
