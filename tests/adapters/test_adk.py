"""The memory service of Google ADK on a memory: it knows what the service in ADK's own package knows."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure import Memory
from perdure.errors import InvalidInput

pytest.importorskip("google.adk.memory", reason="`make test-adapters` has Google ADK")

from google.adk.events.event import Event
from google.adk.memory.in_memory_memory_service import InMemoryMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.sessions.session import Session
from google.genai import types

from perdure.adapters.adk import PerdureMemoryService

WHO = {"app_name": "shop", "user_id": "alice"}
WORDS = ["ferry", "harbour", "violin", "granite", "lantern"]


def event(id: str, text: str) -> Event:
    return Event(
        id=id, author="user", timestamp=1.7e9, content=types.Content(role="user", parts=[types.Part(text=text)])
    )


def session(events: list[Event], user: str = "alice", id: str = "s1") -> Session:
    return Session(id=id, app_name="shop", user_id=user, events=events)


# Each session is a list of words that only grows; an event is one word.
step = st.one_of(
    st.tuples(st.just("grow"), st.sampled_from(["alice", "bob"]), st.sampled_from(WORDS)),
    st.tuples(st.just("add"), st.sampled_from(["alice", "bob"]), st.just("")),
    st.tuples(st.just("delete"), st.sampled_from(["alice", "bob"]), st.integers(0, 9).map(str)),
)


@settings(max_examples=40)
@given(steps=st.lists(step, max_size=20), asked=st.sampled_from(WORDS))
def test_the_same_events_are_known_however_often_a_session_is_added(steps: list[tuple[str, str, str]], asked: str):
    async def run() -> None:
        with Memory(":memory:", embedder="none") as memory:
            services = [InMemoryMemoryService(), PerdureMemoryService(memory, min_relevance=0.01, limit=50)]
            said: dict[str, list[Event]] = {"alice": [], "bob": []}
            for what, user, about in steps:
                if what == "grow" and len(said[user]) < 9:
                    said[user].append(event(f"{user}-{len(said[user])}", f"The {about} of {user}"))
                for service in services if what == "add" else ():
                    await service.add_session_to_memory(session(said[user], user))
                for service in services if what == "delete" else ():
                    await service.delete_memory(app_name="shop", user_id=user, memory_id=f"{user}-{about}")
            for user in said:
                theirs, ours = [
                    {m.id for m in (await s.search_memory(app_name="shop", user_id=user, query=asked)).memories}
                    for s in services
                ]
                assert ours == theirs

    asyncio.run(run())


def test_what_was_said_is_found_by_meaning_and_taken_back(memory: Memory):
    service = PerdureMemoryService(memory)

    async def run() -> None:
        told = [event("1", "I live in Porto"), event("2", "My dog is called Rex")]
        await service.add_session_to_memory(session(told))
        await service.add_session_to_memory(session([*told, Event(id="3", author="model")]))
        found = (await service.search_memory(**WHO, query="where does the user live?")).memories
        assert (found[0].id, found[0].author, found[0].content) == ("1", "user", told[0].content)
        assert (await service.search_memory(app_name="shop", user_id="bob", query="Porto")).memories == []
        assert (await service.search_memory(**WHO, query="")).memories == []
        then = memory.list(limit=1).records[0].updated_at
        await service.delete_memory(**WHO, memory_id="1")
        await service.delete_memory(**WHO)
        await service.add_session_to_memory(session(told))
        assert (await service.search_memory(**WHO, query="Porto")).memories == []
        past = PerdureMemoryService(memory, known_at=then)
        assert [m.id for m in (await past.search_memory(**WHO, query="Porto")).memories] == ["1"]
        with pytest.raises(InvalidInput):
            await past.delete_memory(**WHO, memory_id="1")

    asyncio.run(run())
    assert len(memory.list()) == 1
    memory.undo(session="monday", force=True)
    assert len(memory.list()) == 0


def test_an_event_that_says_something_else_now_is_a_new_version(file_memory: Memory):
    service = PerdureMemoryService(file_memory)

    async def run() -> Any:
        await service.add_session_to_memory(session([event("1", "I live in Por")]))
        await service.add_session_to_memory(session([event("1", "I live in Porto")]))
        await service.delete_memory(**WHO, memory_id="1")
        await service.add_session_to_memory(session([event("1", "I live in Porto now")]))
        return (await service.search_memory(**WHO, query="Porto")).memories

    assert asyncio.run(run()) == []
    assert len(file_memory.versions(1)) == 2


def test_an_event_that_metadata_cannot_hold_keeps_its_words_and_its_role(file_memory: Memory):
    service = PerdureMemoryService(file_memory)
    told = event("1", "The ferry leaves at noon. " + "Bring a coat. " * 5000)

    async def run() -> Any:
        await service.add_session_to_memory(session([told]))
        return (await service.search_memory(**WHO, query="ferry")).memories[0]

    assert told.content
    assert told.content.parts
    told.content.parts[0].text = str(told.content.parts[0].text).strip()
    assert asyncio.run(run()).content == told.content


def test_memories_are_added_directly_with_their_metadata(file_memory: Memory):
    service = PerdureMemoryService(file_memory)
    entry = MemoryEntry(content=types.Content(parts=[types.Part(text="The ferry leaves at noon")]))

    async def run() -> Any:
        await service.add_memory(**WHO, memories=[entry], custom_metadata={"trip": 7})
        return (await service.search_memory(**WHO, query="ferry")).memories[0]

    found = asyncio.run(run())
    assert found.custom_metadata == {"trip": 7}
    asyncio.run(service.delete_memory(**WHO, memory_id=found.id))
    assert len(file_memory.list()) == 0


def test_services_yaml_opens_the_store_that_its_uri_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    registry = pytest.importorskip("google.adk.cli.service_registry")
    (tmp_path / "services.yaml").write_text(
        "services:\n  - scheme: perdure\n    type: memory\n    class: perdure.adapters.adk.PerdureMemoryService\n"
    )
    registry.load_services_module(str(tmp_path))
    made = registry.get_service_registry()
    service = made.create_memory_service(f"perdure://{tmp_path}/agent.db", agents_dir=str(tmp_path))
    asyncio.run(service.add_session_to_memory(session([event("1", "I live in Porto")])))
    service.perdure.close()
    with Memory(tmp_path / "agent.db") as memory:
        assert memory.list().records[0].text == "I live in Porto"
