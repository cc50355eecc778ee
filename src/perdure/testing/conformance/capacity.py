"""Room: how much a namespace holds, its limits, and who would go first."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import closing
from dataclasses import replace
from datetime import timedelta
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.errors import InvalidInput
from perdure.model import INDEXED_STATES, STATES, TIERS, EvictionCandidate, Operation, Record
from perdure.store.capacity import EvictionRule, Load
from perdure.store.port import Store, Use
from perdure.testing.conformance.store_fixture import RELAXED, StoreTestBase
from perdure.testing.records import NAMESPACE, NOON, amend, change, draft, insert, problems, read_once, remember, repair
from perdure.text.entry import entry_of
from perdure.text.tokens import estimate
from perdure.tiers import last_used

RULE = EvictionRule(0.3, 0.7)
HOUR = timedelta(hours=1)
# What of all that a person may do to a memory is a hand in what it says, and what is not.
_BY_HAND: Final[tuple[Operation, ...]] = ("observe", "update", "validate", "promote", "restore")
_IN_PASSING: Final[tuple[Operation, ...]] = ("annotate", "expire", "evict", "undo", "rewind")
USES = st.none() | st.integers(-3, 3).map(lambda hours: NOON + hours * HOUR)
MEMORIES = st.fixed_dictionaries(
    {
        "state": st.sampled_from(STATES),
        "tier": st.sampled_from(TIERS),
        "importance": st.sampled_from([0.0, 0.29, 0.3, 0.5, 0.69, 0.7, 1.0]),
        "updated_at": st.integers(-3, 3).map(lambda hours: NOON + hours * HOUR),
    }
)


def load(store: Store, namespace: str = NAMESPACE) -> Load:
    with store.write(namespace) as writer:
        return writer.load()


def eviction_order(candidates: Iterable[EvictionCandidate], rule: EvictionRule) -> list[EvictionCandidate]:
    """Pure: the memories that may be evicted, first to last, as every store has to list them. Superseded ones go first,
    then those of low importance, then the others; inside each class the least recently used first, of equal ones the
    oldest.
    """

    def may_go(candidate: EvictionCandidate) -> bool:
        indexed = candidate.state in INDEXED_STATES
        return indexed and candidate.importance < rule.high and candidate.tier not in rule.protected_tiers

    def rank(candidate: EvictionCandidate) -> tuple[int, object, int]:
        group = 0 if candidate.state == "superseded" else 1 if candidate.importance < rule.low else 2
        return group, candidate.last_used, candidate.number

    return sorted(filter(may_go, candidates), key=rank)


class CapacityTests(StoreTestBase):
    def test_the_load_is_what_may_be_found_and_its_tokens(self, store: Store) -> None:
        assert load(store) == Load(0, 0, None, None)
        first = remember(store, "x" * 40)
        second = remember(store, "x" * 80, state="superseded")
        remember(store, "x" * 400, state="evicted")
        assert load(store) == read_once(store).capacity(RULE).load == Load(2, 30, None, None)
        amend(store, first, text="x" * 8)
        assert load(store) == Load(2, 22, None, None)
        amend(store, second, "forget", state="deleted")
        assert load(store) == Load(1, 2, None, None)
        assert load(store, "nowhere") == Load(0, 0, None, None)
        assert store.namespaces() == [NAMESPACE]

    def test_tokens_are_those_the_writer_counted(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            record = insert(writer, draft("three little words"))
            writer.put(record, change("observe"), entry_of(record, lambda text: len(text.split())))
            assert writer.load().tokens == 3
        assert load(store).tokens == 3
        assert problems(store) == []
        repair(store)
        assert load(store).tokens == 3

    def test_a_transaction_sees_the_load_it_makes_and_a_failed_one_leaves_none(self, store: Store) -> None:
        def fail() -> None:
            with store.write(NAMESPACE) as writer:
                insert(writer, draft("x" * 40))
                writer.set_limits(1, 2)
                assert writer.load() == Load(1, 10, 1, 2)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert load(store) == Load(0, 0, None, None)

    def test_limits_belong_to_one_namespace_and_can_be_taken_away(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            writer.set_limits(5, None)
        remember(store, "tea", "other")
        assert load(store) == Load(0, 0, 5, None)
        assert load(store, "other").max_items is None
        with store.write(NAMESPACE) as writer:
            writer.set_limits(None, 9)
        assert load(store) == Load(0, 0, None, 9)

    @pytest.mark.parametrize("limits", [(0, None), (None, 0), (-1, 5)])
    def test_a_limit_that_leaves_no_room_at_all_is_refused(
        self, store: Store, limits: tuple[int | None, int | None]
    ) -> None:
        with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
            writer.set_limits(*limits)

    @settings(RELAXED, max_examples=30)
    @given(st.lists(st.tuples(MEMORIES, USES, USES), max_size=8), st.integers(0, 9))
    def test_who_may_go_comes_in_the_order_of_the_rule(
        self, memories: list[tuple[dict[str, Any], Any, Any]], limit: int
    ) -> None:
        with closing(self.open_store()) as store:
            for fields, recalled, accessed in memories:
                record = remember(store, "tea", **fields)
                store.note_use([Use(NAMESPACE, record.number, 1, recalled, 1, accessed)])
                if record.number % 2:
                    assert store.flush_use(patience=5)
            standings = [
                EvictionCandidate(
                    record.number, record.importance, record.tier, record.state, estimate("tea"), last_used(record)
                )
                for record in read_once(store).fetch(range(1, 9))
            ]
            expected = eviction_order(standings, RULE)
            assert read_once(store).eviction_candidates(RULE, limit) == expected[:limit]
            with store.write(NAMESPACE) as writer:
                assert writer.eviction_candidates(RULE, 99) == expected
            stats = read_once(store).capacity(RULE)
            assert stats.protected == sum(one.state in INDEXED_STATES for one in standings) - len(expected)
            assert stats.evicted == sum(one.state == "evicted" for one in standings)

    def test_for_a_model_nothing_goes_that_a_person_had_a_hand_in(self, store: Store) -> None:
        def said(text: str, *operations: tuple[Operation, bool], **fields: Any) -> Record:
            with store.write(NAMESPACE) as writer:
                record = replace(draft(text, **fields), number=writer.next_number())
                for operation, by_model in operations:
                    record = writer.put(record, change(operation, by_model=by_model), entry_of(record))
            return record

        theirs, juice = said("tea", ("insert", True), ("update", True)), said("juice", ("insert", True))
        handed = [said(f"coffee {one}", ("insert", True), (one, False)) for one in _BY_HAND]
        noticed = [said(f"milk {one}", ("insert", True), (one, False)) for one in _IN_PASSING]
        own = said("water", ("insert", False))
        merged = said("tea and juice", ("insert", True), merged_from=(theirs.id, juice.id))
        joined = said("tea and water", ("insert", True), merged_from=(theirs.id, own.id))
        again = said("tea and water, twice", ("insert", True), merged_from=(joined.id,))
        found = read_once(store).eviction_candidates(replace(RULE, models_only=True), 99)
        models = {one.number for one in (theirs, juice, merged, *noticed)}
        assert {one.number for one in found} == models
        assert read_once(store).eviction_candidates(replace(RULE, models_only=True), 2) == found[:2]
        everybody = {one.number for one in read_once(store).eviction_candidates(RULE, 99)}
        assert everybody == models | {one.number for one in (own, joined, again, *handed)}

    def test_of_two_that_are_as_old_the_lower_number_goes_first_whatever_its_importance(self, store: Store) -> None:
        for importance in (0.6, 0.5):
            remember(store, "tea", importance=importance)
        assert [one.number for one in read_once(store).eviction_candidates(RULE, 1)] == [1]

    def test_whoever_was_touched_inside_the_transaction_goes_later(self, store: Store) -> None:
        for text in ("tea", "coffee"):
            remember(store, text)
        with store.write(NAMESPACE) as writer:
            assert [one.number for one in writer.eviction_candidates(RULE, 9)] == [1, 2]
            writer.touch(1, NOON + HOUR)
            writer.touch(1, NOON - HOUR)
            writer.touch(99, NOON)
            assert [one.number for one in writer.eviction_candidates(RULE, 9)] == [2, 1]
        (record,) = read_once(store).fetch([1])
        assert (record.accessed_at, record.access_count, record.recall_count) == (NOON + HOUR, 0, 0)
        assert len(read_once(store).revisions(1)) == 1
        with store.write("nowhere") as writer:
            writer.touch(1, NOON)
            assert writer.eviction_candidates(RULE, 9) == []
        assert read_once(store, "nowhere").eviction_candidates(RULE, 9) == []

    def test_capacity_counts_versions_and_shows_how_important_memories_are(self, store: Store) -> None:
        first = remember(store, "tea", importance=0.2)
        remember(store, "coffee", importance=0.9)
        remember(store, "milk", importance=0.4, tier="critical")
        remember(store, "gone", importance=1.0, state="deleted")
        amend(store, amend(store, first, text="green tea"), title="Drinks")
        stats = read_once(store).capacity(RULE)
        assert (stats.versions, stats.protected, stats.evicted) == (5, 2, 0)
        assert stats.importance == pytest.approx({"lowest": 0.2, "mean": 0.5, "highest": 0.9})
        with store.write(NAMESPACE) as writer:
            writer.drop_payloads(1)
        assert read_once(store).capacity(RULE).versions == 4

    def test_a_namespace_without_memories_holds_nothing(self, store: Store) -> None:
        stats = read_once(store, "nowhere").capacity(RULE)
        assert (stats.load, stats.versions, stats.protected, stats.evicted) == (Load(0, 0, None, None), 0, 0, 0)
        assert set(stats.importance) == {"lowest", "mean", "highest"}
