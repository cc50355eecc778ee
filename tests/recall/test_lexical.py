"""Scores by words: the index in memory agrees with BM25 written by hand, whatever happened to the memories before."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from recall.feed import Feed, bm25, hashes

from perdure.recall import index, lexical
from perdure.recall.index import NamespaceIndex, Snapshot
from perdure.store.port import Store

WORDS = [f"word{n}" for n in range(12)]
texts = st.lists(st.sampled_from(WORDS), max_size=12)
# More words than are looked for one by one, too.
queries = st.lists(st.sampled_from([*WORDS, "unknown"]), min_size=1, max_size=20)


def scores(snapshot: Snapshot, query: list[str]) -> dict[int, float]:
    found = snapshot.lexical.scores(hashes(query)) * snapshot.alive
    at = np.flatnonzero(found)
    return dict(zip(snapshot.columns.number[at].tolist(), found[at].tolist(), strict=True))


def current(kept: NamespaceIndex, feed: Any) -> Snapshot:
    store: Store = feed
    return kept.current(store)


@pytest.fixture
def always_tidy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lexical, "SCANNED_ENTRIES", 0)


@given(st.lists(texts, max_size=30), queries)
def test_rows_as_they_came_are_scored_as_by_hand(documents: list[list[str]], query: list[str]):
    feed = Feed()
    for number, words in enumerate(documents, 1):
        feed.put(number, words)
    found = scores(current(NamespaceIndex("n", None), feed), query)
    assert found == pytest.approx(bm25(feed.words, query), rel=1e-5)


@pytest.mark.usefixtures("always_tidy")
@given(st.lists(texts, min_size=1, max_size=30), queries)
def test_sorted_rows_are_scored_as_by_hand(documents: list[list[str]], query: list[str]):
    feed = Feed()
    for number, words in enumerate(documents, 1):
        feed.put(number, words)
    kept = NamespaceIndex("n", None)
    current(kept, feed)
    assert scores(current(kept, feed), query) == pytest.approx(bm25(feed.words, query), rel=1e-5)


def test_a_word_that_stands_more_often_than_can_be_counted_counts_as_255_times():
    feed = Feed()
    feed.put(1, ["often"] * 300)
    feed.put(2, ["often"] * 255)
    found = scores(current(NamespaceIndex("n", None), feed), ["often"])
    assert found[1] == found[2]


class Changing(RuleBasedStateMachine):
    """Memories come, change, get vectors and go; rows are sorted early, merged often, and filled anew now and then."""

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(lexical, "SCANNED_ENTRIES", 20)
        self.patch.setattr(index, "_FEW_GONE", 6)
        self.feed = Feed()
        self.kept = NamespaceIndex("n", None)
        self.earlier: list[tuple[Snapshot, dict[int, float]]] = []

    @rule(words=texts)
    def add(self, words: list[str]) -> None:
        self.feed.put(len(self.feed.log) + 1, words)

    @precondition(lambda self: self.feed.rows)
    @rule(data=st.data(), words=texts, active=st.booleans())
    def change(self, data: st.DataObject, words: list[str], *, active: bool) -> None:
        self.feed.put(data.draw(st.sampled_from(sorted(self.feed.rows))), words, active=active)

    @precondition(lambda self: self.feed.rows)
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        self.feed.drop(data.draw(st.sampled_from(sorted(self.feed.rows))))

    @rule(query=queries)
    def search(self, query: list[str]) -> None:
        snapshot = current(self.kept, self.feed)
        assert scores(snapshot, query) == pytest.approx(bm25(self.feed.words, query), rel=1e-4)
        alive = snapshot.columns.number[snapshot.alive].tolist()
        assert sorted(alive) == sorted(self.feed.rows)
        assert {n: self.feed.rows[n].active for n in alive} == dict(
            zip(alive, snapshot.columns.active[snapshot.alive].tolist(), strict=True)
        )
        self.earlier.append((snapshot, scores(snapshot, WORDS)))

    @invariant()
    def snapshots_taken_earlier_still_say_the_same(self) -> None:
        for snapshot, found in self.earlier[-3:]:
            assert scores(snapshot, WORDS) == found

    def teardown(self) -> None:
        self.patch.undo()


class TestChanging(Changing.TestCase):
    settings = settings(max_examples=30, stateful_step_count=40, deadline=None)


def test_postings_are_few_and_hold_no_rows_that_are_gone(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(lexical, "SCANNED_ENTRIES", 8)
    feed, kept = Feed(), NamespaceIndex("n", None)
    feed.put(1, WORDS)
    for number in range(2, 200):
        feed.put(number, WORDS[:3])
        if number % 2:
            feed.drop(number - 1)
        assert len(current(kept, feed).lexical.sorted) <= 5
    assert sum(len(postings.rows) for postings in current(kept, feed).lexical.sorted) < 150 * 3
