"""S0, what the semantic memory store is: its purpose and its core characteristics."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from store.children import in_child

from perdure import SemanticMemoryStore, errors
from perdure.embed.local import unavailable
from perdure.recall.relevance import relevance

if TYPE_CHECKING:
    from pathlib import Path

    from clocks import HandClock

NEW_YORK = "location:new_york"
CAT = "My cat is called Ada"
DATABASE = "We use PostgreSQL 16"


def contents(found: object) -> list[str]:
    return [item.content for item in found]  # pyright: ignore[reportGeneralTypeIssues, reportUnknownVariableType, reportUnknownMemberType]


def small(clock: HandClock, **settings: object) -> SemanticMemoryStore:
    """A store for two items."""
    return SemanticMemoryStore(":memory:", clock=clock, **({"embedder": "none", "max_items": 2} | settings))  # pyright: ignore[reportArgumentType]


# -- purpose -------------------------------------------------------------------------------------------------------


def test_entities_relationships_and_patterns_are_kept(store: SemanticMemoryStore):
    """S0 purpose 1: knowledge about entities, relationships, and patterns."""
    store.upsert("person:alice", "Alice is a designer")
    store.upsert("relationship:alice_knows_bob", "Alice knows Bob from school")
    store.memorize("Deployments on Fridays fail", {"category": "patterns"})
    assert contents(store.remember("designer"))[0] == "Alice is a designer"
    assert contents(store.remember("school"))[0] == "Alice knows Bob from school"
    assert contents(store.remember("Fridays", {"category": "patterns"})) == ["Deployments on Fridays fail"]


def test_a_fact_can_be_corrected(store: SemanticMemoryStore):
    """S0 purpose 2: facts to be corrected or refined."""
    store.upsert("person:alice", "Alice lives in Osaka")
    store.upsert("person:alice", "Alice lives in Tokyo")
    assert contents(store.remember("where does Alice live")) == ["Alice lives in Tokyo"]


def test_words_and_meaning_both_find(store: SemanticMemoryStore):
    """S0 purpose 3: both semantic and keyword-based retrieval."""
    store.memorize("Alice prefers dark mode")
    found = store.memory.recall("dark mode")
    assert found.mode == "hybrid"
    assert set(found[0].explain) >= {"keyword", "vector"}


def test_a_full_store_keeps_what_is_used_and_what_is_important(clock: HandClock):
    """S0 purpose 4: LRU + importance retention."""
    with small(clock, max_items=3, embedder=None) as store:
        for text, importance in (("The safe is in the cellar", 0.9), (CAT, 0.5), (DATABASE, 0.5)):
            store.memorize(text, {"importance": importance})
            clock.forward(hours=1)
        store.remember("what is the cat called?")
        clock.forward(hours=1)
        assert contents(store.memorize("Bob drinks tea").evicted) == [DATABASE]


def test_the_history_of_a_fact_is_kept(store: SemanticMemoryStore):
    """S0 purpose 5: version history for audit and learning."""
    first = store.upsert(NEW_YORK, "New York is in the United States")
    store.upsert(NEW_YORK, "New York is the largest city in the US")
    lines = store.memory.history(first.item_id)
    assert [(line.version, line.change.actor) for line in lines] == [(1, "si"), (2, "si")]


# -- upsert-based model --------------------------------------------------------------------------------------------


def test_upsert_inserts_and_then_updates(store: SemanticMemoryStore):
    """S0 model upsert: update if exists, insert if new."""
    first = store.upsert(NEW_YORK, "one")
    second = store.upsert(NEW_YORK, "two")
    assert first.item_id == second.item_id
    assert store.get_capacity_info().item_count == 1


def test_an_item_is_found_by_its_key(store: SemanticMemoryStore):
    """S0 model key: items are identified by a semantic key."""
    done = store.upsert(NEW_YORK, "one")
    assert store.get_version(NEW_YORK, 1).item.item_id == done.item_id


def test_each_update_is_a_new_version(store: SemanticMemoryStore):
    """S0 model versioning: each update creates a new version, also one that says the same."""
    assert [store.upsert(NEW_YORK, text).version for text in ("one", "two", "two")] == [1, 2, 3]


def test_previous_versions_are_linked(store: SemanticMemoryStore):
    """S0 model lineage: previous versions are linked."""
    assert [store.upsert(NEW_YORK, text).lineage for text in ("a", "b", "c")] == [(), (1,), (1, 2)]


@pytest.mark.parametrize("key", ["new_york", ":new_york", "location:", "location: x", "", "1a:b", "a b:c", 5, None])
def test_a_key_has_a_type_and_an_identifier(store: SemanticMemoryStore, key: str):
    """S0 model key format: {entity_type}:{entity_identifier}; anything else is refused and nothing is stored."""
    with pytest.raises(errors.InvalidInput):
        store.upsert(key, "a fact")
    assert store.get_capacity_info().item_count == 0


# -- soft delete ---------------------------------------------------------------------------------------------------


def test_a_softly_deleted_item_is_hidden_and_kept(store: SemanticMemoryStore):
    """S0 delete soft: marked as deleted but kept in the store."""
    done = store.upsert(NEW_YORK, "New York is big")
    store.forget(f"key:{NEW_YORK}", mode="soft")
    assert contents(store.remember("New York")) == []
    (record,) = store.memory.list(states="deleted")
    assert record.id == done.item_id


def test_a_deleted_item_remains_for_the_audit(store: SemanticMemoryStore):
    """S0 delete audit: deleted items remain, with who deleted them and when."""
    done = store.upsert(NEW_YORK, "New York is big")
    store.forget(f"key:{NEW_YORK}")
    newest = store.memory.history(done.item_id)[-1]
    assert (newest.change.operation, newest.change.actor) == ("forget", "si")
    assert store.get_version(done.item_id, 1).item.content == "New York is big"


def test_a_softly_deleted_item_can_be_restored(store: SemanticMemoryStore):
    """S0 delete undelete: soft-deleted items can be restored."""
    done = store.upsert(NEW_YORK, "New York is big")
    store.forget(f"key:{NEW_YORK}")
    assert store.restore(done.item_id).content == "New York is big"
    assert contents(store.remember("New York")) == ["New York is big"]


def test_a_hard_delete_is_for_ever(store: SemanticMemoryStore):
    """S0 delete hard: optional permanent removal."""
    done = store.upsert(NEW_YORK, "New York is big")
    store.forget(f"key:{NEW_YORK}", mode="hard")
    with pytest.raises(errors.PerdureError):
        store.restore(done.item_id)
    assert all(line.record is None for line in store.memory.history(done.item_id))


# -- retention -----------------------------------------------------------------------------------------------------


def test_the_least_recently_used_item_is_evicted_first(tmp_path: Path, clock: HandClock):
    """S0 retention lru: least recently used items are evicted first, whichever process used them."""
    path = tmp_path / "shared.db"

    def use() -> None:
        with SemanticMemoryStore(path, clock=clock) as reader:
            reader.remember("what is the cat called?")

    with SemanticMemoryStore(path, max_items=2, clock=clock) as store:
        for text in (CAT, DATABASE):
            store.memorize(text)
            clock.forward(hours=1)
        in_child(use)
        clock.forward(hours=1)
        assert contents(store.memorize("Bob drinks tea").evicted) == [DATABASE]


def test_an_important_item_is_not_evicted(clock: HandClock):
    """S0 retention importance: high-importance items are protected."""
    with small(clock) as store:
        store.memorize("important", {"importance": 0.7})
        clock.forward(hours=1)
        store.memorize("ordinary", {"importance": 0.69})
        clock.forward(hours=1)
        assert contents(store.memorize("third").evicted) == ["ordinary"]


def test_it_is_recorded_when_an_item_is_accessed(store: SemanticMemoryStore, clock: HandClock):
    """S0 retention access: records when items are accessed."""
    done = store.memorize("Alice prefers dark mode")
    read = clock.forward(hours=5)
    assert store.remember("dark mode")
    clock.forward(hours=1)
    assert store.memory.get(done.item_id).recalled_at == read
    assert store.get_capacity_info().least_recently_used[0].last_used == clock.now
    last = clock.forward(hours=1)
    assert store.remember("dark mode")[0].accessed_at == last - timedelta(hours=1)


def test_an_item_has_an_importance(store: SemanticMemoryStore):
    """S0 retention scoring: items have importance scores from 0 to 1."""
    store.memorize("Alice prefers dark mode", {"importance": 0.8})
    store.memorize("Bob likes tea")
    assert store.remember("dark mode")[0].importance == 0.8
    assert store.remember("tea")[0].importance == 0.5
    with pytest.raises(errors.InvalidInput):
        store.memorize("Too much", {"importance": 1.1})


# -- hybrid search -------------------------------------------------------------------------------------------------


@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
def test_vectors_find_what_shares_no_spelling():
    """S0 search dense: vector embeddings for semantic similarity, by the real model."""
    with SemanticMemoryStore(":memory:", embedder="local") as store:
        store.memorize("Alice prefers dark mode")
        store.memorize("The invoices are due on Mondays")
        assert contents(store.remember("which theme does she like?")) == ["Alice prefers dark mode"]


def test_words_find_exactly(store: SemanticMemoryStore):
    """S0 search sparse: keyword/term matching for exact matches."""
    store.memorize("The error code is E1234")
    store.memorize("The error code is E5678")
    assert contents(store.remember("E5678"))[0] == "The error code is E5678"


def test_both_scores_make_one(store: SemanticMemoryStore):
    """S0 search combined: merges dense and sparse scores."""
    store.memorize("Alice prefers dark mode")
    (hit,) = store.memory.recall("dark mode")
    assert hit.score == relevance(sum(signal.contribution for signal in hit.explain.values()))
    assert all(hit.explain[name].contribution > 0 for name in ("keyword", "vector"))


def test_metadata_filters(store: SemanticMemoryStore):
    """S0 search filter: filter by tags, source, and the rest."""
    store.memorize("Dark mode at night", {"tags": ["ui"], "source": "chat"})
    store.memorize("Dark mode at noon", {"tags": ["ops"], "source": "mail"})
    assert contents(store.remember("dark mode", {"tags": ["ui"]})) == ["Dark mode at night"]
    assert contents(store.remember("dark mode", {"source": "mail"})) == ["Dark mode at noon"]
    assert contents(store.remember("dark mode", {"tags": ["ui"], "source": "mail"})) == []


# -- versioning and lineage ----------------------------------------------------------------------------------------


def test_version_numbers_go_up_by_one(store: SemanticMemoryStore):
    """S0 version numbers: each update increments the version."""
    assert [store.upsert(NEW_YORK, f"fact {number}").version for number in range(1, 6)] == [1, 2, 3, 4, 5]


def test_the_links_form_a_trail(store: SemanticMemoryStore):
    """S0 version trail: links to previous versions form an audit trail."""
    done = [store.upsert(NEW_YORK, f"fact {number}") for number in range(1, 4)][-1]
    trail = [store.get_version(done.item_id, version).item.content for version in done.lineage]
    assert trail == ["fact 1", "fact 2"]


def test_every_version_says_when_it_was_made(store: SemanticMemoryStore, clock: HandClock):
    """S0 version timestamps: records when each version was created."""
    moments = [clock.now]
    done = store.upsert(NEW_YORK, "fact 1")
    moments.append(clock.forward(days=1))
    store.upsert(NEW_YORK, "fact 2")
    assert [store.get_version(done.item_id, version).created_at for version in (1, 2)] == moments


def test_an_old_version_can_be_read(store: SemanticMemoryStore):
    """S0 version queries: specific versions can be retrieved for historical analysis."""
    done = store.upsert(NEW_YORK, "fact 1")
    store.upsert(NEW_YORK, "fact 2")
    assert store.get_version(done.item_id, 1).item.content == "fact 1"
    with pytest.raises(errors.NotFound):
        store.get_version(done.item_id, 3)


def test_versions_do_not_go_while_there_is_room(clock: HandClock):
    """S0 version retention: subject to eviction only when capacity limits are exceeded, and versions are no items."""
    with small(clock) as store:
        for number in range(1, 30):
            done = store.upsert(NEW_YORK, f"fact {number}")
            assert done.evicted == ()
        store.memorize("a second item")
        assert [store.get_version(NEW_YORK, number).item.content for number in (1, 29)] == ["fact 1", "fact 29"]
