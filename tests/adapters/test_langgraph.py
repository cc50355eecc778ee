"""A LangGraph store on a memory: keys, search, expiry, undo and the past; and LangMem's tools on it."""

from __future__ import annotations

import asyncio
from pathlib import Path
from threading import Event
from typing import Any

import pytest
from bank import products
from clocks import NOON, HandClock

from perdure import Memory
from perdure.bank.sections import ImportOptions
from perdure.bank.sources import import_source, recognise
from perdure.errors import InvalidInput

pytest.importorskip("langgraph.store.base", reason="`make test-adapters` has LangGraph")

from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp

from perdure.adapters.langgraph import PerdureStore

USERS = ("users", "alice")


def test_items_are_kept_by_key_found_by_meaning_and_taken_back(memory: Memory):
    store = PerdureStore(memory, min_relevance=0.25)
    store.put(USERS, "theme", {"text": "Alice prefers dark mode"})
    store.put(USERS, "pet", {"text": "Her dog is called Rex", "age": 3})
    store.put(("users", "bob"), "theme", {"text": "Bob prefers light mode"})
    then = memory.list(limit=1).records[0].updated_at
    store.put(USERS, "theme", {"text": "Alice prefers light mode"})
    assert store.get(USERS, "pet").value == {"text": "Her dog is called Rex", "age": 3}
    assert [item.key for item in store.search(USERS, query="what is the name of the animal?", limit=1)] == ["pet"]
    assert store.search(USERS, filter={"age": {"$gte": 3}})[0].key == "pet"
    assert store.list_namespaces(prefix=("users",)) == [("users", "alice"), ("users", "bob")]
    past = PerdureStore(memory, known_at=then)
    assert past.get(USERS, "theme").value == {"text": "Alice prefers dark mode"}
    with pytest.raises(InvalidInput):
        past.delete(USERS, "pet")
    store.delete(USERS, "pet")
    assert store.get(USERS, "pet") is None
    memory.undo(session="monday")
    assert store.search(()) == []


def test_an_event_loop_uses_the_same_store(memory: Memory):
    store = PerdureStore(memory)

    async def both() -> tuple[Any, ...]:
        await asyncio.gather(*(store.aput(USERS, f"k{n}", {"text": f"note {n}"}) for n in range(4)))
        found = await store.asearch(USERS, query="note 2", limit=1)
        return found[0].key, len(await store.asearch(USERS)), (await store.aget(USERS, "k3")).value

    assert asyncio.run(both()) == ("k2", 4, {"text": "note 3"})


def test_reads_of_a_batch_see_what_was_there_before_its_puts_and_the_last_put_counts(file_memory: Memory):
    store = PerdureStore(file_memory)
    store.put(USERS, "k", {"n": 1})
    answers = store.batch(
        [PutOp(USERS, "k", {"n": 2}), GetOp(USERS, "k"), PutOp(USERS, "k", {"n": 3}), SearchOp(("users",))]
    )
    assert answers[1].value == {"n": 1}
    assert [item.value for item in answers[3]] == [{"n": 1}]
    assert store.get(USERS, "k").value == {"n": 3}
    assert len(file_memory.versions("langgraph:" + '["users", "alice", "k"]')) == 2


def test_labels_are_checked_also_where_operations_are_given_as_a_batch(file_memory: Memory):
    store = PerdureStore(file_memory)
    store.put(("foo", "bar"), "k", {"n": 1})
    with pytest.raises(InvalidNamespaceError):
        store.put(("foo.bar",), "k", {"n": 2})
    assert store.search(("foo", "b")) == []


def test_what_is_not_searchable_is_found_by_key_alone(file_memory: Memory):
    store = PerdureStore(file_memory, fields=["title"])
    store.put(USERS, "secret", {"title": "ferry", "body": "noon"}, index=False)
    store.put(USERS, "open", {"title": "ferry", "body": "midnight"})
    assert [item.key for item in store.search(USERS, query="ferry")] == ["open"]
    assert len(store.search(USERS)) == 2
    assert file_memory.recall("midnight").hits == ()


def test_values_of_any_size_and_depth_come_back_as_they_were(file_memory: Memory):
    store = PerdureStore(file_memory)
    deep: Any = "end"
    for _ in range(40):
        deep = {"in": deep}
    values = [{"list": list(range(20_000))}, {"deep": deep}, {"nul": "a\x00b", "half": "\ud83d"}, {}, {"": None}]
    for number, value in enumerate(values):
        store.put(USERS, str(number), value)
    assert [store.get(USERS, str(number)).value for number in range(len(values))] == values


def test_what_has_a_time_to_live_is_gone_after_it_and_reading_begins_it_again(tmp_path: Path):
    clock = HandClock(NOON)
    with Memory(tmp_path / "m.db", embedder="none", clock=clock) as memory:
        store = PerdureStore(memory, ttl={"default_ttl": 10, "refresh_on_read": True})
        store.put(USERS, "read", {"n": 1})
        store.put(USERS, "left", {"n": 2})
        clock.forward(minutes=8)
        assert store.get(USERS, "read") is not None
        clock.forward(minutes=8)
        assert store.get(USERS, "left", refresh_ttl=False) is None
        assert [item.key for item in store.search(USERS, refresh_ttl=False)] == ["read"]
        assert store.sweep_ttl() == 1


def test_a_sweeper_takes_out_what_has_expired_until_it_is_stopped(tmp_path: Path):
    swept = Event()

    class Watched(PerdureStore):
        def sweep_ttl(self) -> int:
            expired = super().sweep_ttl()
            if expired:
                swept.set()
            return expired

    clock = HandClock(NOON)
    with Memory(tmp_path / "m.db", embedder="none", clock=clock) as memory:
        store = Watched(memory, ttl={"sweep_interval_minutes": 60})
        store.put(USERS, "short", {"n": 1}, ttl=1)
        clock.forward(minutes=2)
        assert store.stop_ttl_sweeper()
        waiting = store.start_ttl_sweeper()
        ended = store.start_ttl_sweeper(0.0001)
        assert waiting.done()
        assert swept.wait(60)
        assert memory.log(limit=1)[0].change.operation == "expire"
        assert store.stop_ttl_sweeper(60)
        assert ended.done()


def test_the_tools_of_langmem_write_and_search_here(memory: Memory):
    langmem = pytest.importorskip("langmem")
    store = PerdureStore(memory)
    manage = langmem.create_manage_memory_tool(namespace=("memories",), store=store)
    search = langmem.create_search_memory_tool(namespace=("memories",), store=store)
    manage.invoke({"content": "Alice prefers dark mode", "action": "create"})
    assert "dark mode" in str(search.invoke({"query": "which theme?"}))
    assert memory.recall("dark mode")[0].record.source == "langgraph"


def test_the_table_of_another_store_is_found_here_after_an_import(memory: Memory, tmp_path: Path):
    path = products.langgraph_database(tmp_path / "store.db")
    store = PerdureStore(memory)
    store.put(("users", "bo"), "pet", {"text": "A dog"})
    memory.upsert("langgraph:note", "Somebody gave this key by hand")
    import_source(memory, recognise(path), ImportOptions())
    home = store.get(("users", "bo"), "home")
    assert home
    assert (home.value, home.created_at.isoformat()) == (
        {"content": "Bo lives in Osaka", "kind": "fact"}, "2026-03-01T09:00:00+00:00",
    )  # fmt: skip
    assert [item.key for item in store.search(("users",), filter={"shoe": {"$gt": 43}})] == ["sizes"]
    assert store.search((), query="who lives in Osaka?", limit=1)[0].key == "home"
    assert {item.key for item in store.search(())} == {"pet", "home", "sizes"}
    assert store.list_namespaces() == [("users", "bo")]
    store.put(("users", "bo"), "home", {"content": "Bo lives in Kyoto"})
    assert len(memory.versions(memory.get('langgraph:["users", "bo", "home"]').number)) == 2
