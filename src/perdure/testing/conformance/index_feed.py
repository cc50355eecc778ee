"""Feeding a recall index: filled once, then kept up to date from what changed."""

from __future__ import annotations

from contextlib import closing
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from perdure.clock import to_micros
from perdure.model import Json
from perdure.store.port import IndexRow, Position, Store, Use
from perdure.testing.conformance.store_fixture import RELAXED, StoreTestBase
from perdure.testing.records import GENERATION, NAMESPACE, NOON, amend, embed, read_once, remember, vector
from perdure.text.entry import entry_of
from perdure.text.introductions import find_introduction
from perdure.text.question_share import question_share
from perdure.values import replace

STEPS = {"text": ["tea", "milk"], "state": ["active", "superseded", "deleted"], "tier": ["deprecated", "normal"]}


class IndexFeedTests(StoreTestBase):
    def test_an_index_is_filled_in_portions_by_number(self, store: Store) -> None:
        records = [remember(store, f"memory {n}") for n in range(5)]
        found: list[IndexRow] = []
        while portion := store.index_rows(NAMESPACE, None, found[-1].number if found else 0, 2):
            assert len(portion) <= 2
            found += portion
        assert [row.number for row in found] == [1, 2, 3, 4, 5]
        assert [row.terms for row in found] == [entry_of(record).terms for record in records]
        assert store.index_rows("nowhere", None, 0, 9) == []

    def test_a_row_says_what_decides_whether_a_memory_may_be_shown(self, store: Store) -> None:
        hour = timedelta(hours=1)
        remember(store, "plain")
        remember(store, "old", state="superseded")
        remember(store, "bad", tier="deprecated")
        remember(store, "dated", valid_at=NOON, invalid_at=NOON + 2 * hour, expires_at=NOON + hour)
        rows = store.index_rows(NAMESPACE, None, 0, 9)
        noon = to_micros(NOON)
        micros = to_micros(NOON + hour) - noon
        assert [(row.active, row.tier == "deprecated") for row in rows] == [
            (True, False),
            (False, False),
            (True, True),
            (True, False),
        ]
        bounds = [(row.valid_from, row.valid_until, row.expires_at) for row in rows]
        assert bounds == [(None, None, None)] * 3 + [(noon, noon + 2 * micros, noon + micros)]

    def test_a_row_says_of_which_kind_a_memory_is(self, store: Store) -> None:
        for key in ("episode:c/00000001", "episode:c/1", "proposal:merge/00000001", "message:c/00000001", None):
            remember(store, "tea", key=key)
        kinds = [row.kind for row in store.index_rows(NAMESPACE, None, 0, 9)]
        assert kinds == ["episode", None, "proposal", "message", None]

    def test_a_row_says_what_recall_weighs(self, store: Store) -> None:
        remember(store, "plain", updated_at=NOON)
        remember(
            store,
            "Tea with Bob. Coffee?",
            category="patterns",
            observation_count=4,
            confidence=0.25,
            importance=0.75,
            anchor_id="drinks",
            conversation_id="c",
            session_id="s",
            metadata={"speaker": "Ann", "stability": 2.5},
            valid_at=NOON - timedelta(days=9),
        )
        plain, full = store.index_rows(NAMESPACE, None, 0, 9)
        assert (plain.category, plain.observations, plain.confidence, plain.anchor) == (None, 1, 0.5, None)
        assert (plain.conversation, plain.session, plain.speaker, plain.question_share) == (None, None, None, 0.0)
        assert (plain.stability, plain.updated_at) == (None, to_micros(NOON))
        assert plain.dated == to_micros(read_once(store).fetch([1])[0].created_at)
        assert (full.category, full.observations, full.confidence, full.importance) == ("patterns", 4, 0.25, 0.75)
        assert (full.anchor, full.conversation, full.session, full.speaker) == ("drinks", "c", "s", "Ann")
        assert (full.question_share, full.stability) == (question_share("Tea with Bob. Coffee?"), 2.5)
        assert (plain.introduction, full.introduction) == (None, None)
        assert full.dated == to_micros(NOON - timedelta(days=9))

    def test_a_turn_tells_how_its_speaker_is_called(self, store: Store) -> None:
        remember(store, "I'm Jonas", conversation_id="c", metadata={"speaker": "user"})
        remember(store, "I'm Jonas, and no part of a conversation")
        told, untold = store.index_rows(NAMESPACE, None, 0, 9)
        assert told.introduction == find_introduction("I'm Jonas") is not None
        assert untold.introduction is None

    @pytest.mark.parametrize("stability", ["long", True, None, [1]])
    def test_a_stability_that_is_no_number_is_not_given(self, store: Store, stability: Json) -> None:
        remember(store, "tea", metadata={"stability": stability})
        assert [row.stability for row in store.index_rows(NAMESPACE, None, 0, 9)] == [None]

    def test_use_is_counted_for_those_that_were_used(self, store: Store) -> None:
        for n in range(3):
            remember(store, f"memory {n}")
        later = NOON + timedelta(hours=1)
        store.note_use([Use(NAMESPACE, 2, 4, NOON, 1, later), Use(NAMESPACE, 3, 0, None, 1, NOON)])
        expected = [(2, 4, to_micros(later)), (3, 0, to_micros(NOON))]
        assert sorted(store.use_counts(NAMESPACE)) == expected
        assert list(store.use_counts(NAMESPACE, [1, 3, 99])) == expected[1:]
        assert list(store.use_counts("nowhere")) == list(store.use_counts(NAMESPACE, [])) == []

    def test_memories_that_may_not_be_found_are_no_rows(self, store: Store) -> None:
        for n, state in enumerate(("merged", "deleted", "expired", "evicted")):
            remember(store, f"memory {n}", state=state)
        assert store.index_rows(NAMESPACE, None, 0, 9) == []
        assert sorted(store.index_changes(NAMESPACE, None, Position()).removed) == [1, 2, 3, 4]

    def test_the_vector_of_a_row_is_of_the_generation_asked_for(self, store: Store) -> None:
        embed(store, [remember(store, "tea")])
        assert [row.vector for row in store.index_rows(NAMESPACE, GENERATION, 0, 9)] == [vector()]
        assert [row.vector for row in store.index_rows(NAMESPACE, None, 0, 9)] == [None]

    def test_a_position_moves_with_every_revision_and_every_vector(self, store: Store) -> None:
        assert store.position(NAMESPACE, GENERATION) == Position()
        record = remember(store, "tea")
        first = store.position(NAMESPACE, GENERATION)
        embed(store, [record])
        second = store.position(NAMESPACE, GENERATION)
        amend(store, record, title="Drinks")
        third = store.position(NAMESPACE, GENERATION)
        assert len({first, second, third}) == 3
        assert (third.seq, third.vector >= second.vector) == (2, True)

    def test_a_position_that_is_not_in_the_log_means_everything_anew(self, store: Store) -> None:
        with closing(self.open_store()) as other:
            embed(other, [remember(other, "tea"), remember(other, "coffee")])
            foreign = other.position(NAMESPACE, GENERATION)
        embed(store, [remember(store, "milk"), remember(store, "wine")])
        own = store.position(NAMESPACE, GENERATION)
        assert (own.seq, own.vector) == (foreign.seq, foreign.vector)
        assert own != foreign
        remember(store, "water")
        changes = store.index_changes(NAMESPACE, GENERATION, foreign)
        assert changes.anew
        assert list(changes.rows) == list(store.index_rows(NAMESPACE, GENERATION, 0, 9))
        changes = store.index_changes(NAMESPACE, GENERATION, own)
        assert not changes.anew
        assert [row.number for row in changes.rows] == [3]
        later = replace(own, seq=9)
        assert store.index_changes(NAMESPACE, GENERATION, later).anew

    def test_a_fresh_index_has_nothing_to_change(self, store: Store) -> None:
        embed(store, [remember(store, "tea")])
        changes = store.index_changes(NAMESPACE, GENERATION, store.position(NAMESPACE, GENERATION))
        assert (list(changes.rows), list(changes.removed)) == ([], [])
        assert list(store.index_changes("nowhere", GENERATION, Position()).rows) == []

    def test_changes_are_what_is_new_different_or_gone(self, store: Store) -> None:
        kept, changed, gone = (remember(store, text) for text in ("kept", "changed", "gone"))
        since = store.position(NAMESPACE, GENERATION)
        amend(store, changed, title="New")
        amend(store, gone, "forget", state="deleted")
        remember(store, "new")
        changes = store.index_changes(NAMESPACE, GENERATION, since)
        assert [row.number for row in changes.rows] == [changed.number, 4]
        assert list(changes.removed) == [gone.number]
        assert kept.number not in {row.number for row in changes.rows}

    def test_a_vector_that_came_later_is_a_change_of_every_memory_with_its_passage(self, store: Store) -> None:
        first, second = remember(store, "tea"), remember(store, "tea")
        remember(store, "coffee")
        since = store.position(NAMESPACE, GENERATION)
        embed(store, [first])
        rows = store.index_changes(NAMESPACE, GENERATION, since).rows
        assert [(row.number, row.vector) for row in rows] == [(first.number, vector()), (second.number, vector())]

    @settings(RELAXED, max_examples=15)
    @given(st.data())
    def test_an_index_that_followed_every_change_equals_one_filled_afresh(self, data: st.DataObject) -> None:
        store = self.open_store()
        records = [remember(store, f"memory {n % 2}") for n in range(3)]
        index: dict[int, IndexRow] = {}
        position = Position()
        for _ in range(data.draw(st.integers(1, 8))):
            step = data.draw(st.sampled_from(["remember", "embed", *STEPS]))
            at = data.draw(st.integers(0, len(records) - 1))
            if step == "remember":
                records.append(remember(store, f"memory {data.draw(st.integers(0, 5))}"))
            elif step == "embed":
                embed(store, [records[at]])
            else:
                wanted: dict[str, Any] = {step: data.draw(st.sampled_from(STEPS[step]))}
                records[at] = amend(store, records[at], **wanted)
            if data.draw(st.booleans()):
                position = _follow(store, index, position)
        _follow(store, index, position)
        assert sorted(index.values(), key=lambda row: row.number) == list(
            store.index_rows(NAMESPACE, GENERATION, 0, 99)
        )
        store.close()

    def test_rows_with_triggers_are_those_of_memories_that_may_be_brought_up(self, store: Store) -> None:
        first = remember(store, "one", trigger_phrases=("save context", "東京 \u2028"), importance=0.9)
        remember(store, "none")
        remember(store, "old", trigger_phrases=("old",), state="superseded")
        remember(store, "bad", trigger_phrases=("bad",), tier="deprecated")
        remember(store, "ending", trigger_phrases=("end",), valid_at=NOON)
        rows = store.index_rows(NAMESPACE, None, 0, 9, with_triggers=True)
        assert [(row.number, row.trigger_phrases) for row in rows] == [
            (1, ("save context", "東京 \u2028")),
            (5, ("end",)),
        ]
        every = {row.number: row for row in store.index_rows(NAMESPACE, None, 0, 9)}
        assert [every[row.number] for row in rows] == list(rows)
        amend(store, first, trigger_phrases=())
        assert [row.number for row in store.index_rows(NAMESPACE, None, 0, 9, with_triggers=True)] == [5]
        assert list(store.index_rows(NAMESPACE, None, 5, 9, with_triggers=True)) == []
        assert list(store.index_rows("nowhere", None, 0, 9, with_triggers=True)) == []


def _follow(store: Store, index: dict[int, IndexRow], since: Position) -> Position:
    """Read the position first: what happens in between is then seen twice, never missed."""
    position = store.position(NAMESPACE, GENERATION)
    changes = store.index_changes(NAMESPACE, GENERATION, since)
    index.update({row.number: row for row in changes.rows})
    for number in changes.removed:
        index.pop(number, None)
    return position
