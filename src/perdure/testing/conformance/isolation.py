"""Isolation: whatever a namespace is called, it never sees another."""

from __future__ import annotations

from perdure.ids import parse_reference
from perdure.model import STATES, Filter
from perdure.store.port import Position, Store, Use
from perdure.testing.conformance.opening import Opening
from perdure.testing.records import GENERATION, NOON, amend, draft, embed, insert, remember

NAMES = [
    "a", "A", "a ", "ä", "a\u0308", "a'b", 'a"b', "a;--", "a%", "a_", "*", "?", "NULL", "1", "0", "a\nb", "a\x00b",
    "a/../b", "DROP TABLE namespace", "東京", "🙂", "\u202ea", "a" * 300,
]  # fmt: skip


class Isolation(Opening):
    def test_hostile_names_are_only_names(self, store: Store):
        records = {name: remember(store, f"secret of {n}", name, tags=("t",)) for n, name in enumerate(NAMES)}
        assert sorted(store.namespaces()) == sorted(NAMES)
        for name, record in records.items():
            assert record.number == record.seq == 1
            assert store.page(name, Filter(states=STATES), after=None, limit=9, newest=True) == [record]
            assert list(store.matching(name, Filter(tags=("t",)))) == [1]
            assert [scored.number for scored in store.keyword(name, ["secret"], Filter(), NOON, 9).best] == [1]
        assert [finding for finding in store.check() if finding.level == "problem"] == []

    def test_no_way_of_reading_leads_into_another_namespace(self, store: Store):
        theirs = remember(store, "tea", "theirs", key="drink:tea", tags=("hot",))
        embed(store, [theirs])
        remember(store, "coffee", "ours")
        remember(store, "milk", "theirs")
        for ref in (2, theirs.id, theirs.content_hash, "drink:tea"):
            assert store.find("ours", parse_reference(ref)) == []
        assert [record.text for record in store.fetch("ours", [1, 2])] == ["coffee"]
        assert list(store.matching("ours", Filter(tags=("hot",)))) == []
        assert store.keyword("ours", ["tea", "milk"], Filter(), NOON, 9).best == []
        assert store.revisions("ours", 2) == []
        assert [row.number for row in store.index_rows("ours", GENERATION, 0, 9)] == [1]
        assert [row.number for row in store.index_changes("ours", GENERATION, Position()).rows] == [1]
        with store.write("ours") as writer:
            assert writer.by_number(2) is writer.by_key("drink:tea") is writer.by_content(theirs.content_hash) is None

    def test_a_request_of_one_namespace_is_unknown_in_another(self, store: Store):
        for name in ("theirs", "ours"):
            with store.write(name) as writer:
                assert writer.by_request("call-1") is None
                insert(writer, draft("tea", name), request="call-1")
        assert [len(store.revisions(name, 1)) for name in ("theirs", "ours")] == [1, 1]

    def test_what_happens_in_one_namespace_does_not_move_another(self, store: Store):
        ours = remember(store, "tea in the morning", "ours")
        embed(store, [ours])
        position, rows = store.position("ours", GENERATION), store.index_rows("ours", GENERATION, 0, 9)
        score = store.keyword("ours", ["tea"], Filter(), NOON, 9).best
        theirs = [remember(store, "tea " * n, "theirs", trigger_phrases=("tea",)) for n in range(1, 9)]
        embed(store, theirs)
        amend(store, theirs[0], "forget", state="deleted")
        store.note_use([Use("theirs", 1, 1, NOON, 1, NOON)], patience=5)
        assert store.position("ours", GENERATION) == position
        assert store.index_rows("ours", GENERATION, 0, 9) == rows
        assert store.index_changes("ours", GENERATION, position).rows == []
        assert store.keyword("ours", ["tea"], Filter(), NOON, 9).best == score
        assert list(store.trigger_phrases("ours")) == []
        assert store.fetch("ours", [1]) == [ours]
        assert ([merit.number for merit in store.merits("ours", 0, 9)], store.recall_counts("ours")) == ([1], [])

    def test_the_same_passage_in_two_namespaces_has_two_vectors(self, store: Store):
        ours, theirs = remember(store, "tea", "ours"), remember(store, "tea", "theirs")
        embed(store, [theirs])
        assert [row.vector for row in store.index_rows("ours", GENERATION, 0, 9)] == [None]
        embed(store, [ours])
        assert store.pending_count(GENERATION) == 0
