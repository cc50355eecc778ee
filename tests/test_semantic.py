"""S0's façade beside its specification: odd input, settings, and that it shares everything with `Memory`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, cast

import pytest

from perdure import Memory, SemanticMemoryStore, errors
from perdure.settings import load

ODD: list[Any] = [
    None, True, 5, -1, 1.5, float("nan"), 10**5000, b"bytes", "", "  ", "\x00", "\ud800", [], [5], {}, {1: 2},
    {"text": 5}, {"text": "a", "content": "b"}, {"text": "x", "tags": 5}, object(), "x" * 3_000_000,
]  # fmt: skip

CALLS: dict[str, Callable[[SemanticMemoryStore, Any], object]] = {
    "memorize": lambda store, odd: store.memorize(odd),
    "memorize metadata": lambda store, odd: store.memorize("x", odd),
    "upsert key": lambda store, odd: store.upsert(odd, "x"),
    "upsert item": lambda store, odd: store.upsert("a:odd", odd),
    "upsert metadata": lambda store, odd: store.upsert("a:odd", "x", odd),
    "remember": lambda store, odd: store.remember(odd),
    "remember metadata": lambda store, odd: store.remember("x", odd),
    "remember limit": lambda store, odd: store.remember("x", {"limit": odd}),
    "forget": lambda store, odd: store.forget(odd),
    "forget mode": lambda store, odd: store.forget("key:a:1", odd),
    "forget confirm": lambda store, odd: store.forget("everything about chess", confirm=odd),
    "restore": lambda store, odd: store.restore(odd),
    "summarize": lambda store, odd: store.summarize(odd),
    "summarize limit": lambda store, odd: store.summarize(None, odd),
    "get_version": lambda store, odd: store.get_version(odd, 1),
    "get_version version": lambda store, odd: store.get_version("a:1", odd),
}


@pytest.fixture
def store() -> Iterator[SemanticMemoryStore]:
    with SemanticMemoryStore(":memory:", embedder="none", actor="si") as opened:
        yield opened


@pytest.mark.parametrize("name", CALLS)
def test_whatever_is_passed_the_answer_is_an_answer_or_one_of_our_errors(name: str, store: SemanticMemoryStore):
    for odd in ODD:
        store.upsert("a:1", "Bob plays chess")
        with suppress(errors.PerdureError):
            CALLS[name](store, odd)
    assert [finding for finding in store.memory.doctor() if finding.level == "problem"] == []


def test_an_item_may_carry_everything_with_it(store: SemanticMemoryStore):
    done = store.memorize(
        {"key": "person:alice", "content": "Alice", "tags": ["a"], "mood": "calm", "metadata": {"page": 1}},
        {"importance": 0.9, "tags": ["b"], "shelf": "left"},
    )
    record = store.memory.get(done.item_id)
    assert (record.key, record.text, record.tags, record.importance) == ("person:alice", "Alice", ("b",), 0.9)
    assert record.metadata == {"page": 1, "mood": "calm", "shelf": "left"}


def test_the_callers_own_mappings_are_left_alone(store: SemanticMemoryStore):
    item, metadata = {"text": "Alice", "key": "person:alice"}, {"limit": 3, "tags": ["x"]}
    store.memorize(item)
    store.remember("Alice", metadata)
    assert (item, metadata) == ({"text": "Alice", "key": "person:alice"}, {"limit": 3, "tags": ["x"]})


def test_two_keys_for_one_item_are_refused(store: SemanticMemoryStore):
    with pytest.raises(errors.InvalidInput):
        store.upsert("a:1", {"key": "a:2", "text": "x"})
    assert store.upsert("a:1", {"key": "a:1", "text": "x"}).key == "a:1"


def test_it_is_the_same_memory_as_memory(tmp_path: Path):
    with SemanticMemoryStore(tmp_path / "m.db", embedder="none", namespace="si") as store:
        store.upsert("person:alice", "Alice prefers dark mode")
        with Memory(tmp_path / "m.db", embedder="none", namespace="si") as memory:
            assert memory.get("person:alice").text == "Alice prefers dark mode"
            memory.upsert("person:alice", "Alice prefers light mode")
        (item,) = store.remember("mode")
        assert (item.content, item.version) == ("Alice prefers light mode", 2)
        assert repr(store.memory) == f"<Memory 'si' in '{tmp_path / 'm.db'}'>"


def test_a_version_that_was_taken_back_is_in_no_lineage(store: SemanticMemoryStore):
    store.upsert("a:1", "one")
    taken_back = store.memory.upsert("a:1", "two")
    store.memory.undo(taken_back.batch)
    done = store.upsert("a:1", "three")
    assert (done.version, done.lineage) == (3, (1,))
    (item,) = store.remember("three")
    assert item.lineage == (1,)


@pytest.mark.parametrize("mode", ["soft", "hard"])
def test_what_is_forgotten_is_named_with_its_lineage(store: SemanticMemoryStore, mode: Any):
    for text in ("one", "two", "three"):
        store.upsert("a:1", text)
    (gone,) = store.forget("key:a:1", mode).items
    assert (gone.content, gone.version, gone.lineage) == ("three", 3, (1, 2))


def test_query_version_is_get_version(store: SemanticMemoryStore):
    store.upsert("a:1", "one")
    assert store.query_version("a:1", 1) == store.get_version("a:1", 1)


def test_an_item_that_was_evicted_without_grace_is_named_all_the_same():
    moment = [datetime(2026, 3, 14, tzinfo=UTC)]
    rules = replace(load(), grace_days=0)
    with SemanticMemoryStore(
        ":memory:", embedder="none", settings=rules, max_items=1, clock=lambda: moment[0]
    ) as store:
        store.upsert("a:1", "one")
        store.upsert("a:1", "two")
        moment[0] += timedelta(hours=1)
        (gone,) = store.upsert("a:2", "three").evicted
        assert (gone.key, gone.content, gone.version, gone.lineage) == ("a:1", "two", 2, (1,))


def test_a_sentence_needs_a_yes_and_a_token_only_fits_what_was_shown(store: SemanticMemoryStore):
    store.memorize("Bob plays chess on Mondays")
    store.memorize("Bob plays chess on Fridays")
    asked = store.forget("everything about chess")
    assert (asked.confirmed, len(asked.items), asked.size) == (False, 2, 2)
    store.memorize("Carol plays chess")
    with pytest.raises(errors.Conflict):
        store.forget("everything about chess", confirm=asked.token)
    assert store.forget("everything about chess", confirm=True).size == 0


@pytest.mark.parametrize("sentence", ["key: chess", "key:chess on", "before: chess", "oldest chess", "before:x chess"])
def test_a_sentence_that_looks_like_an_instruction_is_not_taken_for_one(store: SemanticMemoryStore, sentence: str):
    store.memorize("The key to chess on Mondays is the oldest trick")
    store.memorize("The key to chess on Fridays is the oldest trick")
    with suppress(errors.PerdureError):
        assert not store.forget(sentence).confirmed
    assert store.get_capacity_info().item_count == 2


@pytest.mark.parametrize(
    "instruction", ["oldest", "Least  important", "before:2099-01-01", "before: 2099-01-01T00:00Z"]
)
def test_an_instruction_of_the_specification_needs_no_yes_even_when_it_is_for_ever(
    store: SemanticMemoryStore, instruction: str
):
    store.memorize("Bob plays chess")
    done = store.forget(instruction, "hard")
    assert (done.confirmed, done.size) == (True, 0)


@pytest.mark.parametrize("name", ["namespaces", "recipe", "query", "as_of", "colour"])
def test_what_is_no_filter_is_an_entry_that_the_item_must_have(store: SemanticMemoryStore, name: str):
    store.memory.namespace("other").remember("Their secret")
    store.memorize("Our secret")
    assert not store.remember("secret", {name: ["other"]})
    store.memorize("The secret of this entry", {name: "other"})
    found = store.remember("secret", {name: ["other"], "where": {name: "mine"}})
    assert [item.content for item in found] == ["The secret of this entry"]


def test_what_can_be_no_entry_of_an_item_is_refused(store: SemanticMemoryStore):
    with pytest.raises(errors.InvalidInput, match="metadata entry"):
        store.remember("secret", cast("Any", {5: "other"}))


def test_a_single_reference_needs_no_yes(store: SemanticMemoryStore):
    done = store.memorize("Bob plays chess")
    assert store.forget(done.item_id).confirmed


def test_a_model_may_not_erase(tmp_path: Path):
    with SemanticMemoryStore(tmp_path / "m.db", embedder="none", writer="model") as store:
        store.upsert("a:1", "one")
        with pytest.raises(errors.NotAllowed):
            store.forget("key:a:1", "hard")
        assert store.forget("key:a:1").confirmed


def test_thresholds_that_contradict_each_other_are_refused():
    with pytest.raises(errors.SettingsInvalid, match="importance_low is"):
        SemanticMemoryStore(":memory:", importance_threshold_low=0.8)
    for odd in (1.5, -0.1, "high"):
        with pytest.raises(errors.SettingsInvalid):
            SemanticMemoryStore(":memory:", importance_threshold_high=odd)  # pyright: ignore[reportArgumentType]


def test_what_is_not_given_is_the_users_own_setting(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("PERDURE_IMPORTANCE_HIGH", "0.9")
    monkeypatch.setenv("PERDURE_MAX_ITEMS", "7")
    with SemanticMemoryStore(":memory:", embedder="none") as store:
        assert (store.get_capacity_info().policy["importance_high"], store.get_capacity_info().max_items) == (0.9, 7)
    with SemanticMemoryStore(":memory:", embedder="none", importance_threshold_high=0.6, max_items=0) as store:
        assert store.get_capacity_info().policy["importance_high"] == 0.6
        assert store.get_capacity_info().max_items is None


def test_what_has_to_be_said_is_said(store: SemanticMemoryStore):
    secret = "ghp_" + "x7Kq2VbN9tLmZ4cR8wYpD3fHs6GjUe1AoB5v"
    done = store.memorize(f"The token is {secret}")
    assert any("redact" in note.lower() for note in done.notes)
    assert store.remember("a question about nothing here").notes


def test_matches_are_a_sequence(store: SemanticMemoryStore):
    for number in range(3):
        store.memorize(f"note {number}")
    found = store.remember("note")
    assert found[:2] == found.items[:2]
    assert [item.content for item in found] == [found[place].content for place in range(len(found))]


def test_it_is_closed_once_for_all(store: SemanticMemoryStore):
    store.close()
    store.close()
    with pytest.raises(errors.StoreClosed):
        store.memorize("too late")


def test_the_turn_trace_is_bounded_and_leaves_the_log_alone():
    with SemanticMemoryStore(":memory:", embedder="none", actor="si", session="monday") as store:
        store.upsert("a:1", "one")
        for turn in range(1200):
            store.remember(f"one {turn}")
        trace = store.turn_trace()
        assert [line.asked for line in trace] == [f"one {turn}" for turn in range(200, 1200)]
        assert {(line.operation, line.session) for line in trace} == {("remember", "monday")}
        assert len(store.memory.log()) == 1


def test_an_item_is_read_by_its_key(store: SemanticMemoryStore):
    store.upsert("a:1", "one")
    newest = store.upsert("a:1", "one and a half")
    item = store.get("a:1")
    assert (item.item_id, item.content, item.version, item.lineage) == (newest.item_id, "one and a half", 2, (1,))
    assert store.get(item.item_id).content == "one and a half"
    with pytest.raises(errors.NotFound):
        store.get("a:2")
