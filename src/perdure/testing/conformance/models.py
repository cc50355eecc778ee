"""Models: which generation answers, what left the machine, and what a language model said that was of no use."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest

from perdure.errors import Conflict
from perdure.llm.port import Parked
from perdure.providers.call import ProviderCall
from perdure.store.port import Store
from perdure.store.stats import GenerationStats
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import (
    GENERATION,
    NAMESPACE,
    NOON,
    amend,
    change,
    embed,
    problems,
    read_once,
    remember,
    repair,
)
from perdure.text.entry import passage_hash

NEWER = replace(GENERATION, version="2", dimensions=2)
CALL = ProviderCall(
    at=NOON, provider="openai", model="m", host="api.openai.com", purpose="embed passages", items=3, sent_bytes=120,
    received_bytes=4000, input_tokens=30, output_tokens=2, cost=0.5, outcome="ok",
)  # fmt: skip


def park(store: Store, memory: int | None, namespace: str = NAMESPACE, **fields: Any) -> Parked | None:
    given: dict[str, Any] = {"purpose": "keywords", "model": "ollama:q", "error": "No JSON.", "output": "tea?"}
    given |= {"attempts": 3, "at": NOON, **fields}
    return store.park(namespace, memory=memory, **given)


class GenerationsTests(StoreTestBase):
    def test_the_first_generation_serves_at_once_and_a_later_one_does_not(self, store: Store) -> None:
        assert store.serving_generation() is None
        record = remember(store, "tea")
        assert store.serving_generation() is None
        embed(store, [record])
        store.position(NAMESPACE, GENERATION)
        assert store.serving_generation() == GENERATION
        embed(store, [record], NEWER)
        store.position(NAMESPACE, GENERATION)
        assert store.serving_generation() == GENERATION

    def test_a_generation_serves_only_when_every_memory_has_its_vector(self, store: Store) -> None:
        first, second = remember(store, "tea"), remember(store, "coffee", "other")
        remember(store, "gone", state="deleted")
        embed(store, [first, second])
        embed(store, [first], NEWER)
        assert not store.serve(NEWER)
        assert store.serving_generation() == GENERATION
        embed(store, [second], NEWER)
        assert store.serve(NEWER)
        assert store.serving_generation() == NEWER
        assert store.serve(GENERATION)
        assert store.serving_generation() == GENERATION

    def test_a_generation_can_serve_without_a_passage_that_is_named(self, store: Store) -> None:
        first, second, third = (remember(store, text) for text in ("tea", "coffee", "milk"))
        embed(store, [first, second, third])
        embed(store, [first], NEWER)
        assert not store.serve(NEWER, {passage_hash(second)})
        assert store.serve(NEWER, {passage_hash(second), passage_hash(third)})
        assert store.serving_generation() == NEWER

    def test_in_an_empty_store_any_generation_can_serve(self, store: Store) -> None:
        assert store.serve(NEWER)
        assert store.serving_generation() == NEWER
        assert store.generations() == [GenerationStats(NEWER, 0, 0, serving=True)]

    def test_generations_are_listed_with_what_they_take(self, store: Store) -> None:
        records = [remember(store, "tea"), remember(store, "coffee", "other")]
        embed(store, records)
        embed(store, records[:1], NEWER)
        assert store.generations() == [
            GenerationStats(GENERATION, 2, 2 * 4 * 4, serving=True),
            GenerationStats(NEWER, 1, 2 * 4, serving=False),
        ]

    def test_vectors_that_do_not_serve_are_dropped_in_portions(self, store: Store) -> None:
        records = [remember(store, f"tea {n}", name) for n in range(3) for name in (NAMESPACE, "other")]
        embed(store, records)
        embed(store, records, NEWER)
        with pytest.raises(Conflict):
            store.drop_vectors(GENERATION, 100)
        assert [store.drop_vectors(NEWER, 4) for _ in range(3)] == [4, 2, 0]
        assert store.generations() == [GenerationStats(GENERATION, 6, 6 * 16, serving=True)]
        assert store.pending_count(GENERATION) == 0
        assert store.pending_count(NEWER) == 6
        assert problems(store) == []

    def test_the_vectors_of_earlier_texts_are_dropped_as_well(self, store: Store) -> None:
        record = remember(store, "tea")
        embed(store, [record], NEWER)
        embed(store, [amend(store, record, text="green tea")])
        assert store.serve(GENERATION)
        assert store.drop_vectors(NEWER, 9) == 1
        assert read_once(store).passage_vectors(NEWER, [passage_hash(record)]) == {}

    def test_several_can_begin_at_different_places_and_miss_nothing(self, store: Store) -> None:
        for n in range(9):
            remember(store, f"tea {n}", "other" if n % 2 else NAMESPACE)
        ordered = store.pending(GENERATION, 99)
        middle = sorted(pending.passage_hash for pending in ordered)[4]
        rotated = store.pending(GENERATION, 99, middle)
        assert set(rotated) == set(ordered)
        later = [pending for pending in ordered if pending.passage_hash >= middle]
        assert rotated[: len(later)] == later
        assert store.pending(GENERATION, 2, middle) == later[:2]

    def test_a_calibration_is_kept_as_it_was_measured_first(self, store: Store) -> None:
        assert store.calibration(GENERATION) is None
        store.put_calibration(GENERATION, 0.25)
        store.put_calibration(GENERATION, 0.75)
        store.put_calibration(NEWER, 0.5)
        assert (store.calibration(GENERATION), store.calibration(NEWER)) == (0.25, 0.5)


class ProviderCallsTests(StoreTestBase):
    def test_calls_are_listed_newest_first_before_and_after_they_are_written_down(self, store: Store) -> None:
        calls = [replace(CALL, at=NOON + timedelta(minutes=n), items=n, cost=None) for n in range(4)]
        store.record_calls(calls[:2])
        for _ in range(2):
            assert store.calls(None) == calls[1::-1]
            assert store.flush_use(patience=5)
        store.record_calls(calls[2:])
        assert store.calls(None, 9) == calls[::-1]
        assert store.calls(NOON + timedelta(minutes=1), 2) == calls[:1:-1]
        assert store.calls(NOON + timedelta(hours=1), 9) == store.calls(None, 0) == []

    def test_the_total_counts_each_call_once_and_unknown_prices_as_nothing(self, store: Store) -> None:
        store.record_calls([CALL, replace(CALL, at=NOON - timedelta(1)), replace(CALL, cost=None)])
        for _ in range(2):
            assert store.calls_total(NOON) == (64, 0.5)
            assert store.calls_total(NOON - timedelta(1)) == (96, 1.0)
            assert store.flush_use(patience=5)
        assert store.calls_total(NOON + timedelta(1)) == (0, 0.0)

    def test_calls_of_long_ago_are_dropped(self, store: Store) -> None:
        store.record_calls([replace(CALL, at=NOON - timedelta(days=401)), CALL])
        assert store.flush_use(patience=5)
        assert store.calls(None, 9) == [CALL]

    def test_recording_a_call_does_not_wait_for_someone_who_writes(self, store: Store) -> None:
        with store.write(NAMESPACE):
            store.record_calls([CALL])
        assert store.calls(None, 9) == [CALL]


class ParkedOutputTests(StoreTestBase):
    def test_a_write_takes_it_away_or_leaves_it_with_everything_else(self, store: Store) -> None:
        remember(store, "tea")
        kept, gone = park(store, 1), park(store, 1, purpose="summary")
        assert kept
        assert gone

        def fail() -> None:
            with store.write(NAMESPACE) as writer:
                writer.unpark(kept.id)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        with store.write(NAMESPACE) as writer:
            writer.unpark(gone.id)
        with store.write("other") as writer:
            writer.unpark(kept.id)
        assert store.parked(NAMESPACE) == [kept]

    def test_what_is_parked_is_listed_oldest_first_and_can_be_taken_away(self, store: Store) -> None:
        remember(store, "tea")
        late, early = park(store, 1), park(store, None, at=NOON - timedelta(1))
        assert early
        assert late
        assert store.parked(NAMESPACE) == [early, late]
        assert (late.memory, early.memory, late.output) == (1, None, "tea?")
        assert store.parked("other") == []
        assert not store.unpark("other", late.id)
        assert store.unpark(NAMESPACE, late.id)
        assert not store.unpark(NAMESPACE, late.id)
        assert store.parked(NAMESPACE) == [early]

    def test_what_no_text_holds_is_replaced(self, store: Store) -> None:
        remember(store, "tea")
        parked = park(store, 1, output="a\x00b\ud800c")
        assert parked
        assert parked.output == "a\N{REPLACEMENT CHARACTER}b?c"
        assert store.parked(NAMESPACE) == [parked]

    def test_a_later_failure_takes_the_place_of_the_earlier_one(self, store: Store) -> None:
        remember(store, "tea")
        first, again = park(store, 1), park(store, 1, output="coffee?", attempts=6)
        assert first
        assert again
        assert first.id == again.id
        other = park(store, 1, purpose="summary")
        assert store.parked(NAMESPACE) == [again, other]

    def test_nothing_is_parked_about_a_memory_that_is_not_there(self, store: Store) -> None:
        assert park(store, None, "nowhere") is None
        assert store.namespaces() == []
        remember(store, "tea")
        assert park(store, 2) is None
        assert park(store, 0) is None
        assert park(store, 1 << 40) is None
        assert store.parked(NAMESPACE) == []

    def test_half_of_a_surrogate_pair_does_not_keep_the_rest_from_being_parked(self, store: Store) -> None:
        remember(store, "tea")
        assert park(store, 1, output="a\ud800b")
        assert [parked.output for parked in store.parked(NAMESPACE)] == ["a?b"]

    def test_what_is_parked_about_a_memory_is_erased_with_it(self, store: Store) -> None:
        remember(store, "tea")
        remember(store, "coffee")
        gone, kept, general = park(store, 1), park(store, 2), park(store, None)
        assert gone
        with store.write(NAMESPACE) as writer:
            writer.erase(1, change("erase"))
        assert store.parked(NAMESPACE) == [kept, general]
        assert park(store, 1) is None
        with store.write(NAMESPACE) as writer:
            writer.erase(2, change("erase"))
        assert store.parked(NAMESPACE) == []
        assert problems(store) == []

    def test_what_earlier_versions_said_is_not_kept_in_what_is_parked(self, store: Store) -> None:
        record = remember(store, "tea")
        park(store, 1)
        amend(store, record, text="coffee")
        assert len(store.parked(NAMESPACE)) == 1
        with store.write(NAMESPACE) as writer:
            writer.drop_payloads(1)
        assert store.parked(NAMESPACE) == []

    def test_a_repair_keeps_what_is_parked_and_what_left_the_machine(self, store: Store) -> None:
        remember(store, "tea")
        parked = park(store, 1)
        store.record_calls([CALL])
        assert store.flush_use(patience=5)
        repair(store)
        assert (store.parked(NAMESPACE), store.calls(None, 9)) == ([parked], [CALL])
