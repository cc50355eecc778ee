"""The index in memory follows the store: by small steps where it can, from the beginning where it must."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from contextlib import closing
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, precondition, rule
from recall.feed import GENERATION, Feed, unit

from perdure.recall import index, refresh
from perdure.recall.index import IndexCache, NamespaceIndex, Snapshot
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.records import NAMESPACE, remember

RNG = np.random.default_rng(0)


def filled(count: int) -> Feed:
    feed = Feed()
    for number in range(1, count + 1):
        feed.put(number, [f"word{number}", "all"], unit(RNG, 8))
    return feed


def current(kept: NamespaceIndex, feed: Any) -> Snapshot:
    return kept.current(feed)


def vectors_of(snapshot: Snapshot) -> dict[int, list[float]]:
    rows = np.flatnonzero(snapshot.vectors.present)
    return dict(zip(snapshot.columns.number[rows].tolist(), snapshot.vectors.matrix[rows].tolist(), strict=True))


def test_nothing_is_read_again_while_nothing_changes():
    feed, kept = filled(5), NamespaceIndex("n", GENERATION)
    first = current(kept, feed)
    pages = feed.pages
    assert all(current(kept, feed) is first for _ in range(3))
    assert (feed.pages, feed.refreshes) == (pages, 0)


def test_a_page_at_a_time_is_read_to_the_end(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(refresh, "_PAGE", 3)
    feed = filled(10)
    snapshot = current(NamespaceIndex("n", GENERATION), feed)
    assert snapshot.columns.number.tolist() == list(range(1, 11))
    assert len(vectors_of(snapshot)) == 10


def test_one_new_memory_is_one_new_row():
    feed, kept = filled(100), NamespaceIndex("n", GENERATION)
    before = current(kept, feed)
    pages = feed.pages
    feed.put(101, ["new"], unit(RNG, 8))
    after = current(kept, feed)
    assert after.columns.number.tolist() == [*before.columns.number.tolist(), 101]
    assert feed.pages == pages


def test_a_memory_written_again_without_a_difference_keeps_its_row():
    feed, kept = filled(10), NamespaceIndex("n", GENERATION)
    current(kept, feed)
    feed.rows[3] = feed.rows[3]._replace()
    feed.log.append(3)
    after = current(kept, feed)
    assert len(after.columns.number) == 10
    assert after.alive.all()


def test_a_vector_that_comes_later_is_put_where_it_was_missing():
    feed, kept = Feed(), NamespaceIndex("n", GENERATION)
    for number in (1, 2, 3):
        feed.put(number, ["word"])
    before = current(kept, feed)
    vector = unit(RNG, 8)
    feed.embed(2, vector)
    after = current(kept, feed)
    assert len(after.columns.number) == 3
    assert vectors_of(after) == {2: vector.tolist()}
    assert vectors_of(before) == {}


@pytest.mark.parametrize("difference", ["words", "order of counts", "vector", "no vector"])
def test_other_words_or_another_vector_make_the_old_row_gone_and_the_new_one_count(difference: str):
    feed, kept = filled(5), NamespaceIndex("n", GENERATION)
    vector = unit(RNG, 8)
    feed.put(3, ["a", "a", "b"], vector)
    current(kept, feed)
    changed: dict[str, dict[str, Any]] = {
        "words": {"words": ["c"]},
        "order of counts": {"words": ["a", "b", "b"]},
        "vector": {"vector": unit(RNG, 8)},
        "no vector": {"vector": None},
    }
    fields: dict[str, Any] = {"words": ["a", "a", "b"], "vector": vector, **changed[difference]}
    feed.put(3, **fields)
    after = current(kept, feed)
    assert after.columns.number[after.alive].tolist() == [1, 2, 4, 5, 3]
    assert (3 in vectors_of(after)) == (difference != "no vector")
    assert after.lexical.documents == 5


@pytest.mark.parametrize(
    ("column", "fields", "value"),
    [
        ("active", {"active": False}, False),
        ("deprecated", {"tier": "deprecated"}, True),
        ("valid_from", {"valid_from": 5}, 5),
        ("observations", {"observations": 7}, 7),
        ("group", {"conversation": "c"}, 0),
    ],
)
def test_any_other_difference_is_written_into_the_row_and_earlier_readers_do_not_see_it(
    column: str, fields: dict[str, Any], value: object
):
    feed, kept = filled(5), NamespaceIndex("n", GENERATION)
    vector = unit(RNG, 8)
    feed.put(3, ["a", "b"], vector)
    before = current(kept, feed)
    old = getattr(before.columns, column)[2]
    feed.put(3, ["a", "b"], vector, **fields)
    after = current(kept, feed)
    assert after.columns.number.tolist() == [1, 2, 3, 4, 5]
    assert (getattr(after.columns, column)[2], getattr(before.columns, column)[2]) == (value, old)
    assert after.timed == (column == "valid_from")
    assert (after.conversation is not None) == (column == "group")


def test_a_vector_of_another_size_counts_as_none():
    feed = Feed()
    feed.put(1, ["word"], unit(RNG, 9))
    assert vectors_of(current(NamespaceIndex("n", GENERATION), feed)) == {}


def test_what_is_far_behind_or_mostly_gone_is_filled_anew(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(index, "_FEW_GONE", 10)
    monkeypatch.setattr(refresh, "_FEW_CHANGES", 10)
    feed, kept = filled(20), NamespaceIndex("n", GENERATION)
    current(kept, feed)
    for number in range(21, 60):
        feed.put(number, ["word"])
    current(kept, feed)
    assert feed.refreshes == 0
    for number in range(1, 25):
        feed.drop(number)
        current(kept, feed)
    snapshot = current(kept, feed)
    assert len(snapshot.columns.number) < 45
    assert snapshot.columns.number[snapshot.alive].tolist() == list(range(25, 60))


def test_a_store_that_went_back_in_time_is_read_anew():
    feed, kept = filled(5), NamespaceIndex("n", GENERATION)
    current(kept, feed)
    feed.log.pop()
    del feed.rows[5]
    assert current(kept, feed).columns.number.tolist() == [1, 2, 3, 4]


def test_a_store_that_became_another_one_is_read_anew_although_its_log_is_as_long():
    feed, kept = filled(5), NamespaceIndex("n", GENERATION)
    current(kept, feed)
    feed.log[-1] = 1
    del feed.rows[5]
    feed.repairs += 1
    assert current(kept, feed).columns.number.tolist() == [1, 2, 3, 4]
    assert feed.refreshes == 0


class Vectoring(RuleBasedStateMachine):
    """Memories with and without vectors come, change and go; the index always has exactly the vectors of the store."""

    def __init__(self) -> None:
        super().__init__()
        self.feed, self.kept, self.rng = Feed(), NamespaceIndex("n", GENERATION), np.random.default_rng(1)

    @rule(words=st.lists(st.sampled_from("abc"), max_size=3), embedded=st.booleans())
    def add(self, words: list[str], *, embedded: bool) -> None:
        self.feed.put(len(self.feed.log) + 1, words, unit(self.rng, 8) if embedded else None)

    @precondition(lambda self: self.feed.rows)
    @rule(data=st.data(), words=st.lists(st.sampled_from("abc"), max_size=3), embedded=st.booleans())
    def change(self, data: st.DataObject, words: list[str], *, embedded: bool) -> None:
        number = data.draw(st.sampled_from(sorted(self.feed.rows)))
        self.feed.put(number, words, unit(self.rng, 8) if embedded else None)

    @precondition(lambda self: self.feed.rows)
    @rule(data=st.data())
    def embed(self, data: st.DataObject) -> None:
        self.feed.embed(data.draw(st.sampled_from(sorted(self.feed.rows))), unit(self.rng, 8))

    @precondition(lambda self: self.feed.rows)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        self.feed.drop(data.draw(st.sampled_from(sorted(self.feed.rows))))

    @rule()
    def look(self) -> None:
        snapshot = current(self.kept, self.feed)
        expected = {
            number: np.frombuffer(row.vector, np.float32).tolist()
            for number, row in self.feed.rows.items()
            if row.vector is not None
        }
        assert vectors_of(snapshot) == expected
        assert snapshot.vectors.count == len(expected)


class TestVectoring(Vectoring.TestCase):
    settings = settings(max_examples=30, stateful_step_count=30, deadline=None)


# -- the cache of indexes ------------------------------------------------------------------------------------------


def indexes(feed: Any, memory_bytes: int) -> IndexCache:
    return IndexCache(feed, memory_bytes)


def test_the_least_recently_used_namespaces_make_room_and_the_newest_always_stays():
    feed = filled(50)
    size = NamespaceIndex("n", GENERATION)
    current(size, feed)
    held = indexes(feed, int(2.5 * size.nbytes))
    for name in ("a", "b", "a", "c"):
        held.snapshot(name, GENERATION)
    assert [name in held for name in "abc"] == [True, False, True]
    tiny = indexes(feed, 1)
    tiny.snapshot("a", GENERATION)
    tiny.snapshot("b", GENERATION)
    assert [name in tiny for name in "ab"] == [False, True]


def test_words_are_answered_from_any_index_but_vectors_only_from_their_own_generation():
    feed = filled(5)
    held = indexes(feed, 1 << 30)
    first = held.snapshot("n", GENERATION)
    assert held.snapshot("n", None) is first
    other = type(GENERATION)("testing", "other", 3, "1")
    assert held.snapshot("n", other).vectors.count == 0


def test_many_threads_read_while_memories_come():
    feed = filled(50)
    held = indexes(feed, 1 << 30)
    failures: list[str] = []

    def read() -> None:
        for _ in range(60):
            snapshot = held.snapshot("n", GENERATION)
            sizes = {
                len(snapshot.columns.number),
                len(snapshot.alive),
                len(snapshot.lexical.lengths),
                len(snapshot.vectors.matrix),
            }
            if len(sizes) != 1 or not snapshot.vectors.present.all():
                failures.append(str(sizes))

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for number in range(51, 151):
        feed.put(number, ["word"], unit(RNG, 8))
    for reader in readers:
        reader.join()
    assert failures == []
    assert len(held.snapshot("n", GENERATION).columns.number) == 150


@pytest.mark.parametrize("later", [(), ("Water is free",)], ids=["as long", "longer"])
def test_an_index_notices_that_the_log_is_another_one(later: Sequence[str]):
    """After a failover, or a restore, the same positions may be given out again."""
    with closing(SqliteStore.open(None)) as before, closing(SqliteStore.open(None)) as after:
        for text in ("Tea is hot", "Coffee"):
            remember(before, text)
        kept = NamespaceIndex(NAMESPACE, None)
        kept.current(before)
        for text in ("Milk", "Wine is red and white and dry", *later):
            remember(after, text)
        found, anew = kept.current(after), NamespaceIndex(NAMESPACE, None).current(after)
        assert found.position == anew.position
        assert (found.lexical.documents, found.lexical.words) == (anew.lexical.documents, anew.lexical.words)
        assert found.lexical.lengths[found.alive].tolist() == anew.lexical.lengths.tolist()
