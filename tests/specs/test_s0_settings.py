"""S0, design principles, the components around the store, its configuration, and its second example."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from perdure import SemanticMemoryStore, errors
from perdure.embed.local import unavailable

if TYPE_CHECKING:
    from clocks import HandClock

NEW_YORK = "location:new_york"


def test_all_changes_are_tracked(store: SemanticMemoryStore):
    """S0 principle auditable: every change is a line of the log."""
    done = store.upsert("a:1", "one")
    store.upsert("a:1", "two")
    store.memory.update("a:1", importance=0.9)
    store.forget("key:a:1")
    store.restore(done.item_id)
    operations = [line.change.operation for line in store.memory.history(done.item_id)]
    assert operations == ["insert", "update", "annotate", "forget", "restore"]


def test_an_orchestrator_needs_five_verbs(store: SemanticMemoryStore):
    """S0 with orchestrator: memorize, remember, forget, summarize and get_capacity_info work on the same items."""
    store.memorize("Alice prefers dark mode")
    store.memorize("Bob plays chess")
    assert store.remember("dark mode")[0].content in store.summarize().text
    store.forget("oldest")
    assert store.get_capacity_info().item_count == len(store.summarize().sources) == 1


def test_the_turn_trace_has_every_operation(store: SemanticMemoryStore, clock: HandClock):
    """S0 with turn trace: who did what and when, over all items, in order; reads as well as writes."""
    first = store.upsert("a:1", "one is the first number").item_id
    begun = clock.now
    clock.forward(hours=1)
    second = store.memorize("two is the second number").item_id
    store.remember("which is the first number?", {"limit": 1})
    store.get("a:1")
    store.get_version("a:1", 1)
    store.summarize("second")
    store.get_capacity_info()
    store.forget("everything about three")
    store.forget("key:a:1")
    store.restore("a:1")
    assert [(line.operation, line.asked) for line in store.turn_trace()] == [
        ("upsert", "a:1"), ("memorize", None), ("remember", "which is the first number?"), ("get", "a:1"),
        ("get_version", "a:1 1"), ("summarize", "second"), ("get_capacity_info", None),
        ("forget", "everything about three"), ("forget", "key:a:1"), ("restore", "a:1"),
    ]  # fmt: skip
    trace = store.turn_trace()
    assert [line.item_ids for line in trace[:5]] == [(first,), (second,), (first,), (first,), (first,)]
    assert [line.item_ids for line in trace[5:]] == [(second,), (), (), (first,), (first,)]
    assert {line.actor for line in trace} == {"si"}
    assert [line.at for line in trace] == [begun, *[clock.now] * 9]
    # What was written is in the log for ever, whoever wrote it.
    lines = store.memory.log()
    assert [(line.change.operation, line.number, line.change.actor) for line in lines] == [
        ("restore", 1, "si"), ("forget", 1, "si"), ("insert", 2, "si"), ("insert", 1, "si"),
    ]  # fmt: skip


def test_an_item_can_be_marked_as_important_later(clock: HandClock):
    """S0 with frontal cortex: it may mark items as important, which protects them from then on."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=2) as store:
        first = store.memorize("first")
        clock.forward(hours=1)
        store.memorize("second")
        store.memory.update(first.item_id, importance=0.9)
        clock.forward(hours=1)
        assert [item.content for item in store.memorize("third").evicted] == ["second"]


def test_all_items_can_be_gone_through(store: SemanticMemoryStore):
    """S0 with skill extraction: it analyses the memory for patterns, page by page, with its tags and counts."""
    for number in range(25):
        store.memorize(f"note {number}", {"tags": ["even" if number % 2 == 0 else "odd"]})
    seen: list[int] = []
    after: int | None = None
    while True:
        page = store.memory.list(limit=10, after=after, newest=False, tags="even")
        seen += [record.number for record in page]
        after = page.next
        if after is None:
            break
    assert seen == list(range(1, 26, 2))


# -- settings ------------------------------------------------------------------------------------------------------


def test_what_is_important_enough_is_protected(clock: HandClock):
    """S0 setting high: importance at or above it is protected; 0.7 unless set."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=1) as store:
        assert store.get_capacity_info().policy["importance_high"] == 0.7
        store.memorize("at the threshold", {"importance": 0.7})
        with pytest.raises(errors.CapacityExceeded):
            store.memorize("another")
    with SemanticMemoryStore(
        ":memory:", embedder="none", clock=clock, max_items=1, importance_threshold_high=0.8
    ) as store:
        store.memorize("below the threshold", {"importance": 0.7})
        assert len(store.memorize("another").evicted) == 1


def test_what_is_unimportant_goes_first(clock: HandClock):
    """S0 setting low: importance below it is evicted first; 0.3 unless set."""

    def evicted_of(**settings: float) -> str:
        with SemanticMemoryStore(":memory:", embedder="none", clock=clock, max_items=2, **settings) as store:  # pyright: ignore[reportArgumentType]
            store.memorize("ordinary and older", {"importance": 0.4})
            clock.forward(hours=1)
            store.memorize("unimportant and newer", {"importance": 0.29})
            clock.forward(hours=1)
            (gone,) = store.memorize("another").evicted
            return gone.content

    assert evicted_of() == "unimportant and newer"
    assert evicted_of(importance_threshold_low=0.2) == "ordinary and older"
    assert evicted_of(importance_threshold_low=0.5) == "ordinary and older"


def test_versions_can_be_switched_off(clock: HandClock, tmp_path: Path):
    """S0 setting versioning: whether to track versions; on unless set."""
    with SemanticMemoryStore(tmp_path / "on.db", embedder="none", clock=clock) as store:
        store.upsert(NEW_YORK, "the old words")
        store.upsert(NEW_YORK, "the new words")
        assert store.get_version(NEW_YORK, 1).item.content == "the old words"
    with SemanticMemoryStore(tmp_path / "off.db", embedder="none", clock=clock, enable_versioning=False) as store:
        store.upsert(NEW_YORK, "the old words")
        assert store.upsert(NEW_YORK, "the new words").version == 2
        with pytest.raises(errors.NotFound):
            store.get_version(NEW_YORK, 1)
        assert store.get_version(NEW_YORK, 2).item.content == "the new words"


def test_soft_delete_can_be_switched_off(clock: HandClock):
    """S0 setting soft delete: whether to support it; on unless set."""
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock) as store:
        store.upsert(NEW_YORK, "one")
        assert store.forget(f"key:{NEW_YORK}").confirmed
    with SemanticMemoryStore(":memory:", embedder="none", clock=clock, enable_soft_delete=False) as store:
        store.upsert(NEW_YORK, "one")
        with pytest.raises(errors.PerdureError, match="hard"):
            store.forget(f"key:{NEW_YORK}")
        assert store.get_capacity_info().item_count == 1
        assert store.forget(f"key:{NEW_YORK}", mode="hard").size == 0


# -- the example, with the real model ------------------------------------------------------------------------------


@pytest.mark.skipif(unavailable() is not None, reason="the local model is not installed")
def test_cities_in_america(clock: HandClock, tmp_path: Path):
    """S0 scenario search: learn, correct, search by meaning, look back, and make room."""
    with SemanticMemoryStore(tmp_path / "m.db", clock=clock, max_items=4) as store:
        first = store.upsert(NEW_YORK, "New York is in the United States")
        assert first.version == 1
        clock.forward(days=1)
        for key, fact in (
            ("person:alice", "Alice repairs old boats"),
            ("fact:deploy", "The server is deployed on Fridays"),
            ("fact:rent", "The rent is due on the first"),
        ):
            store.upsert(key, fact)
        clock.forward(days=1)
        second = store.upsert(NEW_YORK, "New York is the largest city in the US")
        assert (second.item_id, second.version, second.lineage) == (first.item_id, 2, (1,))
        found = store.remember("cities in America", {"limit": 1})
        assert (found.mode, found[0].item_id, found[0].version) == ("hybrid", first.item_id, 2)
        assert store.memory.recall("American metropolis", limit=1)[0].record.key == NEW_YORK
        assert store.query_version(first.item_id, 1).item.content == "New York is in the United States"
        assert store.query_version(first.item_id, 2).item.content == "New York is the largest city in the US"
        clock.forward(days=1)
        gone = store.upsert("fact:tea", "Bob drinks green tea").evicted
        assert len(gone) == 1
        assert gone[0].key != NEW_YORK
