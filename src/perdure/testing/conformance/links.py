"""Links, reviews and tombstones: what belongs together, what waits, and what must not come back."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any, cast

import pytest

from perdure.errors import InvalidInput, NotFound
from perdure.ids import content_hash, new_id
from perdure.model import SCOPE_FIELDS, Identity, identity_of
from perdure.store.port import LINK_KINDS, Link, Review, Store
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import NAMESPACE, NOON, amend, change, read_once, remember
from perdure.text.entry import entry_of

HOUR = timedelta(hours=1)
TEA, COFFEE = Identity(content_hash("tea")), Identity(content_hash("coffee"))


def retrieved(number: int = 1, *, rank: int = 1, at: datetime = NOON, namespace: str = NAMESPACE) -> Review:
    return Review(namespace, number, rank, at, at)


class LinksTests(StoreTestBase):
    def test_a_link_is_seen_from_both_ends(self, store: Store) -> None:
        first = remember(store, "tea")
        second = remember(store, "green tea", supersedes=(first.id,))
        third = remember(store, "black tea", merged_from=(second.id,), evidence=(first.id,))
        replaced = Link(2, second.id, "supersedes", first.id)
        merged = Link(3, third.id, "merged_from", second.id)
        concluded = Link(3, third.id, "evidence", first.id)
        assert read_once(store).links(second.id) == [replaced, merged]
        assert read_once(store).links(first.id) == [replaced, concluded]
        assert read_once(store).links(third.id) == [concluded, merged]
        assert read_once(store).links(new_id()) == read_once(store, "nowhere").links(first.id) == []

    def test_what_was_made_of_several_memories_is_one_answer(self, store: Store) -> None:
        first, second = remember(store, "tea"), remember(store, "milk")
        both = remember(store, "tea with milk", merged_from=(first.id, second.id), evidence=(first.id,))
        asked = (first.id, second.id, new_id())
        links = read_once(store).linked(asked)
        assert {(link.number, link.kind, link.target) for link in links} == {
            (both.number, "evidence", first.id),
            (both.number, "merged_from", first.id),
            (both.number, "merged_from", second.id),
        }
        assert links == sorted(links)
        assert [link.kind for link in read_once(store).linked(asked, ["evidence"])] == ["evidence"]
        assert read_once(store).linked((both.id,)) == read_once(store).linked(()) == []

    def test_links_from_keys_of_one_type_are_found_alone(self, store: Store) -> None:
        tea = remember(store, "tea")
        asked = remember(store, "is it green?", key="question:tea", evidence=(tea.id,))
        for key in (None, "question-2:tea", "questions:tea", "quest:tea"):
            remember(store, f"about {key}", key=key, evidence=(tea.id,))
        assert [link.number for link in read_once(store).linked((tea.id,), key_type="question")] == [asked.number]

    def test_links_follow_the_fields_of_their_memory(self, store: Store) -> None:
        named = [new_id() for _ in range(300)]
        record = remember(store, "tea", evidence=named[:2])
        for kind in LINK_KINDS:
            for names in (named[1:3], (), named, named[:1], (named[0], named[0])):
                changes: dict[str, Any] = {kind: tuple(names)}
                record = amend(store, record, **changes)
                links = read_once(store).links(record.id)
                assert sorted(link.target for link in links if link.kind == kind) == sorted(set(names))
        record = amend(store, record, "forget", state="deleted")
        assert {link.kind for link in read_once(store).links(record.id)} == set(LINK_KINDS)

    def test_what_is_no_id_is_no_link(self, store: Store) -> None:
        for name in ("https://example.org/ä", "0" * 32, "sixteen letters.", new_id().upper()):
            record = remember(store, "tea", evidence=(name,))
            assert read_once(store).links(record.id) == []
            assert read_once(store).fetch([record.number]) == [record]

    def test_a_question_about_what_is_no_id_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput):
            read_once(store).links(cast("Any", "nobody"))


class ReviewsTests(StoreTestBase):
    def test_a_review_is_pending_until_it_is_taken(self, store: Store) -> None:
        remember(store, "tea")
        store.note_reviews([retrieved(rank=3)])
        assert store.flush_use(patience=5)
        (pending,) = store.pending_reviews(NAMESPACE)
        assert pending == retrieved(rank=3)
        with store.write(NAMESPACE) as writer:
            assert writer.take_review(pending)
            assert not writer.take_review(pending)
        assert store.pending_reviews(NAMESPACE) == []

    def test_of_several_the_best_rank_and_both_ends_of_the_time_count(self, store: Store) -> None:
        remember(store, "tea")
        for reviews in (((5, 1), (2, 0)), ((4, 2),), ((3, 1),)):
            store.note_reviews([retrieved(rank=rank, at=NOON + hours * HOUR) for rank, hours in reviews])
            assert store.flush_use(patience=5)
        assert store.pending_reviews(NAMESPACE) == [Review(NAMESPACE, 1, 2, NOON, NOON + 2 * HOUR)]

    def test_one_that_was_retrieved_since_it_was_read_stays(self, store: Store) -> None:
        remember(store, "tea")
        for hours in range(2):
            store.note_reviews([retrieved(at=NOON + hours * HOUR)])
            assert store.flush_use(patience=5)
        with store.write(NAMESPACE) as writer:
            assert not writer.take_review(retrieved())
        assert len(store.pending_reviews(NAMESPACE)) == 1

    def test_a_review_taken_in_a_write_that_failed_is_pending(self, store: Store) -> None:
        remember(store, "tea")
        store.note_reviews([retrieved()])
        assert store.flush_use(patience=5)

        def fail() -> None:
            with store.write(NAMESPACE) as writer:
                assert writer.take_review(retrieved())
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert len(store.pending_reviews(NAMESPACE)) == 1

    def test_reviews_are_oldest_first_and_of_their_namespace(self, store: Store) -> None:
        remember(store, "tea")
        remember(store, "coffee")
        remember(store, "milk", "theirs")
        given = [retrieved(at=NOON + HOUR), retrieved(2), retrieved(namespace="theirs")]
        store.note_reviews([*given, retrieved(7), retrieved(namespace="nowhere")])
        assert store.flush_use(patience=5)
        assert [review.number for review in store.pending_reviews(NAMESPACE)] == [2, 1]
        assert store.pending_reviews("theirs") == [given[2]]
        assert store.pending_reviews("nowhere") == []

    def test_a_review_goes_with_its_memory(self, store: Store) -> None:
        remember(store, "tea")
        for _ in range(2):
            store.note_reviews([retrieved()])
            assert store.flush_use(patience=5)
            with store.write(NAMESPACE) as writer, suppress(NotFound):
                writer.erase(1, change("erase"))
            assert store.pending_reviews(NAMESPACE) == []


class TombstonesTests(StoreTestBase):
    def test_a_tombstone_stays_until_it_is_lifted(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            assert writer.tombstone_since(TEA) is None
            writer.add_tombstone(TEA, "forgotten", NOON)
            assert writer.tombstone_since(TEA) == NOON
        with store.read(NAMESPACE) as reader:
            assert reader.tombstone_since(TEA) == NOON
            assert reader.tombstone_since(COFFEE) is None
        with store.write(NAMESPACE) as writer:
            assert writer.lift_tombstone(TEA) == NOON
            assert writer.lift_tombstone(TEA) is writer.lift_tombstone(COFFEE) is None
        assert read_once(store).tombstone_since(TEA) is None

    def test_a_text_gets_no_tombstone_while_an_active_memory_has_it_there(self, store: Store) -> None:
        for fields in ({}, {"key": "drink:tea"}, {"conversation_id": "c1"}, {"file_path": "a.md", "anchor_id": "top"}):
            record = remember(store, "tea", **fields)
            identity = identity_of(record)
            with store.write(NAMESPACE) as writer:
                writer.add_tombstone(identity, "forgotten", NOON)
                assert writer.tombstone_since(identity) is None
            amend(store, record, "forget", state="deleted")
            with store.write(NAMESPACE) as writer:
                writer.add_tombstone(identity, "forgotten", NOON)
                assert writer.tombstone_since(identity) == NOON

    def test_a_tombstone_is_of_a_text_in_its_scope_and_under_its_key(self, store: Store) -> None:
        alice, bob = TEA._replace(key="drink:alice"), TEA._replace(key="drink:bob")
        places = (TEA, alice, bob, *(TEA._replace(**{name: "x"}) for name in SCOPE_FIELDS))
        for place in places:
            # Evidence without a key does not bring back either what was forgotten under one.
            kept_out = [TEA, alice] if place is alice else [TEA, bob] if place is bob else [place]
            with store.write(NAMESPACE) as writer:
                writer.add_tombstone(place, "forgotten", NOON)
                assert [each for each in places if writer.tombstone_since(each)] == kept_out
                assert writer.lift_tombstone(place) == NOON
                assert not any(map(writer.tombstone_since, places))

    def test_of_two_tombstones_of_a_text_the_later_time_counts(self, store: Store) -> None:
        for at in (NOON, NOON + HOUR, NOON - HOUR):
            with store.write(NAMESPACE) as writer:
                writer.add_tombstone(TEA, "forgotten", at)
        assert read_once(store).tombstone_since(TEA) == NOON + HOUR

    def test_links_and_tombstones_stay_in_their_namespace(self, store: Store) -> None:
        target = new_id()
        remember(store, "tea", "theirs", evidence=(target,))
        remember(store, "tea", "ours")
        with store.write("theirs") as writer:
            writer.add_tombstone(COFFEE, "forgotten", NOON)
        with store.write("ours") as writer:
            assert writer.tombstone_since(COFFEE) is None
            writer.next_number()
            writer.lift_tombstone(COFFEE)
            assert writer.tombstone_since(COFFEE) is None
        assert read_once(store, "ours").links(target) == read_once(store, "ours").linked((target,)) == []
        assert [link.number for link in read_once(store, "theirs").links(target)] == [1]
        assert read_once(store, "theirs").tombstone_since(COFFEE) == NOON

    def test_a_failed_write_leaves_neither_link_nor_tombstone(self, store: Store) -> None:
        source, target = remember(store, "tea"), new_id()

        def fail() -> None:
            with store.write(NAMESPACE) as writer:
                changed = replace(source, evidence=(target,))
                writer.put(changed, change("annotate"), entry_of(changed))
                writer.add_tombstone(COFFEE, "forgotten", NOON)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert read_once(store).links(source.id) == []
        assert read_once(store).tombstone_since(COFFEE) is None
