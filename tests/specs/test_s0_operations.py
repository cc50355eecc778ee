"""S0, the operations, each by what it does and what it returns."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING

import pytest

from perdure import SemanticMemoryStore, errors
from perdure.clock import format_time
from perdure.semantic import Matches

if TYPE_CHECKING:
    from clocks import HandClock

NEW_YORK = "location:new_york"


def contents(found: object) -> list[str]:
    return [item.content for item in found]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportUnknownMemberType]


# -- memorize ------------------------------------------------------------------------------------------------------


def test_memorize_updates_an_item_with_the_same_key(store: SemanticMemoryStore):
    """S0 memorize known: if an item with the same key exists, it gets a new version."""
    first = store.memorize({"key": NEW_YORK, "text": "one"})
    second = store.memorize("two", {"key": NEW_YORK})
    assert (second.item_id, second.version) == (first.item_id, 2)


def test_memorize_inserts_a_new_item(store: SemanticMemoryStore):
    """S0 memorize new: if the item is new, it is inserted."""
    assert store.memorize("one").version == 1
    assert store.memorize("two").version == 1
    assert store.get_capacity_info().item_count == 2


def test_memorize_increments_the_version(store: SemanticMemoryStore):
    """S0 memorize version: increments the version number."""
    assert [store.memorize(text, {"key": NEW_YORK}).version for text in ("a", "b", "c")] == [1, 2, 3]


def test_memorize_records_the_lineage(store: SemanticMemoryStore):
    """S0 memorize lineage: records lineage."""
    assert [store.memorize(text, {"key": NEW_YORK}).lineage for text in ("a", "b", "c")] == [(), (1,), (1, 2)]


def test_memorize_counts_as_access(store: SemanticMemoryStore, clock: HandClock):
    """S0 memorize access: updates the access timestamp, also of an item without a key that is said again."""
    for metadata in ({}, {"key": NEW_YORK}):
        store.memorize("the same words", metadata)
        said_again = clock.forward(days=2)
        done = store.memorize("the same words", metadata)
        assert store.get_version(done.item_id, done.version).item.accessed_at == said_again


def test_memorize_confirms(store: SemanticMemoryStore):
    """S0 memorize returns confirmation: and what was confirmed is there; what was refused is not."""
    assert store.memorize("one").confirmed is True
    with pytest.raises(errors.InvalidInput):
        store.memorize("")
    assert contents(store.remember("one")) == ["one"]


def test_memorize_returns_the_id(store: SemanticMemoryStore):
    """S0 memorize returns id: by which the item is read."""
    done = store.memorize("one")
    assert store.get_version(done.item_id, 1).item.content == "one"


def test_memorize_returns_the_version(store: SemanticMemoryStore):
    """S0 memorize returns version: the one that was just made."""
    store.memorize("one", {"key": NEW_YORK})
    done = store.memorize("two", {"key": NEW_YORK})
    assert store.get_version(done.item_id, done.version).item.content == "two"


def test_memorize_returns_what_was_evicted(clock: HandClock):
    """S0 memorize returns eviction: the items that went, if any."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=1) as store:
        assert store.memorize("one").evicted == ()
        clock.forward(hours=1)
        assert contents(store.memorize("two").evicted) == ["one"]


# -- remember ------------------------------------------------------------------------------------------------------


def test_remember_searches_by_both(store: SemanticMemoryStore):
    """S0 remember search: hybrid search for relevance to the prompt."""
    store.memorize("Alice prefers dark mode")
    assert store.remember("dark mode").mode == "hybrid"


def test_remember_filters(store: SemanticMemoryStore):
    """S0 remember filters: by tags, source, and so on; any other name is an entry that was memorized with the item."""
    store.memorize("Alice prefers dark mode", {"tags": ["ui"], "category": "preference"})
    store.memorize("Alice prefers dark bread", {"source": "chat"})
    assert contents(store.remember("Alice", {"tags": "ui"})) == ["Alice prefers dark mode"]
    assert contents(store.remember("Alice", {"source": "chat"})) == ["Alice prefers dark bread"]
    assert contents(store.remember("Alice", {"category": "preference"})) == ["Alice prefers dark mode"]
    store.memorize("Alice prefers dark wood", {"colour": "red", "rooms": 3})
    assert contents(store.remember("Alice", {"colour": "red", "rooms": [3, 4]})) == ["Alice prefers dark wood"]
    assert contents(store.remember("Alice", {"colour": "green"})) == []
    with pytest.raises(errors.UnknownChoice):
        store.remember("Alice", {"category": "colours"})


def test_remember_ranks(store: SemanticMemoryStore):
    """S0 remember ranks: items ranked by relevance, as many as asked for."""
    store.memorize("Bob plays chess")
    store.memorize("Alice prefers dark mode in the editor")
    store.memorize("Alice prefers tea")
    found = store.remember("Alice prefers dark mode")
    assert contents(found)[:2] == ["Alice prefers dark mode in the editor", "Alice prefers tea"]
    scores = [item.score or 0 for item in found]
    assert scores == sorted(scores, reverse=True)
    assert len(store.remember("Alice", {"limit": 1})) == 1


def test_remember_tells_versions(store: SemanticMemoryStore):
    """S0 remember version: every item comes with its version and its lineage."""
    store.upsert(NEW_YORK, "New York is in the United States")
    store.upsert(NEW_YORK, "New York is the largest city in the US")
    (item,) = store.remember("New York")
    assert (item.version, item.lineage) == (2, (1,))


def test_remember_returns_items(store: SemanticMemoryStore):
    """S0 remember returns items: a list of matching items, empty when nothing matches."""
    assert list(store.remember("anything")) == []
    store.memorize("Alice prefers dark mode", {"tags": ["ui"], "mood": "calm"})
    found = store.remember("dark mode")
    assert isinstance(found, Matches)
    assert (found[0].content, found[0].tags, found[0].metadata) == (
        "Alice prefers dark mode",
        ("ui",),
        {"mood": "calm"},
    )


# -- forget --------------------------------------------------------------------------------------------------------


def test_forget_by_key(store: SemanticMemoryStore):
    """S0 forget key: key:entity_type:entity_identifier removes that fact and no other."""
    store.upsert(NEW_YORK, "New York is big")
    store.upsert("location:osaka", "Osaka is big")
    done = store.forget(f"key:{NEW_YORK}")
    assert [item.key for item in done.items] == [NEW_YORK]
    assert contents(store.remember("big")) == ["Osaka is big"]


def test_forget_the_oldest(store: SemanticMemoryStore, clock: HandClock):
    """S0 forget oldest: removes the least recently used item, which need not be the first that came."""
    for text in ("first note", "second note", "third note"):
        store.memorize(text)
        clock.forward(hours=1)
    store.remember("first")
    assert contents(store.forget("oldest").items) == ["second note"]


def test_forget_the_least_important(store: SemanticMemoryStore):
    """S0 forget least important: removes the item of the lowest importance."""
    for importance in (0.5, 0.2, 0.8):
        store.memorize(f"a note of {importance}", {"importance": importance})
    assert contents(store.forget("least important").items) == ["a note of 0.2"]


def test_forget_what_was_made_before(store: SemanticMemoryStore, clock: HandClock):
    """S0 forget before: removes the items created before the timestamp, all of them at once."""
    store.memorize("one")
    store.memorize("two")
    moment = clock.forward(days=1)
    store.memorize("three")
    done = store.forget(f"before:{format_time(moment)}")
    assert sorted(contents(done.items)) == ["one", "two"]
    assert (done.confirmed, done.size) == (True, 1)
    assert [record.text for record in store.memory.list()] == ["three"]


def test_forget_understands_sentences(store: SemanticMemoryStore):
    """S0 forget language: natural language is interpreted; what may mean several items is asked back first."""
    store.memorize("The Osaka flat has two rooms")
    store.memorize("The Osaka flat costs 900")
    store.memorize("Bob plays chess")
    asked = store.forget("forget everything about the Osaka flat")
    assert (asked.confirmed, asked.size) == (False, 3)
    assert sorted(contents(asked.items)) == ["The Osaka flat costs 900", "The Osaka flat has two rooms"]
    done = store.forget("forget everything about the Osaka flat", confirm=asked.token)
    assert (done.confirmed, done.size) == (True, 1)
    assert [record.text for record in store.memory.list()] == ["Bob plays chess"]


def test_forget_softly(store: SemanticMemoryStore):
    """S0 forget soft: marks the item as deleted but retains it; this is what happens unless told otherwise."""
    done = store.upsert(NEW_YORK, "New York is big")
    assert store.forget(f"key:{NEW_YORK}").mode == "soft"
    assert store.restore(done.item_id).content == "New York is big"


def test_forget_hard(store: SemanticMemoryStore):
    """S0 forget hard: permanently removes the item and all versions."""
    done = store.upsert(NEW_YORK, "New York is big")
    store.upsert(NEW_YORK, "New York is huge")
    assert store.forget(f"key:{NEW_YORK}", mode="hard").mode == "hard"
    for version in (1, 2):
        with pytest.raises(errors.NotFound):
            store.get_version(done.item_id, version)


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_forget_updates_the_indexes(store: SemanticMemoryStore, mode: str):
    """S0 forget indexes: neither words nor meaning find it any more, nor do lists and counts."""
    store.memorize("Alice prefers dark mode", {"key": "person:alice", "tags": ["ui"]})
    store.memorize("Bob plays chess")
    store.forget("key:person:alice", mode=mode)  # pyright: ignore[reportArgumentType]
    assert contents(store.remember("dark mode")) in ([], ["Bob plays chess"])
    assert contents(store.remember("dark", {"tags": "ui"})) == []
    assert [record.text for record in store.memory.list()] == ["Bob plays chess"]
    assert store.get_capacity_info().item_count == 1
    assert {finding.level for finding in store.memory.doctor()} <= {"ok", "warning"}


def test_forget_confirms(store: SemanticMemoryStore):
    """S0 forget returns confirmation: true when it happened; what is not there is an error."""
    store.upsert(NEW_YORK, "New York is big")
    assert store.forget(f"key:{NEW_YORK}").confirmed is True
    with pytest.raises(errors.PerdureError):
        store.forget("key:location:nowhere")


def test_forget_returns_the_reference(store: SemanticMemoryStore):
    """S0 forget returns reference: of the item that was forgotten."""
    done = store.upsert(NEW_YORK, "New York is big")
    (gone,) = store.forget(f"key:{NEW_YORK}").items
    assert (gone.item_id, gone.key, gone.version) == (done.item_id, NEW_YORK, 1)


def test_forget_returns_the_size(store: SemanticMemoryStore):
    """S0 forget returns size: how many items the store holds now."""
    for number in range(3):
        store.memorize(f"note {number}")
    assert store.forget("oldest").size == 2
    assert store.get_capacity_info().item_count == 2


# -- upsert --------------------------------------------------------------------------------------------------------


def test_upsert_takes_a_key(store: SemanticMemoryStore):
    """S0 upsert key: a semantic identifier in the format type:identifier; another kind of key is refused."""
    assert store.upsert(NEW_YORK, "one").key == NEW_YORK
    with pytest.raises(errors.InvalidInput):
        store.upsert("new york", "one")


def test_upsert_takes_an_item(store: SemanticMemoryStore):
    """S0 upsert item: the fact or knowledge to store, as a text or as a mapping with one."""
    assert store.upsert("a:1", "a fact").version == 1
    done = store.upsert("a:2", {"text": "another fact", "tags": ["x"]})
    assert store.get_version(done.item_id, 1).item.content == "another fact"
    with pytest.raises(errors.InvalidInput):
        store.upsert("a:3", {"tags": ["x"]})


def test_upsert_takes_metadata(store: SemanticMemoryStore):
    """S0 upsert metadata: optional, with tags, source, importance, and whatever else."""
    done = store.upsert(NEW_YORK, "one", {"tags": ["city"], "source": "atlas", "importance": 0.9, "page": 12})
    item = store.get_version(done.item_id, 1).item
    assert (item.tags, item.source, item.importance, item.metadata) == (("city",), "atlas", 0.9, {"page": 12})


def test_upsert_of_a_known_key(store: SemanticMemoryStore):
    """S0 upsert known: creates a new version, updates the lineage; of a forgotten one as well."""
    store.upsert(NEW_YORK, "one")
    second = store.upsert(NEW_YORK, "two")
    assert (second.version, second.lineage) == (2, (1,))
    store.forget(f"key:{NEW_YORK}")
    third = store.upsert(NEW_YORK, "three")
    assert (third.item_id, third.version, third.lineage) == (second.item_id, 3, (1, 2))


def test_upsert_of_a_new_key(store: SemanticMemoryStore):
    """S0 upsert new: inserts as a new fact with version 1."""
    done = store.upsert(NEW_YORK, "one")
    assert (done.version, done.lineage, store.get_capacity_info().item_count) == (1, (), 1)


def test_upsert_records_times(store: SemanticMemoryStore, clock: HandClock):
    """S0 upsert timestamps: creation or update."""
    made = clock.now
    assert store.upsert(NEW_YORK, "one").created_at == made
    updated = clock.forward(days=1)
    done = store.upsert(NEW_YORK, "two")
    assert (done.created_at, done.updated_at) == (made, updated)


def test_upsert_counts_as_access(store: SemanticMemoryStore, clock: HandClock):
    """S0 upsert access: updates the access timestamp."""
    store.upsert(NEW_YORK, "one")
    again = clock.forward(days=1)
    done = store.upsert(NEW_YORK, "one")
    assert store.memory.get(done.item_id).accessed_at == again


def test_upsert_may_evict(clock: HandClock):
    """S0 upsert evicts: when capacity limits are exceeded; a new version of what is there needs no room of its own."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=1) as store:
        assert store.upsert("a:1", "one").evicted == ()
        assert store.upsert("a:1", "one again").evicted == ()
        clock.forward(hours=1)
        assert [item.key for item in store.upsert("a:2", "two").evicted] == ["a:1"]


def test_upsert_returns(store: SemanticMemoryStore):
    """S0 upsert returns: confirmation, item id, version number, eviction information."""
    done = store.upsert(NEW_YORK, "one")
    assert (done.confirmed, done.version, done.evicted) == (True, 1, ())
    assert store.get_version(done.item_id, 1).item.key == NEW_YORK


# -- summarize -----------------------------------------------------------------------------------------------------


@pytest.fixture
def known(store: SemanticMemoryStore) -> SemanticMemoryStore:
    store.upsert("person:alice", "Alice is a designer in Osaka.")
    store.upsert("person:bob", "Bob repairs boats.")
    store.upsert("relationship:alice_knows_bob", "Alice knows Bob from school.", {"importance": 0.8})
    store.memorize("The rent is due on the first.")
    return store


def test_summarize_everything(known: SemanticMemoryStore):
    """S0 summarize all: without a scope, all items."""
    made = known.summarize()
    assert len(made.sources) == 4
    assert made.left_out == 0


def test_summarize_a_scope(known: SemanticMemoryStore):
    """S0 summarize scope: only the items in scope."""
    assert contents(known.summarize("rent").sources) == ["The rent is due on the first."]


@pytest.mark.parametrize("limit", [1, 5, 12, 30, 100])
def test_summarize_within_the_limit(known: SemanticMemoryStore, limit: int):
    """S0 summarize limit: the token limit is respected."""
    made = known.summarize(None, limit)
    assert made.token_count <= made.token_limit == limit
    assert -(-len(made.text) // 4) <= limit


def test_summarize_keeps_relationships(known: SemanticMemoryStore, clock: HandClock):
    """S0 summarize keeps: key facts and relationships stay when not everything can."""
    made = known.summarize(token_limit=32)
    assert made.left_out > 0
    assert "The rent" not in made.text
    # All are alike, and the oldest would win, but that another one relates two things.
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock) as store:
        store.memorize("The green lamp stands near a window", {"category": "interest"})
        store.memorize("The brown chair knows one open door", {"category": "relationship"})
        store.memorize("The white shelf hangs over some wall", {"category": "interest"})
        made = store.summarize(token_limit=16)
        assert (made.left_out, [item.content for item in made.sources]) == (2, ["The brown chair knows one open door"])


def test_summarize_returns_a_text(known: SemanticMemoryStore):
    """S0 summarize returns text: readable, made of what the items say."""
    assert "Bob repairs boats." in known.summarize().text


def test_summarize_returns_a_count(known: SemanticMemoryStore):
    """S0 summarize returns count: the tokens of the text."""
    made = known.summarize()
    assert made.token_count == -(-len(made.text) // 4)


def test_summarize_returns_its_sources(known: SemanticMemoryStore):
    """S0 summarize returns sources: exactly the items whose words are in the text."""
    made = known.summarize(token_limit=32)
    everything = known.summarize().sources
    assert {item.content for item in made.sources} == {item.content for item in everything if item.content in made.text}


# -- get_capacity_info ---------------------------------------------------------------------------------------------


def test_capacity_is_of_this_moment(store: SemanticMemoryStore):
    """S0 capacity state: the current state, after every change."""
    counts: list[int] = []
    for change in (lambda: store.upsert("a:1", "x"), lambda: store.upsert("a:2", "y"), lambda: store.forget("key:a:1")):
        change()
        counts.append(store.get_capacity_info().item_count)
    assert counts == [1, 2, 1]


def test_capacity_counts_items(store: SemanticMemoryStore):
    """S0 capacity items: the current item count; versions are not items."""
    store.upsert("a:1", "one")
    store.upsert("a:1", "two")
    store.upsert("a:2", "three")
    assert store.get_capacity_info().item_count == 2


def test_capacity_counts_tokens(store: SemanticMemoryStore):
    """S0 capacity tokens: the current token usage."""
    store.memorize("x" * 40)
    store.memorize("y" * 20)
    assert store.get_capacity_info().token_usage == 15


def test_capacity_tells_use_and_importance(store: SemanticMemoryStore, clock: HandClock):
    """S0 capacity lru: what was used least recently, and how important the items are."""
    for importance in (0.2, 0.4, 0.9):
        store.memorize(f"a note of {importance}", {"importance": importance})
        clock.forward(hours=1)
    store.memorize("a letter", {"importance": 0.5})
    clock.forward(hours=1)
    store.remember("a note of 0.4", {"limit": 1})
    info = store.get_capacity_info()
    assert [standing.importance for standing in info.least_recently_used] == [0.2, 0.5, 0.4]
    assert info.least_recently_used[-1].last_used == clock.now
    assert info.importance == pytest.approx({"lowest": 0.2, "mean": 0.5, "highest": 0.9})
    assert info.protected_count == 1


def test_capacity_tells_the_policy(store: SemanticMemoryStore):
    """S0 capacity policy: whether it evicts, within which limits and by which rule."""
    assert (store.get_capacity_info().evicting, store.get_capacity_info().max_items) == (False, None)
    with SemanticMemoryStore(":memory:", embedder="none", max_items=3, max_tokens=100) as limited:
        info = limited.get_capacity_info()
        assert (info.evicting, info.max_items, info.max_tokens) == (True, 3, 100)
        assert info.policy["importance_high"] == 0.7
        assert info.policy["importance_low"] == 0.3


# -- get_version ---------------------------------------------------------------------------------------------------


def test_get_version_returns_the_item(store: SemanticMemoryStore):
    """S0 get_version item: retrieves the specified version, as it was."""
    done = store.upsert(NEW_YORK, "one", {"tags": ["a"]})
    store.upsert(NEW_YORK, "two", {"tags": ["b"]})
    first, second = (store.get_version(done.item_id, version).item for version in (1, 2))
    assert (first.content, first.tags) == ("one", ("a",))
    assert (second.content, second.tags) == ("two", ("b",))


def test_get_version_returns_metadata(store: SemanticMemoryStore, clock: HandClock):
    """S0 get_version metadata: number, lineage, time and author of the version, and whether it is the current one."""
    store.upsert(NEW_YORK, "one")
    made = clock.forward(hours=1)
    store.upsert(NEW_YORK, "two")
    found = store.get_version(NEW_YORK, 2)
    assert {field.name for field in fields(found)} >= {"item", "version", "lineage", "created_at", "actor", "current"}
    assert (found.version, found.lineage, found.created_at, found.actor) == (2, (1,), made, "si")
    assert (found.current, store.get_version(NEW_YORK, 1).current) == (True, False)
