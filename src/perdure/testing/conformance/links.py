"""Links and tombstones: what belongs together, and what must not come back."""

from __future__ import annotations

from datetime import timedelta
from typing import Any, cast

import pytest

from perdure.errors import InvalidInput
from perdure.ids import content_hash, new_id
from perdure.model import SCOPE_FIELDS, Identity, identity_of
from perdure.store.port import LINK_KINDS, Link, Store
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import NAMESPACE, NOON, amend, read_once, remember

HOUR = timedelta(hours=1)
TARGETS = ["https://example.org/ä", "0" * 32, "sixteen letters.", "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"]
TEA, COFFEE = Identity(content_hash("tea")), Identity(content_hash("coffee"))


class LinksTests(StoreTestBase):
    def test_a_link_is_seen_from_both_ends_oldest_first(self, store: Store) -> None:
        first, second, third = (remember(store, f"memory {n}").id for n in range(3))
        with store.write(NAMESPACE) as writer:
            writer.put_link(third, "merged_from", second, NOON + HOUR)
            writer.put_link(second, "supersedes", first, NOON)
        later, earlier = Link(third, "merged_from", second, NOON + HOUR), Link(second, "supersedes", first, NOON)
        assert read_once(store).links(second) == [earlier, later]
        assert read_once(store).links(first) == [earlier]
        assert read_once(store).links(new_id()) == read_once(store, "nowhere").links(first) == []

    @pytest.mark.parametrize(
        "target", ["https://example.org/ä", "0" * 32, "sixteen letters.", "0198a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b"]
    )
    def test_a_link_leads_to_whatever_has_a_name(self, store: Store, target: str) -> None:
        source = remember(store, "tea").id
        with store.write(NAMESPACE) as writer:
            for kind in LINK_KINDS:
                writer.put_link(source, kind, target, NOON)
        assert {link.target for link in read_once(store).links(source)} == {target}
        assert {link.kind for link in read_once(store).links(source)} == set(LINK_KINDS)

    def test_a_link_made_twice_is_the_first_one(self, store: Store) -> None:
        source, target = new_id(), new_id()
        for hours in range(2):
            with store.write(NAMESPACE) as writer:
                writer.put_link(source, "evidence", target, NOON + hours * HOUR)
        assert read_once(store).links(source) == [Link(source, "evidence", target, NOON)]

    def test_a_link_of_no_known_kind_is_refused(self, store: Store) -> None:
        with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
            writer.put_link(new_id(), cast("Any", "likes"), new_id(), NOON)
        with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
            writer.put_link(cast("Any", "nobody"), "evidence", new_id(), NOON)
        assert store.namespaces() == []


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
        source, target = new_id(), new_id()
        with store.write("theirs") as writer:
            writer.put_link(source, "evidence", target, NOON)
            writer.add_tombstone(TEA, "forgotten", NOON)
        with store.write("ours") as writer:
            assert writer.tombstone_since(TEA) is None
            writer.next_number()
            writer.lift_tombstone(TEA)
            assert writer.tombstone_since(TEA) is None
        assert read_once(store, "ours").links(source) == []
        assert read_once(store, "theirs").tombstone_since(TEA) == NOON

    def test_a_failed_write_leaves_neither_link_nor_tombstone(self, store: Store) -> None:
        source = remember(store, "tea").id

        def fail() -> None:
            with store.write(NAMESPACE) as writer:
                writer.put_link(source, "evidence", "e1", NOON)
                writer.add_tombstone(COFFEE, "forgotten", NOON)
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert read_once(store).links(source) == []
        assert read_once(store).tombstone_since(COFFEE) is None
