"""The past: the lines of the log, and what they say about a moment or a position that has passed."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.model import Operation, Record
from perdure.store.port import LogFilter, Store
from perdure.testing.conformance.opening import RELAXED, Opening
from perdure.testing.records import GENERATION, NAMESPACE, NOON, amend, change, embed, remember, vector
from perdure.text.entry import entry_of, passage_hash

HOUR = timedelta(hours=1)


def say(store: Store, record: Record, operation: Operation = "annotate", **details: Any) -> Record:
    """One more line for a memory, by whom and when the details say."""
    with store.write(record.namespace) as writer:
        return writer.put(record, replace(change(operation), **details), entry_of(record))


class Past(Opening):
    def test_the_log_shows_every_line_newest_first_with_what_each_memory_became(self, store: Store):
        first = remember(store, "tea")
        second = remember(store, "coffee")
        third = amend(store, first, text="green tea")
        lines = store.log(NAMESPACE, LogFilter(), limit=9)
        assert [line.record for line in lines] == [third, second, first]
        assert [line.seq for line in store.log(NAMESPACE, LogFilter(), limit=9, newest=False)] == [1, 2, 3]
        assert lines[0] == store.revisions(NAMESPACE, 1)[1]
        assert store.log("nowhere", LogFilter(), limit=9) == []

    def test_pages_of_the_log_follow_each_other_in_both_directions(self, store: Store):
        for n in range(5):
            remember(store, f"memory {n}")
        newest = store.log(NAMESPACE, LogFilter(), limit=2)
        older = store.log(NAMESPACE, LogFilter(before=newest[-1].seq), limit=2)
        assert [line.seq for line in (*newest, *older)] == [5, 4, 3, 2]
        later = store.log(NAMESPACE, LogFilter(after=2), limit=2, newest=False)
        assert [line.seq for line in later] == [3, 4]
        assert store.log(NAMESPACE, LogFilter(), limit=0) == []

    @pytest.mark.parametrize("batch", ["a name", "0198c0de-0000-7000-8000-000000000001"], ids=["a name", "an id"])
    def test_a_filter_of_the_log_lets_pass_what_it_says_and_nothing_else(self, store: Store, batch: str):
        record = remember(store, "tea")
        special = {"batch": batch, "session": "another", "actor": "alice", "at": NOON + HOUR}
        say(store, record, "validate", **special)
        say(store, record)
        wanted = [
            LogFilter(batch=batch), LogFilter(session="another"), LogFilter(actor="alice"),
            LogFilter(operation="validate"), LogFilter(since=NOON + HOUR), LogFilter(before=3, after=1),
            LogFilter(batch=batch, session="another", actor="alice", since=NOON, until=NOON + 2 * HOUR),
        ]  # fmt: skip
        for one in wanted:
            assert [line.seq for line in store.log(NAMESPACE, one, limit=9)] == [2], one
        assert [line.seq for line in store.log(NAMESPACE, LogFilter(until=NOON + HOUR), limit=9)] == [3, 1]
        assert store.log(NAMESPACE, LogFilter(batch=batch, actor="bob"), limit=9) == []

    def test_the_position_of_a_moment_is_the_last_line_written_until_then(self, store: Store):
        record = remember(store, "tea")
        say(store, record, at=NOON + HOUR)
        say(store, record, at=NOON + HOUR)
        moments = [NOON - HOUR, NOON, NOON + HOUR / 2, NOON + HOUR, NOON + 2 * HOUR]
        assert [store.seq_at(NAMESPACE, moment) for moment in moments] == [0, 1, 1, 3, 3]
        assert store.seq_at("nowhere", NOON) == 0

    def test_a_clock_that_went_back_does_not_take_back_what_was_written_before(self, store: Store):
        record = remember(store, "tea")
        say(store, record, at=NOON + 2 * HOUR)
        say(store, record, at=NOON + HOUR)
        assert store.seq_at(NAMESPACE, NOON + HOUR) == 3

    def test_memories_that_changed_after_a_position_are_known(self, store: Store):
        first, second = remember(store, "tea"), remember(store, "coffee")
        amend(store, first, title="Drinks")
        amend(store, first, title="More drinks")
        remember(store, "milk")
        assert store.changed_after(NAMESPACE, 0) == [1, 2, 3]
        assert store.changed_after(NAMESPACE, second.seq) == [1, 3]
        assert store.changed_after(NAMESPACE, 5) == store.changed_after("nowhere", 0) == []

    def test_of_one_folder_those_changed_that_are_in_it_or_were(self, store: Store):
        stays = remember(store, "stays", spec_folder="trips")
        leaves = remember(store, "leaves", spec_folder="trips")
        comes = remember(store, "comes")
        other = remember(store, "other", spec_folder="work")
        position = other.seq
        amend(store, stays, title="x")
        amend(store, leaves, spec_folder=None)
        amend(store, comes, spec_folder="trips")
        amend(store, other, title="x")
        remember(store, "new", spec_folder="trips")
        assert store.changed_after(NAMESPACE, position, "trips") == [1, 2, 3, 5]
        assert store.changed_after(NAMESPACE, position, "work") == [4]
        assert store.changed_after(NAMESPACE, position, "nothing") == []

    def test_the_state_of_memories_at_a_position_is_their_newest_line_until_then(self, store: Store):
        first = remember(store, "tea")
        second = remember(store, "coffee")
        third = amend(store, first, text="green tea")
        remember(store, "milk")
        states = store.states_at(NAMESPACE, [1, 2, 3, 99], 3)
        assert {number: line.record for number, line in states.items()} == {1: third, 2: second}
        assert [line.record for line in store.states_at(NAMESPACE, [1, 2], 1).values()] == [first]
        assert store.states_at(NAMESPACE, [1], 0) == store.states_at("nowhere", [1], 9) == {}
        assert store.states_at(NAMESPACE, [0, -1, 2**40], 9) == {}

    @settings(RELAXED, max_examples=15)
    @given(st.lists(st.integers(1, 4), max_size=12), st.integers(0, 16))
    def test_the_state_at_a_position_is_what_the_log_shows_up_to_it(self, touched: list[int], seq: int):
        store = self.open_store()
        for n in range(4):
            remember(store, f"memory {n}")
        for number in touched:
            amend(
                store, store.fetch(NAMESPACE, [number])[0], title=f"touched {len(store.revisions(NAMESPACE, number))}"
            )
        lines = store.log(NAMESPACE, LogFilter(before=seq + 1), limit=99, newest=False)
        assert store.states_at(NAMESPACE, range(1, 5), seq) == {line.number: line for line in lines}
        assert set(store.changed_after(NAMESPACE, seq)) == {
            line.number for line in store.log(NAMESPACE, LogFilter(after=seq), limit=99)
        }
        store.close()

    def test_memories_with_more_than_one_version_are_known_while_they_may_be_found(self, store: Store):
        multi_version_numbers, annotated, gone, back = (
            remember(store, text) for text in ("tea", "coffee", "milk", "water")
        )
        amend(store, multi_version_numbers, text="green tea")
        amend(store, annotated, title="Drinks")
        amend(store, amend(store, gone, text="cold milk"), "forget", state="deleted")
        amend(store, back, text="still water")
        say(store, back, "undo")
        assert store.multi_version_numbers(NAMESPACE) == [multi_version_numbers.number, back.number]
        assert store.multi_version_numbers("nowhere") == []

    def test_the_last_version_is_the_highest_there_ever_was(self, store: Store):
        record = remember(store, "tea")
        amend(store, record, text="green tea")
        say(store, record, "undo")
        with store.write(NAMESPACE) as writer:
            assert [writer.last_version(number) for number in (1, 2)] == [2, 0]
        with store.write("nowhere") as writer:
            assert writer.last_version(1) == 0
        assert store.namespaces() == [NAMESPACE]

    def test_the_vector_of_a_passage_is_there_after_the_memory_says_something_else(self, store: Store):
        old = remember(store, "tea")
        embed(store, [old])
        new = amend(store, old, text="green tea")
        hashes = [passage_hash(old), passage_hash(new), bytes(16)]
        assert store.passage_vectors(NAMESPACE, GENERATION, hashes) == {passage_hash(old): vector()}
        assert store.passage_vectors("nowhere", GENERATION, hashes) == {}
        other = replace(GENERATION, version="2")
        assert store.passage_vectors(NAMESPACE, other, hashes) == {}

    def test_no_line_of_one_namespace_is_seen_in_another(self, store: Store):
        amend(store, remember(store, "tea", "theirs", spec_folder="f"), text="green tea")
        remember(store, "coffee", "ours")
        assert [line.record and line.record.text for line in store.log("ours", LogFilter(), limit=9)] == ["coffee"]
        assert store.seq_at("ours", NOON) == 1
        assert store.changed_after("ours", 0) == [1]
        assert store.changed_after("ours", 0, "f") == store.multi_version_numbers("ours") == []
        assert list(store.states_at("ours", [1], 9)) == [1]
