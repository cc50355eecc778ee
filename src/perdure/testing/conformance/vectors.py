"""Vectors belong to passages: none is stale, none is computed twice, and what is missing is known."""

from __future__ import annotations

from dataclasses import replace

import pytest

from perdure.errors import InvalidInput
from perdure.store.port import Store
from perdure.testing.conformance.store_fixture import StoreTestBase
from perdure.testing.records import (
    GENERATION,
    NAMESPACE,
    amend,
    draft,
    embed,
    insert,
    problems,
    read_once,
    remember,
    vector,
)
from perdure.text.entry import passage, passage_hash


class VectorsTests(StoreTestBase):
    def test_a_new_memory_is_pending_until_its_passage_has_a_vector(self, store: Store) -> None:
        record = remember(store, "tea", title="Drinks")
        assert store.pending(GENERATION, 9) == [(NAMESPACE, passage_hash(record), passage(record))]
        assert store.pending_count(GENERATION) == 1
        assert embed(store, [record]) == 1
        assert store.pending(GENERATION, 9) == []
        assert store.pending_count(GENERATION) == 0

    def test_a_vector_can_come_with_the_memory(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            record = insert(writer, draft("tea"))
            writer.put_vector(GENERATION, passage_hash(record), vector(0, 1, 0, 0))
        assert store.pending_count(GENERATION) == 0
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [vector(0, 1, 0, 0)]

    def test_two_memories_with_one_passage_need_one_vector(self, store: Store) -> None:
        first, _ = remember(store, "tea"), remember(store, "tea")
        assert len(store.pending(GENERATION, 9)) == store.pending_count(GENERATION) == 1
        embed(store, [first])
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [vector(), vector()]

    def test_many_vectors_are_put_at_once_and_those_that_were_kept_are_counted(self, store: Store) -> None:
        first, second, there = remember(store, "tea"), remember(store, "coffee"), remember(store, "milk")
        embed(store, [there])
        pairs = [(passage_hash(record), vector(0, 1, 0, 0)) for record in (first, second, there, first)]
        with store.write(NAMESPACE) as writer:
            assert writer.put_vectors(GENERATION, [*pairs, (bytes(16), vector())]) == 2
            assert writer.put_vectors(GENERATION, []) == 0
        assert store.pending_count(GENERATION) == 0
        rows = store.index_rows(NAMESPACE, GENERATION, 0, 9)
        assert [row.vector for row in rows] == [vector(0, 1, 0, 0), vector(0, 1, 0, 0), vector()]

    def test_the_first_vector_of_a_passage_stays(self, store: Store) -> None:
        record = remember(store, "tea")
        embed(store, [record])
        position = store.position(NAMESPACE, GENERATION)
        with store.write(NAMESPACE) as writer:
            assert writer.put_vectors(GENERATION, [(passage_hash(record), vector(0, 0, 0, 1))]) == 0
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [vector()]
        assert store.position(NAMESPACE, GENERATION) == position

    def test_a_new_title_makes_a_memory_pending_and_the_old_title_brings_its_vector_back(self, store: Store) -> None:
        record = remember(store, "tea")
        embed(store, [record])
        titled = amend(store, record, title="Drinks")
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [None]
        assert store.pending_count(GENERATION) == 1
        amend(store, titled, title=None)
        assert store.pending_count(GENERATION) == 0

    def test_a_change_outside_the_passage_keeps_the_vector(self, store: Store) -> None:
        record = remember(store, "tea")
        embed(store, [record])
        amend(store, record, importance=0.9, tags=("hot",))
        assert store.pending_count(GENERATION) == 0

    def test_memories_that_may_not_be_found_are_not_pending(self, store: Store) -> None:
        remember(store, "tea", state="deleted")
        remember(store, "coffee", state="superseded")
        assert [pending.passage.text for pending in store.pending(GENERATION, 9)] == ["coffee"]

    def test_a_new_generation_starts_from_nothing_and_leaves_the_old_one(self, store: Store) -> None:
        record = remember(store, "tea")
        embed(store, [record])
        newer = replace(GENERATION, version="2", dimensions=2)
        assert store.pending_count(newer) == 1
        assert embed(store, [record], newer) == 1
        assert [row.vector for row in store.index_rows(NAMESPACE, newer, 0, 9)] == [vector(1, 0)]
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [vector()]

    def test_pending_keeps_to_its_limit_and_knows_every_namespace(self, store: Store) -> None:
        for name in ("a", "b"):
            for n in range(3):
                remember(store, f"memory {n}", name)
        assert len(store.pending(GENERATION, 4)) == 4
        assert [pending.namespace for pending in store.pending(GENERATION, 9)] == ["a"] * 3 + ["b"] * 3
        assert store.pending(GENERATION, 0) == []
        assert store.pending_count(GENERATION) == 6

    def test_a_passage_that_is_gone_gets_no_vector(self, store: Store) -> None:
        record = remember(store, "tea")
        amend(store, record, text="green tea")
        assert embed(store, [record]) == 0
        with store.write("nowhere") as writer:
            assert writer.put_vectors(GENERATION, [(passage_hash(record), vector())]) == 0
        assert store.namespaces() == [NAMESPACE]

    def test_a_vector_of_the_wrong_size_is_refused_and_nothing_is_stored(self, store: Store) -> None:
        record, other = remember(store, "tea"), remember(store, "coffee")
        with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
            writer.put_vector(GENERATION, passage_hash(record), vector())
            writer.put_vector(GENERATION, passage_hash(other), vector(1, 2))
        with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
            writer.put_vector(GENERATION, passage_hash(record), b"")
        assert store.pending_count(GENERATION) == 2

    def test_a_passage_may_have_several_vectors_one_behind_the_other(self, store: Store) -> None:
        record = remember(store, "tea")
        several = vector(0, 1, 0, 0) + vector(0, 0, 1, 0) + vector(0, 0, 0, 1)
        with store.write(NAMESPACE) as writer:
            writer.put_vector(GENERATION, passage_hash(record), several)
        assert store.pending_count(GENERATION) == 0
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [several]
        assert read_once(store).passage_vectors(GENERATION, [passage_hash(record)]) == {passage_hash(record): several}
        assert not problems(store)

    @pytest.mark.parametrize("odd", [(0, 0, 0, 0), (1, 0, float("nan"), 0), (float("inf"), 0, 0, 0)], ids=str)
    def test_a_vector_without_a_direction_is_refused(self, store: Store, odd: tuple[float, ...]) -> None:
        record = remember(store, "tea")
        for windows in (vector(*odd), vector(1, 0, 0, 0) + vector(*odd)):
            with pytest.raises(InvalidInput), store.write(NAMESPACE) as writer:
                writer.put_vector(GENERATION, passage_hash(record), windows)
        assert store.pending_count(GENERATION) == 1
