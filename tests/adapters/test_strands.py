"""A store of Strands on a memory: what is said once is stored once, found by the next search, and taken back."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perdure import Memory
from perdure.errors import InvalidInput

types = pytest.importorskip("strands.memory.types", reason="`make test-adapters` has Strands")

from strands.memory import MemoryManager

from perdure.adapters.strands import PerdureStrandsStore


def said(*texts: str) -> list[Any]:
    return [{"role": "user", "content": [{"text": text}]} for text in texts]


def test_messages_are_found_by_the_next_search_and_taken_back(memory: Memory):
    store = PerdureStrandsStore(memory)
    MemoryManager(stores=[store])

    async def run() -> None:
        await store.initialize()
        context = types.AddMessagesContext([0, 2])
        assert await store.add_messages(said("I live in Porto", "ok"), context) == 2
        assert await store.add_messages(said("I live in Porto", "ok"), context) == 0
        found = await store.search("where does the user live?", {"max_search_results": 1})
        assert [entry.content for entry in found] == ["I live in Porto"]
        then = memory.list(limit=1).records[0].created_at
        await store.add("The ferry leaves at noon", {"trip": 7})
        assert (await store.search("when does the ferry leave?"))[0].content == "The ferry leaves at noon"
        past = PerdureStrandsStore(memory, known_at=then)
        assert (await past.search("ferry"), past.writable) == ([], False)
        for change in (past.add("x"), past.add_messages(said("x"))):
            with pytest.raises(InvalidInput):
                await change
        assert await store.search(" ") == []

    asyncio.run(run())
    memory.undo(session="monday")
    assert asyncio.run(store.search("where does the user live?")) == []


def test_numbers_that_begin_again_are_of_another_run(file_memory: Memory):
    store = PerdureStrandsStore(file_memory)

    async def run() -> list[int]:
        batches = [("hi", 0), ("hi", 0), ("ok", 1), ("hi", 0), ("ok", 1), ("ok", 1)]
        return [await store.add_messages(said(text), types.AddMessagesContext([n])) for text, n in batches]

    assert asyncio.run(run()) == [1, 0, 1, 1, 1, 0]


def test_what_tools_said_and_what_has_no_number_is_stored_as_it_comes(file_memory: Memory):
    store = PerdureStrandsStore(file_memory)
    tool: Any = [{"role": "user", "content": [{"toolResult": {"status": "success", "content": []}}]}]

    async def run() -> list[int]:
        return [await store.add_messages(each) for each in (tool, said("hi"), said("hi"))]

    assert asyncio.run(run()) == [0, 1, 1]
