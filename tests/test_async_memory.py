"""`AsyncMemory` has the verbs of `Memory` as coroutines; `tools.bind` has functions that frameworks can describe."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from perdure import AsyncMemory, Memory, tools
from perdure.async_memory import AsyncConversation
from perdure.episodes.conversation import Conversation

# They wait for nothing, so they are no coroutines.
SYNCHRONOUS = {"actor", "batch", "conversation", "id", "namespace", "writing_as"}
# What only an `AsyncMemory` has.
OWN = {"open", "call"}


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "agent.db", embedder="none") as memory:
        yield memory


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


@pytest.mark.parametrize(("local", "own"), [(Memory, AsyncMemory), (Conversation, AsyncConversation)])
def test_every_verb_of_a_memory_is_a_coroutine_with_the_same_arguments(local: type, own: type):
    assert public(own) - OWN - {"id"} == public(local)
    for name in public(local) - SYNCHRONOUS - {"doctor"}:
        verb = getattr(own, name)
        assert inspect.iscoroutinefunction(verb), name
        assert inspect.signature(verb) == inspect.signature(getattr(local, name)), name
        assert verb.__doc__ == getattr(local, name).__doc__


def test_an_async_memory_remembers_and_takes_back(tmp_path: Path):
    async def life() -> tuple[list[str], list[str], str]:
        async with await AsyncMemory.open(tmp_path / "agent.db", embedder="none", session="monday") as memory:
            with memory.batch() as batch:
                await memory.remember("The venue is booked")
                await memory.namespace("other").remember("The cake is ordered")
            await memory.conversation("trip").add_message("user", "I live in Porto")
            kept = [record.text for record in (await memory.list()).records]
            assert [each.text for each in await memory.conversation("trip").messages()] == ["I live in Porto"]
            assert {finding.level for finding in await memory.doctor()} <= {"ok", "note"}
            await memory.undo(batch, all_namespaces=True)
            left = [record.text for record in (await memory.list()).records]
            as_model = memory.writing_as("bot", writer="model")
            assert as_model.actor == "bot"
            assert await as_model.call(lambda local: local.actor) == "bot"
            return kept, left, repr(memory)

    kept, left, shown = asyncio.run(life())
    assert kept == ["I live in Porto", "The venue is booked"]
    assert left == ["I live in Porto"]
    assert shown.startswith("<AsyncMemory 'default' in")


def test_the_event_loop_goes_on_while_a_verb_runs(memory: Memory):
    """The verb waits for what only the loop can do."""

    async def both() -> str:
        going_on = asyncio.Event()
        loop = asyncio.get_running_loop()

        def verb(local: Memory) -> str:
            asyncio.run_coroutine_threadsafe(going_on.wait(), loop).result(timeout=10)
            return local.remember("done").record.text

        writing = asyncio.create_task(AsyncMemory(memory).call(verb))
        await asyncio.sleep(0)
        going_on.set()
        return await writing

    assert asyncio.run(both()) == "done"


def test_bound_tools_have_the_names_arguments_and_words_that_a_framework_reads(memory: Memory):
    for bound, tool in zip(tools.bind(memory), tools.TOOLS, strict=True):
        arguments = inspect.signature(bound).parameters
        assert ["memory", *arguments] == list(inspect.signature(tool).parameters)
        # Types, not the names of types: a framework cannot know where to look these up.
        hints = get_type_hints(bound)
        assert {name: each.annotation for name, each in arguments.items()} == {
            name: hint for name, hint in hints.items() if name != "return"
        }
        assert (bound.__name__, bound.__doc__) == (tool.__name__, tool.__doc__)
        # From Python 3.13 on, a docstring is kept without the indentation of its function.
        assert all(f"\n    {name}: " in inspect.cleandoc(bound.__doc__ or "") for name in arguments)


def test_bound_tools_write_and_find_and_refuse_in_words(memory: Memory):
    remember, recall, recall_detail = tools.bind(memory)
    assert remember(text="The ferry leaves at noon") == "Remembered as #1."
    assert "The ferry leaves at noon" in recall("ferry", limit=2)
    assert "The ferry leaves at noon" in recall_detail([1])
    assert recall_detail(numbers=7).startswith("Not done: ")


def test_tools_of_an_async_memory_are_coroutine_functions(memory: Memory):
    bound: list[Any] = tools.bind(AsyncMemory(memory))
    assert all(map(inspect.iscoroutinefunction, bound))
    assert asyncio.run(bound[0]("The ferry leaves at noon")) == "Remembered as #1."
