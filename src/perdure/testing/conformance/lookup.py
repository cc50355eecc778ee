"""Finding: by reference, by number, by page, by filter; and the history of what was found."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.ids import Reference, parse_reference
from perdure.model import STATES, TIERS, Filter, Json
from perdure.store.port import Store
from perdure.testing.conformance.store_fixture import RELAXED, StoreTestBase
from perdure.testing.records import NOON, amend, read_once, remember
from perdure.tiers import PROPOSED, offered_tier
from perdure.visibility import matches_filter

FILTERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"tags": ("hot",)}, {"tags": ("hot", "black")}),
    ({"tags": ("hot", "black")}, {"tags": ("black", "hot")}),
    ({"categories": ("goal", "interest")}, {"category": "goal"}),
    ({"sources": ("chat",)}, {"source": "chat"}),
    ({"context_type": "decision"}, {"context_type": "decision"}),
    ({"tier": "critical"}, {"tier": "critical"}),
    ({"source_project": "P"}, {"source_project": "P"}),
    ({"spec_folder": "F"}, {"spec_folder": "F"}),
    ({"conversation_id": "C"}, {"conversation_id": "C"}),
    ({"since": NOON + timedelta(hours=1)}, {"created_at": NOON + timedelta(hours=1)}),
    ({"since": NOON + timedelta(hours=1)}, {"valid_at": NOON + timedelta(hours=2)}),
    ({"until": NOON}, {"created_at": NOON - timedelta(microseconds=1)}),
    ({"until": NOON}, {"valid_at": NOON - timedelta(hours=1)}),
    ({"states": ("superseded", "deleted")}, {"state": "deleted"}),
    ({"created_since": NOON + timedelta(hours=1)}, {"created_at": NOON + timedelta(hours=1), "valid_at": NOON}),
    ({"created_until": NOON}, {"created_at": NOON - timedelta(microseconds=1), "valid_at": NOON}),
    ({"key_type": "drink"}, {"key": "drink:coffee"}),
    ({"min_importance": 0.7}, {"importance": 0.7}),
    ({"max_importance": 0.3}, {"importance": 0.3}),
    ({"where": (("a.b", ("1", '"x"')), ("c", ("null",)))}, {"metadata": {"a.b": ["y", 1.0], "c": None}}),
    ({"where": (("done", ("true",)),)}, {"metadata": {"done": True}}),
    ({"offered": True}, {"metadata": {PROPOSED: "constitutional"}}),
    ({"offered": True}, {"validation_count": 5, "confidence": 0.9, "tier": "important"}),
]


class LookupTests(StoreTestBase):
    def test_entries_of_metadata_are_compared_by_type(self, store: Store) -> None:
        values: list[Json] = [1, "1", True, None, [1, 2], {"1": 1}, 1.5, "true"]
        for value in values:
            remember(store, "tea", metadata={"a.b": value})
        remember(store, "tea")
        asked = {"1": [1, 5], '"1"': [2], "true": [3], "null": [4], "2": [5], "1.5": [7], '"true"': [8], "false": []}
        for value, numbers in asked.items():
            filter = Filter(where=(("a.b", (value,)),))
            assert sorted(read_once(store).numbers(filter)) == numbers
            page = read_once(store).page(filter, after=None, limit=9, newest=False)
            assert [record.number for record in page] == numbers
            assert all(matches_filter(record, filter) for record in page)

    def test_a_memory_is_found_by_each_of_its_names(self, store: Store) -> None:
        remember(store, "coffee")
        record = remember(store, "tea", key="drink:tea")
        for ref in (2, "#2", record.id, record.content_hash, "drink:tea"):
            assert read_once(store).find(parse_reference(ref)) == [record]

    def test_keys_are_listed_by_how_they_begin(self, store: Store) -> None:
        names = [
            "drink:tea/1",
            "drink:tea/2",
            "drink:tea",
            "drink:coffee/1",
            "drink:tea/\U0010fffe",
            "food:tea/1",
            None,
        ]
        records = {key: remember(store, f"text {n}", key=key) for n, key in enumerate(names)}
        amend(store, records["drink:tea/2"], state="deleted")
        remember(store, "elsewhere", key="drink:tea/3", namespace="other")
        tea = ["drink:tea/1", "drink:tea/2", "drink:tea/\U0010fffe"]
        reader = read_once(store)
        assert reader.keys("drink:tea/", limit=9) == [(key, records[key].number) for key in tea]
        assert [key for key, _ in reader.keys("drink:tea/", limit=2, newest=True)] == tea[:0:-1]
        assert [key for key, _ in reader.keys("drink:", limit=2, after="drink:tea")] == tea[:2]
        assert reader.keys("drink:tea/", limit=0) == reader.keys("drink:water", limit=9) == []
        assert read_once(store, "nowhere").keys("drink:", limit=9) == []

    def test_a_reference_to_nothing_finds_nothing(self, store: Store) -> None:
        remember(store, "tea")
        strange = Reference("", number=2**40, key="drink:\ud800")
        for reference in (parse_reference(7), parse_reference("drink:none"), parse_reference("0" * 16), strange):
            assert read_once(store).find(reference) == []
        assert read_once(store, "nowhere").find(parse_reference(1)) == []

    def test_a_reference_that_can_be_read_in_several_ways_finds_each_memory_once(self, store: Store) -> None:
        first, second = remember(store, "tea", key="drink:tea"), remember(store, "coffee")
        both = Reference("", number=second.number, id=first.id, hash=first.content_hash, key="drink:tea")
        found = read_once(store).find(both)
        assert sorted(record.number for record in found) == [1, 2]

    def test_a_content_hash_means_the_active_memory_while_there_is_one(self, store: Store) -> None:
        first = remember(store, "tea")
        gone = amend(store, first, "forget", state="deleted")
        reference = parse_reference(first.content_hash)
        assert read_once(store).find(reference) == [gone]
        again = remember(store, "Tea")
        assert read_once(store).find(reference) == [again]

    def test_a_deleted_memory_is_still_found_by_reference(self, store: Store) -> None:
        record = remember(store, "tea")
        gone = amend(store, record, "forget", state="deleted")
        assert read_once(store).find(parse_reference(1)) == read_once(store).fetch([1]) == [gone]

    def test_numbers_are_fetched_in_the_order_asked_for_and_missing_ones_left_out(self, store: Store) -> None:
        records = [remember(store, f"memory {n}") for n in range(5)]
        assert read_once(store).fetch([5, 99, 1, 0, -3, 2**40, 3]) == [records[4], records[0], records[2]]
        assert read_once(store).fetch([]) == []
        assert read_once(store, "nowhere").fetch([1]) == []

    def test_pages_follow_each_other_in_both_directions(self, store: Store) -> None:
        records = [remember(store, f"memory {n}") for n in range(5)]

        def pages(*, newest: bool) -> list[int]:
            found: list[int] = []
            while page := read_once(store).page(Filter(), after=found[-1] if found else None, limit=2, newest=newest):
                assert all(record == records[record.number - 1] for record in page)
                found += [record.number for record in page]
            return found

        assert pages(newest=False) == [1, 2, 3, 4, 5]
        assert pages(newest=True) == [5, 4, 3, 2, 1]
        assert read_once(store, "nowhere").page(Filter(), after=None, limit=5, newest=True) == []

    @pytest.mark.parametrize(("wanted", "fields"), FILTERS, ids=range(len(FILTERS)))
    def test_a_filter_lets_pass_what_it_says_and_nothing_else(
        self, store: Store, wanted: dict[str, Any], fields: dict[str, Any]
    ) -> None:
        plain = remember(store, "tea", tags=("hot",)) if len(wanted.get("tags", ())) > 1 else remember(store, "tea")
        special = remember(store, "coffee", **fields)
        assert plain.number != special.number
        assert read_once(store).page(Filter(**wanted), after=None, limit=9, newest=False) == [special]
        assert list(read_once(store).numbers(Filter(**wanted))) == [special.number]

    @settings(RELAXED, max_examples=60)
    @given(
        st.sampled_from(TIERS), st.integers(3, 7), st.sampled_from([0.0, 0.89, 0.9, 1.0]),
        st.none() | st.sampled_from([*TIERS, "royal", "", 3, None, ["critical"]]),
    )  # fmt: skip
    def test_what_is_offered_is_what_the_tiers_offer(
        self, tier: str, validations: int, confidence: float, proposed: Any
    ) -> None:
        with closing(self.open_store()) as store:
            fields: dict[str, Any] = {"tier": tier, "validation_count": validations, "confidence": confidence}
            record = remember(store, "tea", metadata={} if proposed is None else {PROPOSED: proposed}, **fields)
            offered = list(read_once(store).numbers(Filter(offered=True)))
            assert offered == ([1] if offered_tier(record) else [])

    def test_what_has_expired_can_be_left_out(self, store: Store) -> None:
        remember(store, "tea", expires_at=NOON)
        remember(store, "coffee", expires_at=NOON + timedelta(microseconds=1))
        remember(store, "milk")
        assert sorted(read_once(store).numbers(Filter(unexpired_at=NOON))) == [2, 3]

    def test_conditions_of_a_filter_are_joined(self, store: Store) -> None:
        remember(store, "one", tags=("a",), category="goal")
        remember(store, "two", tags=("a",))
        remember(store, "three", category="goal")
        assert list(read_once(store).numbers(Filter(tags=("a",), categories=("goal",)))) == [1]

    def test_a_tag_given_twice_in_record_or_filter_counts_once(self, store: Store) -> None:
        remember(store, "tea", tags=("hot", "hot"))
        assert list(read_once(store).numbers(Filter(tags=("hot", "hot")))) == [1]

    def test_a_filter_follows_what_the_memory_has_become(self, store: Store) -> None:
        record = remember(store, "tea", tags=("hot",))
        amend(store, record, tags=("cold",))
        assert list(read_once(store).numbers(Filter(tags=("hot",)))) == []
        assert list(read_once(store).numbers(Filter(tags=("cold",)))) == [1]

    def test_matching_without_a_filter_is_every_active_memory(self, store: Store) -> None:
        records = [remember(store, f"memory {n}") for n in range(4)]
        amend(store, records[2], "forget", state="deleted")
        assert sorted(read_once(store).numbers(Filter())) == [1, 2, 4]
        assert sorted(read_once(store).numbers(Filter(states=STATES))) == [1, 2, 3, 4]
        assert list(read_once(store, "nowhere").numbers(Filter())) == []

    def test_the_history_of_a_memory_is_every_state_it_had_oldest_first(self, store: Store) -> None:
        first = remember(store, "tea")
        remember(store, "another")
        second = amend(store, first, text="green tea")
        third = amend(store, second, "forget", state="deleted")
        history = read_once(store).revisions(1)
        assert [revision.record for revision in history] == [first, second, third]
        assert [revision.seq for revision in history] == [1, 3, 4]
        assert [revision.version for revision in history] == [1, 2, 2]
        assert [revision.change.operation for revision in history] == ["insert", "update", "forget"]
        assert {revision.memory for revision in history} == {first.id}
        assert {revision.change.actor for revision in history} == {"tester"}
        assert {revision.change.at for revision in history} == {NOON}

    def test_a_memory_that_never_was_has_no_history(self, store: Store) -> None:
        remember(store, "tea")
        assert read_once(store).revisions(7) == read_once(store, "nowhere").revisions(1) == []

    def test_every_revision_has_a_digest_and_a_link_of_its_own(self, store: Store) -> None:
        for _ in range(3):
            remember(store, "the very same text")
        revisions = [revision for number in (1, 2, 3) for revision in read_once(store).revisions(number)]
        for values in ({revision.digest for revision in revisions}, {revision.hash for revision in revisions}):
            assert len(values) == 3
            assert all(len(bytes.fromhex(value)) == 32 for value in values)
