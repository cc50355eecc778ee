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
from perdure.testing.conformance.store_fixture import RELAXED, StoreTestBase
from perdure.testing.records import GENERATION, NAMESPACE, NOON, amend, change, embed, read_once, remember, vector
from perdure.text.entry import entry_of, passage_hash

HOUR = timedelta(hours=1)


def say(store: Store, record: Record, operation: Operation = "annotate", **details: Any) -> Record:
    """One more line for a memory, by whom and when the details say."""
    with store.write(record.namespace) as writer:
        return writer.put(record, replace(change(operation), **details), entry_of(record))


class TimeTravelTests(StoreTestBase):
    def test_the_log_shows_every_line_newest_first_with_what_each_memory_became(self, store: Store) -> None:
        first = remember(store, "tea")
        second = remember(store, "coffee")
        third = amend(store, first, text="green tea")
        lines = read_once(store).log(LogFilter(), limit=9)
        assert [line.record for line in lines] == [third, second, first]
        assert [line.seq for line in read_once(store).log(LogFilter(), limit=9, newest=False)] == [1, 2, 3]
        assert lines[0] == read_once(store).revisions(1)[1]
        assert read_once(store, "nowhere").log(LogFilter(), limit=9) == []

    def test_pages_of_the_log_follow_each_other_in_both_directions(self, store: Store) -> None:
        for n in range(5):
            remember(store, f"memory {n}")
        newest = read_once(store).log(LogFilter(), limit=2)
        older = read_once(store).log(LogFilter(before=newest[-1].seq), limit=2)
        assert [line.seq for line in (*newest, *older)] == [5, 4, 3, 2]
        later = read_once(store).log(LogFilter(after=2), limit=2, newest=False)
        assert [line.seq for line in later] == [3, 4]
        assert read_once(store).log(LogFilter(), limit=0) == []

    @pytest.mark.parametrize("batch", ["a name", "0198c0de-0000-7000-8000-000000000001"], ids=["a name", "an id"])
    def test_a_filter_of_the_log_lets_pass_what_it_says_and_nothing_else(self, store: Store, batch: str) -> None:
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
            assert [line.seq for line in read_once(store).log(one, limit=9)] == [2], one
        assert [line.seq for line in read_once(store).log(LogFilter(until=NOON + HOUR), limit=9)] == [3, 1]
        assert read_once(store).log(LogFilter(batch=batch, actor="bob"), limit=9) == []

    def test_the_position_of_a_moment_is_the_last_line_written_until_then(self, store: Store) -> None:
        record = remember(store, "tea")
        say(store, record, at=NOON + HOUR)
        say(store, record, at=NOON + HOUR)
        moments = [NOON - HOUR, NOON, NOON + HOUR / 2, NOON + HOUR, NOON + 2 * HOUR]
        assert [read_once(store).seq_at(moment) for moment in moments] == [0, 1, 1, 3, 3]
        assert read_once(store, "nowhere").seq_at(NOON) == 0

    def test_a_clock_that_went_back_does_not_take_back_what_was_written_before(self, store: Store) -> None:
        record = remember(store, "tea")
        say(store, record, at=NOON + 2 * HOUR)
        say(store, record, at=NOON + HOUR)
        assert read_once(store).seq_at(NOON + HOUR) == 3

    def test_memories_that_changed_after_a_position_are_known(self, store: Store) -> None:
        first, second = remember(store, "tea"), remember(store, "coffee")
        amend(store, first, title="Drinks")
        amend(store, first, title="More drinks")
        remember(store, "milk")
        assert read_once(store).changed_after(0) == [1, 2, 3]
        assert read_once(store).changed_after(second.seq) == [1, 3]
        assert read_once(store).changed_after(5) == read_once(store, "nowhere").changed_after(0) == []

    def test_of_one_folder_those_changed_that_are_in_it_or_were(self, store: Store) -> None:
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
        assert read_once(store).changed_after(position, "trips") == [1, 2, 3, 5]
        assert read_once(store).changed_after(position, "work") == [4]
        assert read_once(store).changed_after(position, "nothing") == []

    def test_the_state_of_memories_at_a_position_is_their_newest_line_until_then(self, store: Store) -> None:
        first = remember(store, "tea")
        second = remember(store, "coffee")
        third = amend(store, first, text="green tea")
        remember(store, "milk")
        states = read_once(store).states_at([1, 2, 3, 99], 3)
        assert {number: line.record for number, line in states.items()} == {1: third, 2: second}
        assert [line.record for line in read_once(store).states_at([1, 2], 1).values()] == [first]
        assert read_once(store).states_at([1], 0) == read_once(store, "nowhere").states_at([1], 9) == {}
        assert read_once(store).states_at([0, -1, 2**40], 9) == {}

    @settings(RELAXED, max_examples=15)
    @given(st.lists(st.integers(1, 4), max_size=12), st.integers(0, 16))
    def test_the_state_at_a_position_is_what_the_log_shows_up_to_it(self, touched: list[int], seq: int) -> None:
        store = self.open_store()
        for n in range(4):
            remember(store, f"memory {n}")
        for number in touched:
            amend(
                store, read_once(store).fetch([number])[0], title=f"touched {len(read_once(store).revisions(number))}"
            )
        lines = read_once(store).log(LogFilter(before=seq + 1), limit=99, newest=False)
        assert read_once(store).states_at(range(1, 5), seq) == {line.number: line for line in lines}
        assert set(read_once(store).changed_after(seq)) == {
            line.number for line in read_once(store).log(LogFilter(after=seq), limit=99)
        }
        store.close()

    def test_memories_with_more_than_one_version_are_known_while_they_may_be_found(self, store: Store) -> None:
        reworded, annotated, gone, back = (remember(store, text) for text in ("tea", "coffee", "milk", "water"))
        amend(store, reworded, text="green tea")
        amend(store, annotated, title="Drinks")
        amend(store, amend(store, gone, text="cold milk"), "forget", state="deleted")
        amend(store, back, text="still water")
        say(store, back, "undo")
        assert read_once(store).with_several_versions() == [reworded.number, back.number]
        assert read_once(store, "nowhere").with_several_versions() == []

    def test_the_last_version_is_the_highest_there_ever_was(self, store: Store) -> None:
        record = remember(store, "tea")
        amend(store, record, text="green tea")
        say(store, record, "undo")
        with store.write(NAMESPACE) as writer:
            assert [writer.last_version(number) for number in (1, 2)] == [2, 0]
        with store.write("nowhere") as writer:
            assert writer.last_version(1) == 0
        assert store.namespaces() == [NAMESPACE]

    def test_the_vector_of_a_passage_is_there_after_the_memory_says_something_else(self, store: Store) -> None:
        old = remember(store, "tea")
        embed(store, [old])
        new = amend(store, old, text="green tea")
        hashes = [passage_hash(old), passage_hash(new), bytes(16)]
        assert read_once(store).passage_vectors(GENERATION, hashes) == {passage_hash(old): vector()}
        assert read_once(store, "nowhere").passage_vectors(GENERATION, hashes) == {}
        other = replace(GENERATION, version="2")
        assert read_once(store).passage_vectors(other, hashes) == {}

    def test_no_line_of_one_namespace_is_seen_in_another(self, store: Store) -> None:
        amend(store, remember(store, "tea", "theirs", spec_folder="f"), text="green tea")
        remember(store, "coffee", "ours")
        assert [line.record and line.record.text for line in read_once(store, "ours").log(LogFilter(), limit=9)] == [
            "coffee"
        ]
        assert read_once(store, "ours").seq_at(NOON) == 1
        assert read_once(store, "ours").changed_after(0) == [1]
        assert read_once(store, "ours").changed_after(0, "f") == read_once(store, "ours").with_several_versions() == []
        assert list(read_once(store, "ours").states_at([1], 9)) == [1]
