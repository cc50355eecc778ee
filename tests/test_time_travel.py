"""Recall about the past: what was true at a time, and what was known at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.errors import InvalidInput, NotFound
from perdure.model import Recall
from perdure.recall.past_index import LOST
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import amend

BEGIN = datetime(2026, 3, 14, 9, tzinfo=UTC)
DAY = timedelta(days=1)


class Days:
    """A clock that is moved by hand, a day at a time."""

    def __init__(self) -> None:
        self.now = BEGIN

    def __call__(self) -> datetime:
        return self.now

    def pass_one(self) -> datetime:
        """Answers the noon between the days."""
        self.now += DAY
        return self.now - DAY / 2


@pytest.fixture
def days() -> Days:
    return Days()


@pytest.fixture(params=["hybrid", "words"])
def memory(request: pytest.FixtureRequest, days: Days) -> Iterator[Memory]:
    """Everything about the past holds by words and meaning, and by words alone."""
    with Memory(":memory:", embedder=WordEmbedder() if request.param == "hybrid" else "none", clock=days) as opened:
        yield opened


def found(answer: Recall) -> set[str]:
    return {hit.record.text for hit in answer}


# -- what was known ------------------------------------------------------------------------------------------------


def test_a_memory_is_found_by_words_that_only_its_old_version_held(memory: Memory, days: Days):
    memory.remember("Alice lives in Osaka", key="person:alice")
    then = days.pass_one()
    memory.update("person:alice", text="Alice lives in Tokyo")
    (hit,) = memory.recall("Osaka", known_at=then)
    assert (hit.record.text, hit.record.version) == ("Alice lives in Osaka", 1)
    assert found(memory.recall("Alice")) == {"Alice lives in Tokyo"}
    assert "Tokyo" not in str(memory.recall("Tokyo", known_at=then))


def test_a_memory_that_was_forgotten_since_is_shown_as_it_was(memory: Memory, days: Days):
    memory.remember("tea on monday")
    then = days.pass_one()
    memory.forget(1)
    (hit,) = memory.recall("tea", known_at=then)
    assert hit.record.state == "active"
    assert not memory.recall("tea")


def test_a_memory_that_expired_since_is_shown_as_it_was(memory: Memory, days: Days):
    memory.remember("tea on monday", expires_at=BEGIN + DAY)
    then = days.pass_one()
    assert not memory.recall("tea")
    assert found(memory.recall("tea", known_at=then)) == {"tea on monday"}
    memory.work()
    assert memory.list(states="expired").records
    assert found(memory.recall("tea", known_at=then)) == {"tea on monday"}
    assert not memory.recall("tea", known_at=BEGIN + DAY)


def test_a_memory_that_came_later_was_not_known(memory: Memory, days: Days):
    memory.remember("tea on monday")
    then = days.pass_one()
    memory.remember("tea on friday")
    assert found(memory.recall("tea", known_at=then)) == {"tea on monday"}


def test_before_the_first_memory_nothing_was_known_and_in_the_future_what_is_known_now(memory: Memory, days: Days):
    memory.remember("tea on monday")
    assert not memory.recall("tea", known_at=BEGIN - DAY)
    assert found(memory.recall("tea", known_at=BEGIN + 1000 * DAY)) == {"tea on monday"}
    assert found(memory.recall("tea", as_of=BEGIN + 1000 * DAY)) == {"tea on monday"}


def test_what_was_known_was_known_about_its_own_time(memory: Memory, days: Days):
    memory.remember("tea until tomorrow", invalid_at=BEGIN + DAY)
    memory.remember("tea from tomorrow", valid_at=BEGIN + DAY)
    then = days.pass_one()
    assert found(memory.recall("tea", known_at=then)) == {"tea until tomorrow"}
    assert found(memory.recall("tea")) == {"tea from tomorrow"}


FILTERS: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"tags": ["old"]}, {"tags": ["new"]}),
    ({"category": "preference"}, {"category": "goal"}),
    ({"tier": "important"}, {"tier": "normal"}),
    ({"context_type": "decision"}, {"context_type": "research"}),
    ({"tags": ["old"], "spec_folder": "a"}, {"tags": ["new"], "spec_folder": "a"}),
]


@pytest.mark.parametrize(("old", "new"), FILTERS, ids=str)
def test_filters_look_at_the_memory_as_it_was(memory: Memory, days: Days, old: dict[str, Any], new: dict[str, Any]):
    memory.remember("tea on monday", **old)
    memory.remember("tea on friday", **old)
    then = days.pass_one()
    memory.update(1, **new)
    assert found(memory.recall("tea", known_at=then, **old)) == {"tea on monday", "tea on friday"}
    assert not memory.recall("tea", known_at=then, **new)
    assert found(memory.recall("tea", **new)) == {"tea on monday"}


def test_filters_by_time_look_at_the_memory_as_it_was(memory: Memory, days: Days):
    memory.remember("tea on monday", valid_at=BEGIN - 9 * DAY)
    then = days.pass_one()
    memory.update(1, valid_at=BEGIN - 2 * DAY)
    assert memory.recall("tea", known_at=then, until=BEGIN - 8 * DAY)
    assert not memory.recall("tea", known_at=then, since=BEGIN - 8 * DAY)
    assert memory.recall("tea", since=BEGIN - 8 * DAY)


def test_what_was_deprecated_then_is_shown_only_when_it_is_asked_for(memory: Memory, days: Days):
    memory.remember("tea on monday", tier="deprecated")
    memory.remember("tea on friday")
    then = days.pass_one()
    memory.update(1, tier="normal")
    memory.update(2, tier="deprecated")
    assert found(memory.recall("tea", known_at=then)) == {"tea on friday"}
    assert found(memory.recall("tea", known_at=then, tier="deprecated")) == {"tea on monday"}
    assert found(memory.recall("tea", as_of=then)) == {"tea on monday"}


def test_several_namespaces_are_asked_about_the_same_moment(memory: Memory, days: Days):
    other = memory.namespace("bob")
    memory.remember("tea on monday")
    other.remember("tea on friday")
    then = days.pass_one()
    memory.update(1, text="coffee on monday")
    other.forget(1)
    answer = memory.recall("tea", namespaces=["default", "bob"], known_at=then)
    assert {(hit.record.namespace, hit.record.text) for hit in answer} == {
        ("default", "tea on monday"),
        ("bob", "tea on friday"),
    }
    assert found(memory.recall("tea", namespaces=["bob"], known_at=then)) == {"tea on friday"}


def test_what_was_undone_was_known_until_then(memory: Memory, days: Days):
    memory.remember("Alice lives in Osaka", key="person:alice")
    days.pass_one()
    wrong = memory.update("person:alice", text="Alice lives in Oslo")
    between = days.pass_one()
    memory.undo(wrong.batch)
    after = days.pass_one()
    assert found(memory.recall("Alice", known_at=between)) == {"Alice lives in Oslo"}
    assert found(memory.recall("Alice", known_at=after)) == {"Alice lives in Osaka"}
    assert found(memory.recall("Alice", as_of=between)) == {"Alice lives in Osaka"}
    assert found(memory.recall("Alice", as_of=between, known_at=between)) == {"Alice lives in Oslo"}


@pytest.mark.parametrize("embedder", ["none", WordEmbedder()], ids=["words", "hybrid"])
def test_after_a_restart_and_after_another_process_wrote_the_past_is_the_same(
    tmp_path: Path, days: Days, embedder: Any
):
    path = tmp_path / "m.db"
    with Memory(path, embedder=embedder, clock=days) as memory:
        memory.remember("Alice lives in Osaka", key="person:alice")
        memory.remember("tea on monday")
    then = days.pass_one()
    with Memory(path, embedder=embedder, clock=days) as memory, Memory(path, embedder=embedder, clock=days) as other:
        assert found(memory.recall("Alice tea", known_at=then, min_relevance=0)) == {
            "Alice lives in Osaka",
            "tea on monday",
        }
        other.update("person:alice", text="Alice lives in Tokyo")
        other.forget(2)
        other.remember("tea on friday")
        for asked in (memory, other):
            assert found(asked.recall("Alice tea", known_at=then, min_relevance=0)) == {
                "Alice lives in Osaka",
                "tea on monday",
            }
        assert found(memory.recall("Alice tea", min_relevance=0)) == {"Alice lives in Tokyo", "tea on friday"}


@pytest.mark.parametrize("embedder", ["none", WordEmbedder()], ids=["words", "hybrid"])
def test_while_somebody_writes_the_past_stays_what_it_was(tmp_path: Path, days: Days, embedder: Any):
    path = tmp_path / "m.db"
    with Memory(path, embedder=embedder, clock=days) as memory, Memory(path, embedder=embedder, clock=days) as other:
        for number in range(20):
            memory.remember(f"tea {number}")
        then = days.pass_one()
        known = {record.text for record in memory.list()}

        def write() -> None:
            for turn in range(40):
                if turn < 20 and turn % 3 == 0:
                    other.forget(turn + 1)
                elif turn % 3:
                    other.remember(f"tea, new {turn}")
                    other.update((turn // 3) * 3 % 18 + 2, text=f"tea, later {turn}")

        writer = threading.Thread(target=write)
        writer.start()
        asked = 0
        while writer.is_alive() or not asked:
            assert found(memory.recall("tea", limit=100, known_at=then)) == known
            asked += 1
        writer.join()
        assert found(memory.recall("tea", limit=100, known_at=then)) == known


def test_an_answer_from_the_past_counts_as_no_use_and_shows_none(memory: Memory, days: Days):
    memory.remember("tea on monday")
    memory.recall("tea")
    memory.get(1)
    then = days.pass_one()
    questions: list[dict[str, Any]] = [{"known_at": then}, {"as_of": then}]
    for asked in questions:
        (hit,) = memory.recall("tea", **asked)
        assert (hit.record.recall_count, hit.record.accessed_at) == (0, None)
    memory.get(1, known_at=then)
    (record,) = memory.list()
    assert (record.recall_count, record.access_count) == (1, 1)


# -- what cannot be shown any more ---------------------------------------------------------------------------------


def test_what_was_erased_is_not_found_in_the_past_either_and_the_answer_says_so(memory: Memory, days: Days):
    memory.remember("the secret tea")
    memory.remember("tea on monday")
    then = days.pass_one()
    assert len(memory.recall("tea", known_at=then)) == 2
    memory.erase(1, confirm=True)
    answer = memory.recall("tea", known_at=then)
    assert found(answer) == {"tea on monday"}
    assert LOST.format(1) in answer.notes
    assert LOST.format(1) not in memory.recall("tea", known_at=days.pass_one()).notes
    assert "secret" not in str(answer)


def test_what_was_forgotten_before_it_was_erased_is_not_missed(memory: Memory, days: Days):
    memory.remember("the secret tea")
    days.pass_one()
    memory.forget(1)
    then = days.pass_one()
    memory.erase(1, confirm=True)
    assert not any("cannot be shown" in note for note in memory.recall("tea", known_at=then).notes)


def test_without_versioning_the_past_is_not_kept_and_the_answer_says_so(days: Days):
    rules = replace(load(embedder="none"), versioning=False)
    with Memory(":memory:", settings=rules, clock=days) as memory:
        memory.remember("Alice lives in Osaka", key="person:alice")
        memory.remember("tea on monday")
        then = days.pass_one()
        memory.update("person:alice", text="Alice lives in Tokyo")
        questions: list[dict[str, Any]] = [{"known_at": then}, {"as_of": then}]
        for asked in questions:
            answer = memory.recall("Alice tea", **asked)
            assert found(answer) == {"tea on monday"}
            assert LOST.format(1) in answer.notes
        with pytest.raises(NotFound, match="not kept"):
            memory.get(1, known_at=then)


# -- what was true -------------------------------------------------------------------------------------------------


def test_of_each_memory_the_version_that_was_true_is_shown(memory: Memory, days: Days):
    memory.remember("Alice lives in Osaka", key="person:alice")
    first = days.pass_one()
    memory.update("person:alice", text="Alice lives in Tokyo")
    second = days.pass_one()
    memory.update("person:alice", text="Alice lives in Kyoto")
    assert found(memory.recall("Alice", as_of=BEGIN - 999 * DAY)) == {"Alice lives in Osaka"}
    assert found(memory.recall("Osaka", as_of=first)) == {"Alice lives in Osaka"}
    assert found(memory.recall("Tokyo", as_of=second)) == {"Alice lives in Tokyo"}
    assert found(memory.recall("Alice", as_of=days.now)) == {"Alice lives in Kyoto"}
    assert found(memory.recall("Alice", as_of=first, known_at=second)) == {"Alice lives in Osaka"}
    assert found(memory.recall("Alice", as_of=days.now, known_at=second)) == {"Alice lives in Tokyo"}


def test_a_version_is_true_from_the_time_it_says_not_from_when_it_was_written(memory: Memory, days: Days):
    memory.remember("Alice lives in Osaka", key="person:alice", valid_at=BEGIN - 100 * DAY)
    days.pass_one()
    memory.update("person:alice", text="Alice lives in Tokyo", valid_at=BEGIN - 50 * DAY)
    assert found(memory.recall("Alice", as_of=BEGIN - 75 * DAY)) == {"Alice lives in Osaka"}
    assert found(memory.recall("Alice", as_of=BEGIN - 25 * DAY)) == {"Alice lives in Tokyo"}
    assert not memory.recall("Alice", as_of=BEGIN - 101 * DAY)


def test_what_ended_is_shown_for_the_time_in_which_it_was_true(memory: Memory):
    memory.remember("tea in winter", valid_at=BEGIN - 20 * DAY, invalid_at=BEGIN - 10 * DAY)
    memory.remember("tea in spring", valid_at=BEGIN - 10 * DAY)
    assert found(memory.recall("tea")) == {"tea in spring"}
    assert found(memory.recall("tea", as_of=BEGIN - 15 * DAY)) == {"tea in winter"}
    assert found(memory.recall("tea", as_of=BEGIN - 10 * DAY)) == {"tea in spring"}
    assert not memory.recall("tea", as_of=BEGIN - 21 * DAY)


def test_a_superseded_memory_is_shown_when_it_was_true_and_otherwise_not(memory: Memory, days: Days):
    old = memory.remember("Alice lives in Osaka").record
    days.pass_one()
    amend(memory._services.store, old, state="superseded", invalid_at=days.now)
    memory.remember("Alice lives in Tokyo", valid_at=days.now)
    assert found(memory.recall("Alice")) == {"Alice lives in Tokyo"}
    assert found(memory.recall("Alice", as_of=BEGIN)) == {"Alice lives in Osaka"}
    assert found(memory.recall(recipe="learnings", as_of=BEGIN)) == {"Alice lives in Osaka"}
    assert found(memory.recall("Alice", as_of=days.now)) == {"Alice lives in Tokyo"}


def test_what_is_forgotten_now_is_not_shown_whenever_it_was_true(memory: Memory, days: Days):
    memory.remember("Alice lives in Osaka", key="person:alice")
    memory.remember("tea on monday")
    then = days.pass_one()
    memory.forget(2)
    memory.forget("person:alice")
    days.pass_one()
    memory.upsert("person:alice", "Alice lives in Tokyo")
    assert not memory.recall("tea", as_of=then)
    assert "Alice lives in Osaka" not in found(memory.recall("Alice", as_of=then))
    known = memory.recall("Alice tea", as_of=then, known_at=then, min_relevance=0)
    assert found(known) == {"Alice lives in Osaka", "tea on monday"}


def test_what_has_expired_by_now_is_not_shown_before_and_after_work(memory: Memory, days: Days):
    memory.remember("tea on monday", expires_at=BEGIN + DAY)
    memory.remember("tea in winter", invalid_at=BEGIN + DAY)
    then = days.pass_one()
    for _ in range(2):
        assert found(memory.recall("tea", as_of=then)) == {"tea in winter"}
        assert found(memory.recall(recipe="learnings", as_of=then)) == {"tea in winter"}
        memory.work()


def test_what_was_reworded_and_has_expired_by_now_is_not_shown(memory: Memory, days: Days):
    memory.remember("tea on monday", expires_at=BEGIN + 2 * DAY)
    then = days.pass_one()
    memory.update(1, text="tea on friday")
    assert found(memory.recall(recipe="learnings", as_of=then)) == {"tea on monday"}
    days.now += 2 * DAY
    assert not memory.recall("tea", as_of=then)
    assert not memory.recall(recipe="learnings", as_of=then)


# -- lists and single memories -------------------------------------------------------------------------------------


def test_a_list_of_the_past_shows_what_there_was(memory: Memory, days: Days):
    for number in range(7):
        memory.remember(f"tea {number}", tags=["even"] if number % 2 == 0 else [])
    then = days.pass_one()
    memory.update(2, text="coffee")
    memory.forget(3)
    memory.remember("tea 7")
    assert [record.text for record in memory.list(known_at=then)] == [f"tea {number}" for number in range(6, -1, -1)]
    assert [record.number for record in memory.list(known_at=then, tags=["even"])] == [7, 5, 3, 1]
    assert not memory.list(known_at=BEGIN - DAY)
    assert not memory.list(known_at=then, states="deleted")
    assert [record.number for record in memory.list(states="deleted")] == [3]


@pytest.mark.parametrize("newest", [True, False])
def test_the_pages_of_a_past_list_hold_every_memory_once(memory: Memory, days: Days, newest: bool):
    for number in range(9):
        memory.remember(f"tea {number}")
    then = days.pass_one()
    for number in (1, 4, 5, 9):
        memory.forget(number)
    seen: list[int] = []
    after: int | None = None
    while True:
        page = memory.list(limit=2, after=after, newest=newest, known_at=then)
        seen += (record.number for record in page)
        after = page.next
        if after is None:
            break
    assert seen == sorted(range(1, 10), reverse=newest)


def test_one_memory_can_be_read_as_it_was(memory: Memory, days: Days):
    memory.remember("Alice lives in Osaka", key="person:alice")
    then = days.pass_one()
    memory.update("person:alice", text="Alice lives in Tokyo")
    later = days.pass_one()
    memory.forget("person:alice")
    assert memory.get("person:alice", known_at=then).text == "Alice lives in Osaka"
    assert memory.get(1, known_at=later).text == "Alice lives in Tokyo"
    with pytest.raises(NotFound, match="not known yet"):
        memory.get(1, known_at=BEGIN - DAY)
    with pytest.raises(NotFound, match="deleted then"):
        memory.get(1, known_at=days.now)


@pytest.mark.parametrize("value", ["soon", "", 3, [], "2026-13-45"])
@pytest.mark.parametrize("name", ["as_of", "known_at"])
def test_what_is_no_time_is_refused(memory: Memory, name: str, value: Any):
    with pytest.raises(InvalidInput, match=name):
        memory.recall("tea", **{name: value})


# -- any history ---------------------------------------------------------------------------------------------------

steps = st.lists(
    st.tuples(st.sampled_from(["remember", "update", "forget", "restore", "tag", "undo"]), st.integers(0, 5)),
    min_size=1,
    max_size=14,
)


def _step(memory: Memory, name: str, which: int, serial: int, batches: list[str]) -> None:
    """One change, if it can be made."""
    numbers = [record.number for record in memory.list(limit=100, states=["active", "deleted"], newest=False)]
    if name == "remember" or not numbers:
        batches.append(memory.remember(f"tea word{serial}").batch or "")
        return
    number = numbers[which % len(numbers)]
    forgotten = memory.history(number)[-1].record
    gone = forgotten is not None and forgotten.state == "deleted"
    if name == "undo" and batches:
        memory.undo(batches.pop(which % len(batches)), force=True)
    elif name == "restore" and gone:
        memory.restore(number)
    elif name == "forget" and not gone:
        batches.append(memory.forget(number).batch or "")
    elif name == "tag" and not gone:
        batches.append(memory.update(number, tags=[f"tag{serial}"]).batch or "")
    elif name == "update" and not gone:
        batches.append(memory.update(number, text=f"tea word{serial}").batch or "")


def _travels(embedder: Callable[[], Any], history: list[tuple[str, int]], *, scores: bool) -> None:
    days = Days()
    with Memory(":memory:", embedder=embedder(), clock=days) as memory:
        batches: list[str] = []
        known: list[tuple[datetime, dict[int, tuple[str, tuple[str, ...]]], dict[int, float]]] = []
        for serial, (name, which) in enumerate(history):
            _step(memory, name, which, serial, batches)
            there = {record.number: (record.text, record.tags) for record in memory.list(limit=100)}
            answer = memory.recall("tea", limit=100)
            known.append((days.now, there, {hit.record.number: hit.score for hit in answer}))
            days.pass_one()
        for moment, there, asked in known:
            answer = memory.recall("tea", limit=100, known_at=moment)
            assert {hit.record.number: (hit.record.text, hit.record.tags) for hit in answer} == there
            assert [record.number for record in memory.list(limit=100, known_at=moment, newest=False)] == sorted(there)
            if scores:
                assert {hit.record.number: hit.score for hit in answer} == pytest.approx(asked, abs=1e-5)
            for number, (text, _) in there.items():
                assert memory.recall(text, limit=100, known_at=moment)[0].record.number == number


@given(steps)
def test_of_any_history_every_moment_is_found_again_by_words(history: list[tuple[str, int]]):
    """With the very scores that were given then."""
    _travels(lambda: "none", history, scores=True)


@given(steps)
def test_of_any_history_every_moment_is_found_again_by_meaning(history: list[tuple[str, int]]):
    _travels(lambda: WordEmbedder(256), history, scores=False)
