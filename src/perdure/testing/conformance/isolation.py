"""Isolation: whatever a namespace is called, it never sees another."""

from __future__ import annotations

from perdure.ids import parse_reference
from perdure.model import STATES, Filter, identity_of
from perdure.store.port import LogFilter, Position, Store, Use
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import GENERATION, NOON, amend, draft, embed, insert, problems, read_once, remember

NAMES = [
    "a", "A", "a ", "ä", "a\u0308", "a'b", 'a"b', "a;--", "a%", "a_", "*", "?", "NULL", "1", "0", "a\nb",
    "a/../b", "DROP TABLE namespace", "東京", "🙂", "\u202ea", "a" * 300,
]  # fmt: skip


class IsolationTests(StoreTestBase):
    def test_hostile_names_are_only_names(self, store: Store) -> None:
        records = {name: remember(store, f"secret of {n}", name, tags=("t",)) for n, name in enumerate(NAMES)}
        assert sorted(store.namespaces()) == sorted(NAMES)
        for name, record in records.items():
            assert record.number == record.seq == 1
            assert read_once(store, name).page(Filter(states=STATES), after=None, limit=9, newest=True) == [record]
            assert list(read_once(store, name).numbers(Filter(tags=("t",)))) == [1]
            assert [
                scored.number for scored in read_once(store, name).keyword_search(["secret"], Filter(), NOON, 9).best
            ] == [1]
        assert problems(store) == []

    def test_no_way_of_reading_leads_into_another_namespace(self, store: Store) -> None:
        theirs = remember(store, "tea", "theirs", key="drink:tea", tags=("hot",))
        embed(store, [theirs])
        remember(store, "coffee", "ours")
        remember(store, "milk", "theirs")
        for ref in (2, theirs.id, theirs.content_hash, "drink:tea"):
            assert read_once(store, "ours").find(parse_reference(ref)) == []
        assert [record.text for record in read_once(store, "ours").fetch([1, 2])] == ["coffee"]
        assert list(read_once(store, "ours").numbers(Filter(tags=("hot",)))) == []
        assert read_once(store, "ours").keyword_search(["tea", "milk"], Filter(), NOON, 9).best == []
        assert read_once(store, "ours").revisions(2) == []
        assert [row.number for row in store.index_rows("ours", GENERATION, 0, 9)] == [1]
        assert [row.number for row in store.index_changes("ours", GENERATION, Position()).rows] == [1]
        with store.write("ours") as writer:
            assert writer.by_number(2) is writer.by_key("drink:tea") is writer.by_content(identity_of(theirs)) is None

    def test_a_request_of_one_namespace_is_unknown_in_another(self, store: Store) -> None:
        for name in ("theirs", "ours"):
            with store.write(name) as writer:
                assert writer.log(LogFilter(request="call-1"), limit=9) == []
                insert(writer, draft("tea", name), request="call-1")
        assert [len(read_once(store, name).revisions(1)) for name in ("theirs", "ours")] == [1, 1]

    def test_what_happens_in_one_namespace_does_not_move_another(self, store: Store) -> None:
        ours = remember(store, "tea in the morning", "ours")
        embed(store, [ours])
        position, rows = store.position("ours", GENERATION), store.index_rows("ours", GENERATION, 0, 9)
        score = read_once(store, "ours").keyword_search(["tea"], Filter(), NOON, 9).best
        theirs = [remember(store, "tea " * n, "theirs", trigger_phrases=("tea",)) for n in range(1, 9)]
        embed(store, theirs)
        amend(store, theirs[0], "forget", state="deleted")
        store.note_use([Use("theirs", 1, 1, NOON, 1, NOON)])
        assert store.position("ours", GENERATION) == position
        assert store.index_rows("ours", GENERATION, 0, 9) == rows
        assert store.index_changes("ours", GENERATION, position).rows == []
        assert read_once(store, "ours").keyword_search(["tea"], Filter(), NOON, 9).best == score
        assert list(store.index_rows("ours", None, 0, 9, with_triggers=True)) == []
        assert read_once(store, "ours").fetch([1]) == [ours]
        assert list(store.use_counts("ours")) == list(store.use_counts("ours", [1])) == []

    def test_the_same_passage_in_two_namespaces_has_two_vectors(self, store: Store) -> None:
        ours, theirs = remember(store, "tea", "ours"), remember(store, "tea", "theirs")
        embed(store, [theirs])
        assert [row.vector for row in store.index_rows("ours", GENERATION, 0, 9)] == [None]
        embed(store, [ours])
        assert store.pending_count(GENERATION) == 0
