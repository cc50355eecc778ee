"""Erasing: nothing says any more what a memory said, and the log still shows that it was there."""

from __future__ import annotations

from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.errors import Conflict, NotFound
from perdure.ids import content_hash, parse_reference
from perdure.lineage import DROPPED
from perdure.model import STATES, Filter, Record, identity_of
from perdure.store.capabilities import scrub
from perdure.store.capacity import Load
from perdure.store.port import IndexRow, LogFilter, Position, Store, Use
from perdure.testing.conformance.store_fixture import RELAXED, StoreTestBase
from perdure.testing.records import (
    GENERATION,
    NAMESPACE,
    NOON,
    amend,
    change,
    draft,
    embed,
    insert,
    problems,
    read_once,
    remember,
    repair,
    vector,
)
from perdure.text.entry import entry_of, passage_hash

EVERY = Filter(states=STATES)
LATER = replace(GENERATION, version="2")


def erase(store: Store, *numbers: int, namespace: str = NAMESPACE) -> None:
    with store.write(namespace) as writer:
        for number in numbers:
            writer.erase(number, change("erase"))


class ErasureTests(StoreTestBase):
    def test_an_erased_memory_is_found_by_no_name_and_on_no_path(self, store: Store) -> None:
        record = remember(store, "tea", key="drink:tea", tags=("hot",), spec_folder="f")
        embed(store, [record])
        kept = remember(store, "coffee")
        erase(store, 1)
        for ref in (1, record.id, record.content_hash, "drink:tea"):
            assert read_once(store).find(parse_reference(ref)) == []
        assert read_once(store).fetch([1, 2]) == [kept]
        assert read_once(store).page(EVERY, after=None, limit=9, newest=False) == [kept]
        assert list(read_once(store).numbers(Filter(tags=("hot",)))) == []
        assert read_once(store).keyword_search(["tea", "hot"], EVERY, NOON, 9).best == []
        assert [row.number for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [2]
        assert store.pending_count(GENERATION) == 1
        with store.write(NAMESPACE) as writer:
            assert writer.by_number(1) is writer.by_key("drink:tea") is writer.by_content(identity_of(record)) is None
            assert writer.load() == Load(1, 2, None, None)
        assert problems(store) == []

    def test_the_log_keeps_its_lines_without_what_they_said(self, store: Store) -> None:
        record = remember(store, "tea")
        amend(store, record, text="green tea")
        before = read_once(store).revisions(1)
        erase(store, 1)
        lines = read_once(store).revisions(1)
        assert [line.change.operation for line in lines] == ["insert", "update", "erase"]
        assert [line.record for line in lines] == [None, None, None]
        assert {line.memory for line in lines} == {record.id}
        assert [line.hash for line in lines[:2]] == [line.hash for line in before]
        assert (lines[-1].version, lines[-1].seq) == (2, 3)
        assert read_once(store).log(LogFilter(operation="erase"), limit=9) == [lines[-1]]
        assert read_once(store).states_at([1], 9) == {1: lines[-1]}
        assert read_once(store).changed_after(2) == [1]
        assert read_once(store).with_several_versions() == []

    def test_its_number_is_never_given_out_again(self, store: Store) -> None:
        for text in ("tea", "coffee"):
            remember(store, text)
        erase(store, 2)
        repair(store)
        assert remember(store, "milk").number == 3
        assert problems(store) == []

    def test_its_key_and_its_text_are_free(self, store: Store) -> None:
        remember(store, "tea", key="drink:tea")
        erase(store, 1)
        again = remember(store, "tea", key="drink:tea")
        assert again.number == 2
        assert read_once(store).find(parse_reference("drink:tea")) == [again]

    def test_the_idempotency_key_that_made_it_does_not_make_it_again(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            insert(writer, draft("tea"), request="call-1")
        erase(store, 1)
        with pytest.raises(Conflict, match="call-1"), store.write(NAMESPACE) as writer:
            assert [line.record for line in writer.log(LogFilter(request="call-1"), limit=9)] == [None]
            insert(writer, draft("tea"), request="call-1")
        assert read_once(store).page(EVERY, after=None, limit=9, newest=False) == []

    def test_the_vectors_of_all_it_ever_said_go_in_all_generations(self, store: Store) -> None:
        first = remember(store, "tea")
        embed(store, [first])
        embed(store, [first], LATER)
        second = amend(store, first, text="green tea")
        third = amend(store, second, title="Drinks")
        embed(store, [third])
        hashes = [passage_hash(record) for record in (first, second, third)]
        assert len(read_once(store).passage_vectors(GENERATION, hashes)) == 2
        erase(store, 1)
        for generation in (GENERATION, LATER):
            assert read_once(store).passage_vectors(generation, hashes) == {}

    def test_a_passage_that_another_memory_has_keeps_its_vector(self, store: Store) -> None:
        first, second = remember(store, "tea"), remember(store, "tea")
        remember(store, "tea", "other")
        embed(store, [first])
        erase(store, 1)
        assert read_once(store).passage_vectors(GENERATION, [passage_hash(second)]) == {passage_hash(second): vector()}
        erase(store, 2)
        assert read_once(store).passage_vectors(GENERATION, [passage_hash(second)]) == {}

    def test_a_vector_that_comes_too_late_is_not_kept(self, store: Store) -> None:
        record = remember(store, "tea")
        erase(store, 1)
        assert embed(store, [record]) == 0

    def test_links_from_it_go_and_others_name_it_as_before(self, store: Store) -> None:
        first = remember(store, "tea")
        second = remember(store, "coffee", supersedes=(first.id,))
        third = remember(store, "milk", merged_from=(second.id,), evidence=(first.id,))
        erase(store, 2)
        assert [(link.number, link.kind) for link in read_once(store).links(first.id)] == [(3, "evidence")]
        assert [(link.number, link.kind) for link in read_once(store).links(second.id)] == [(3, "merged_from")]
        assert read_once(store).fetch([3]) == [third]

    def test_its_use_goes_with_it(self, store: Store) -> None:
        remember(store, "tea")
        store.note_use([Use(NAMESPACE, 1, 1, NOON, 1, NOON)])
        assert store.flush_use(patience=5)
        erase(store, 1)
        store.note_use([Use(NAMESPACE, 1, 1, NOON, 1, NOON)])
        assert store.flush_use(patience=5)
        assert problems(store) == []

    @pytest.mark.parametrize("state", STATES)
    def test_a_memory_is_erased_in_whatever_state_it_is(self, store: Store, state: Any) -> None:
        record = remember(store, "tea", state=state, tags=("hot",))
        erase(store, 1)
        assert read_once(store).find(parse_reference(record.id)) == []
        assert problems(store) == []

    def test_what_is_not_there_cannot_be_erased_and_nothing_changes(self, store: Store) -> None:
        remember(store, "tea")
        erase(store, 1)
        before = store.position(NAMESPACE, GENERATION)
        for number in (1, 2, 0, -1, 2**40):
            with pytest.raises(NotFound):
                erase(store, number)
        with pytest.raises(NotFound):
            erase(store, 1, namespace="nowhere")
        assert store.position(NAMESPACE, GENERATION) == before
        assert store.namespaces() == [NAMESPACE]

    def test_an_erased_memory_cannot_be_put_again(self, store: Store) -> None:
        record = remember(store, "tea")
        erase(store, 1)
        with pytest.raises(Conflict), store.write(NAMESPACE) as writer:
            writer.put(record, change("undo"), entry_of(record))
        assert read_once(store).fetch([1]) == []

    def test_a_memory_can_be_written_and_erased_in_one_transaction(self, store: Store) -> None:
        with store.write(NAMESPACE) as writer:
            record = insert(writer, draft("tea"))
            writer.erase(record.number, change("erase"))
            with pytest.raises(Conflict):
                writer.put(record, change("restore"), entry_of(record))
        assert read_once(store).fetch([1]) == []
        assert remember(store, "coffee").number == 2
        assert problems(store) == []

    def test_an_erasure_that_fails_leaves_everything(self, store: Store) -> None:
        record = remember(store, "tea", tags=("hot",))
        embed(store, [record])

        def fail() -> None:
            with store.write(NAMESPACE) as writer:
                writer.erase(1, change("erase"))
                raise ZeroDivisionError

        with pytest.raises(ZeroDivisionError):
            fail()
        assert read_once(store).fetch([1]) == [record]
        assert [line.record for line in read_once(store).revisions(1)] == [record]
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [vector()]
        assert problems(store) == []

    def test_a_repair_brings_back_nothing_that_was_erased(self, store: Store) -> None:
        for text in ("tea", "coffee", "milk"):
            remember(store, text)
        erase(store, 1, 3)
        assert repair(store) == []
        assert [record.text for record in read_once(store).page(EVERY, after=None, limit=9, newest=False)] == ["coffee"]
        assert problems(store) == []

    def test_earlier_payloads_can_be_dropped_and_the_newest_stays(self, store: Store) -> None:
        first = remember(store, "tea")
        embed(store, [first])
        amend(store, first, text="green tea")
        newest = amend(store, first, text="black tea")
        embed(store, [newest])
        with store.write(NAMESPACE) as writer:
            writer.drop_payloads(1)
            writer.drop_payloads(1)
            writer.drop_payloads(99)
        assert [line.record for line in read_once(store).revisions(1)] == [None, None, newest]
        assert read_once(store).fetch([1]) == [newest]
        assert read_once(store).passage_vectors(GENERATION, [passage_hash(first)]) == {}
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [vector()]
        assert problems(store) == []
        with store.write("nowhere") as writer:
            writer.drop_payloads(1)
        assert store.namespaces() == [NAMESPACE]

    def test_named_payloads_can_be_dropped_from_the_middle_and_nobody_takes_the_gap_for_damage(
        self, store: Store
    ) -> None:
        first = remember(store, "tea")
        embed(store, [first])
        second = amend(store, first, text="green tea")
        embed(store, [second])
        changed = replace(second, text="black tea", content_hash=content_hash("black tea"), version=3)
        with store.write(NAMESPACE) as writer:
            third = writer.put(changed, replace(change("update"), provenance={DROPPED: [2]}), entry_of(changed))
            writer.drop_payloads(1, [2])
            writer.drop_payloads(1, [2, 99])
            writer.drop_payloads(99, [1])
        assert [line.record for line in read_once(store).revisions(1)] == [first, None, third]
        vectors = read_once(store).passage_vectors(GENERATION, [passage_hash(first), passage_hash(second)])
        assert list(vectors) == [passage_hash(first)]
        assert problems(store) == []
        assert repair(store) == []
        assert scrub(store, patience=0.0).done

    def test_a_recall_index_learns_what_was_erased(self, store: Store) -> None:
        embed(store, [remember(store, "tea"), remember(store, "coffee")])
        since = store.position(NAMESPACE, GENERATION)
        erase(store, 1)
        changes = store.index_changes(NAMESPACE, GENERATION, since)
        assert (list(changes.rows), list(changes.removed)) == ([], [1])
        afresh = store.index_changes(NAMESPACE, GENERATION, Position())
        assert ([row.number for row in afresh.rows], list(afresh.removed)) == ([2], [1])

    @settings(RELAXED, max_examples=15)
    @given(st.lists(st.tuples(st.sampled_from(["put", "reword", "embed", "erase"]), st.integers(0, 4)), max_size=14))
    def test_whatever_was_erased_nothing_else_is_different(self, steps: list[tuple[str, int]]) -> None:
        """Two memories share each text, so that passages have several owners."""
        with closing(self.open_store()) as store:
            alive: dict[int, Record] = {}
            for step, which in steps:
                numbers = sorted(alive)
                if step == "put" or not numbers:
                    record = remember(store, f"memory {which % 2}", tags=(f"tag{which}",))
                    alive[record.number] = record
                    continue
                number = numbers[which % len(numbers)]
                if step == "reword":
                    alive[number] = amend(store, alive[number], text=f"memory {which % 3}")
                elif step == "embed":
                    embed(store, [alive[number]])
                else:
                    del alive[number]
                    erase(store, number)
            assert read_once(store).page(EVERY, after=None, limit=99, newest=False) == [alive[n] for n in sorted(alive)]
            rows: list[IndexRow] = list(store.index_rows(NAMESPACE, GENERATION, 0, 99))
            assert [row.number for row in rows] == sorted(alive)
            for row in rows:
                if row.vector is not None:
                    assert row.vector == vector()
            with store.write(NAMESPACE) as writer:
                assert writer.load().items == len(alive)
            assert problems(store) == []
