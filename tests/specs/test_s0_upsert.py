"""S0, versioning and upsert strategy: keys, upsert semantics, retention and eviction, and its first example."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from perdure import SemanticMemoryStore, errors
from perdure.settings import load

if TYPE_CHECKING:
    from clocks import HandClock

NEW_YORK = "location:new_york"


@pytest.mark.parametrize(
    "key",
    [
        "location:new_york", "person:alice", "skill:web_scraping", "relationship:alice_knows_bob",
        "fact:weather_today",
    ],
)  # fmt: skip
def test_the_keys_of_the_specification_are_keys(store: SemanticMemoryStore, key: str):
    """S0 key examples: each names an item."""
    done = store.upsert(key, "a fact")
    assert (done.key, done.version) == (key, 1)
    assert store.get_version(key, 1).item.item_id == done.item_id


def test_the_same_key_is_the_same_entity(store: SemanticMemoryStore):
    """S0 key same: the same key indicates the same entity, however different the texts."""
    assert store.upsert("person:alice", "one").item_id == store.upsert("person:alice", "quite another").item_id


def test_another_key_is_another_entity(store: SemanticMemoryStore):
    """S0 key different: different keys indicate different entities, however alike the texts."""
    alice, bob = (store.upsert(key, "is a person") for key in ("person:alice", "person:bob"))
    assert alice.item_id != bob.item_id
    assert store.get_capacity_info().item_count == 2


def test_nobody_but_the_caller_makes_a_key(store: SemanticMemoryStore):
    """S0 key responsibility: callers are responsible for generating keys; without one there is none."""
    assert store.memorize("Alice is a person").key is None


# -- if the key exists ---------------------------------------------------------------------------------------------


def test_an_existing_item_is_updated(store: SemanticMemoryStore):
    """S0 upsert exists 1: the item is updated."""
    store.upsert(NEW_YORK, "old words")
    done = store.upsert(NEW_YORK, "new words", {"tags": ["city"]})
    current = store.get_version(done.item_id, 2)
    assert (current.item.content, current.item.tags, current.current) == ("new words", ("city",), True)
    assert [item.content for item in store.remember("words")] == ["new words"]


def test_the_version_number_is_incremented(store: SemanticMemoryStore):
    """S0 upsert exists 2: a new version is created, its number incremented."""
    assert store.upsert(NEW_YORK, "one").version + 1 == store.upsert(NEW_YORK, "two").version


def test_the_previous_version_is_linked(store: SemanticMemoryStore):
    """S0 upsert exists 3: the previous version is linked in the lineage."""
    store.upsert(NEW_YORK, "one")
    assert store.upsert(NEW_YORK, "two").lineage == (1,)


def test_the_time_of_the_update_is_recorded(store: SemanticMemoryStore, clock: HandClock):
    """S0 upsert exists 4: the update timestamp is recorded; that of the creation stays."""
    made = clock.now
    store.upsert(NEW_YORK, "one")
    updated = clock.forward(days=3)
    done = store.upsert(NEW_YORK, "two")
    assert (done.created_at, done.updated_at) == (made, updated)


def test_an_update_counts_as_access(clock: HandClock):
    """S0 upsert exists 5: the item's access timestamp is updated, so it is not the next to go."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=2) as store:
        store.upsert("a:1", "one")
        clock.forward(hours=1)
        store.upsert("a:2", "two")
        updated = clock.forward(hours=1)
        store.upsert("a:1", "one again")
        assert store.get_version("a:1", 2).item.accessed_at == updated
        assert [item.key for item in store.upsert("a:3", "three").evicted] == ["a:2"]


# -- if the key is new ---------------------------------------------------------------------------------------------


def test_a_new_key_inserts(store: SemanticMemoryStore):
    """S0 upsert new 1: the item is inserted as a new fact."""
    before = store.get_capacity_info().item_count
    store.upsert(NEW_YORK, "one")
    assert store.get_capacity_info().item_count == before + 1


def test_a_new_item_has_version_one(store: SemanticMemoryStore):
    """S0 upsert new 2: the version is set to 1."""
    assert store.upsert(NEW_YORK, "one").version == 1


def test_a_new_item_has_no_lineage(store: SemanticMemoryStore):
    """S0 upsert new 3: the lineage is empty."""
    assert store.upsert(NEW_YORK, "one").lineage == ()


def test_the_time_of_the_creation_is_recorded(store: SemanticMemoryStore, clock: HandClock):
    """S0 upsert new 4: the creation timestamp is recorded."""
    assert store.upsert(NEW_YORK, "one").created_at == clock.now


# -- retention and eviction ----------------------------------------------------------------------------------------


def test_all_versions_stay_in_the_chain(store: SemanticMemoryStore):
    """S0 eviction versions: all versions of an item are retained in the lineage chain."""
    done = [store.upsert(NEW_YORK, f"fact {number}") for number in range(1, 21)]
    assert done[-1].lineage == tuple(range(1, 20))
    for number in range(1, 21):
        assert store.get_version(NEW_YORK, number).item.content == f"fact {number}"


@pytest.mark.parametrize("limit", [{"max_items": 2}, {"max_tokens": 20}])
def test_a_limit_that_is_exceeded_evicts(clock: HandClock, limit: dict[str, int]):
    """S0 eviction limits: when max_items or max_tokens is exceeded, eviction occurs."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, **limit) as store:  # pyright: ignore[reportArgumentType]
        for number in range(2):
            assert store.memorize(f"a fact of forty characters, the {number}th one").evicted == ()
            clock.forward(hours=1)
        (gone,) = store.memorize("a fact of forty characters, the last one").evicted
        assert gone.content == "a fact of forty characters, the 0th one"
        info = store.get_capacity_info()
        assert (info.item_count, info.token_usage) == (2, 20)


def test_an_item_goes_with_all_its_versions(clock: HandClock):
    """S0 eviction unit: the entire item, all versions together, is one unit."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=2) as store:
        for number in range(5):
            store.upsert("a:1", f"fact {number}")
        clock.forward(hours=1)
        store.upsert("a:2", "two")
        clock.forward(hours=1)
        assert [(item.key, item.version) for item in store.upsert("a:3", "three").evicted] == [("a:1", 5)]
        assert store.get_capacity_info().item_count == 2


@pytest.mark.parametrize("grace_days", ["30", "0"])
def test_no_version_of_an_evicted_item_is_left(clock: HandClock, monkeypatch: pytest.MonkeyPatch, grace_days: str):
    """S0 eviction removal: if an item is evicted, all its versions are removed, with or without a period of grace."""
    monkeypatch.setenv("PERDURE_GRACE_DAYS", grace_days)
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, settings=load(), max_items=1) as store:
        done = store.upsert("a:1", "first words")
        store.upsert("a:1", "second words")
        clock.forward(hours=1)
        assert len(store.upsert("a:2", "two").evicted) == 1
        for version in (1, 2):
            with pytest.raises(errors.NotFound):
                store.get_version(done.item_id, version)
        assert [item.content for item in store.remember("words")] == []
        kept = [line.record for line in store.memory.history(done.item_id)]
        assert any(kept) == (grace_days == "30")


def test_an_upsert_on_an_evicted_key_begins_at_version_1(clock: HandClock):
    """S0 eviction return: all versions of an evicted item are gone, so its key begins anew."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=1) as store:
        store.upsert("a:1", "first words")
        store.upsert("a:1", "second words")
        clock.forward(hours=1)
        store.upsert("a:2", "two")
        again = store.upsert("a:1", "other words")
        assert (again.version, again.lineage) == (1, ())
        with pytest.raises(errors.NotFound):
            store.get_version("a:1", 2)


def test_an_important_item_stays_however_many_versions_it_has(clock: HandClock):
    """S0 eviction protection: high-importance items are protected regardless of version count."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=1) as store:
        for number in range(30):
            store.upsert("a:1", f"fact {number}", {"importance": 0.9})
        clock.forward(days=400)
        with pytest.raises(errors.CapacityExceeded):
            store.upsert("a:2", "two")
        assert store.get_version("a:1", 30).item.content == "fact 29"
        assert store.get_capacity_info().item_count == 1


# -- the example ---------------------------------------------------------------------------------------------------


def test_what_si_learns(store: SemanticMemoryStore):
    """S0 scenario upsert: Si learns two facts about New York and one about Alice."""
    first = store.upsert(NEW_YORK, "New York is in the United States")
    assert (first.version, first.lineage) == (1, ())
    second = store.upsert(NEW_YORK, "New York is the largest city in the US")
    assert (second.item_id, second.version, second.lineage) == (first.item_id, 2, (1,))
    assert store.get_version(second.item_id, 1).item.content == "New York is in the United States"
    third = store.upsert("person:alice", "Alice is a person")
    assert (third.version, third.lineage) == (1, ())
    assert third.item_id != first.item_id
    assert store.get_version(NEW_YORK, 2).current
