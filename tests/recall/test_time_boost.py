"""Words of time in a question: memories of that time come up, and with `when` no others are looked at."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from clocks import HandClock
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory, errors
from perdure.clock import to_micros
from perdure.model import Recall
from perdure.recall import recaller
from perdure.recall.query import ParsedQuery, SearchRequest, parse_query
from perdure.recall.recipe import BALANCED
from perdure.recall.relevance import relevance
from perdure.recall.timeline import time_column, within
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder
from perdure.text.time_expressions import TimeRange, find_time_ranges, read_time_range

# A Wednesday.
NOW = datetime(2026, 3, 18, 9, 26, 53, tzinfo=UTC)


@pytest.fixture(params=["hybrid", "from disk", "in memory"])
def shelf(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    embedder = WordEmbedder(1024) if request.param == "hybrid" else "none"
    with Memory(":memory:", embedder=embedder, clock=HandClock(NOW)) as memory:
        memory.remember("we met about the release in the office", key="day:1", valid_at="2025-06-02")
        memory.remember("we met about the release in the office", key="day:2", valid_at="2026-03-11")
        memory.remember("we met about the release in the office", key="day:3", valid_at="2026-03-17")
        memory.remember("lunch with March Hare", valid_at="2026-03-12")
        if request.param == "in memory":
            monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 0)
        yield memory


def parsed(query: str) -> ParsedQuery:
    return parse_query(SearchRequest(query=query, namespaces=("default",), recipe=BALANCED, now=NOW))


def numbers(answer: Recall) -> list[int]:
    return [hit.record.number for hit in answer]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("where did we meet about the release last week?", 2),
        ("where did we meet about the release yesterday?", 3),
        ("where did we meet about the release in June?", 1),
        ("where did we meet about the release last year?", 1),
        ("where did we meet about the release before 2026?", 1),
    ],
)
def test_memories_of_the_time_named_come_first(shelf: Memory, query: str, first: int):
    answer = shelf.recall(query)
    assert numbers(answer)[0] == first
    time = answer[0].explain["time"]
    assert (time.raw, time.rank, time.normalised) == (0, None, 1)
    assert time.contribution > max((hit.explain["time"].contribution for hit in answer[1:]), default=0)


def test_the_signals_are_the_evidence_that_the_score_amounts_to(shelf: Memory):
    for hit in shelf.recall("the release last week"):
        assert hit.score == relevance(sum(signal.contribution for signal in hit.explain.values()))
        assert 0 < hit.score < 1


def test_memories_of_another_time_are_still_found(shelf: Memory):
    assert set(numbers(shelf.recall("the release last week"))) >= {1, 2, 3}


def test_a_question_without_a_time_has_no_such_signal(shelf: Memory):
    assert all("time" not in hit.explain for hit in shelf.recall("before we moved to the release"))


def test_a_recipe_that_knows_no_time_stays_as_it_is(shelf: Memory):
    answer = shelf.recall("the release last week", recipe="facts")
    assert answer
    assert all("time" not in hit.explain for hit in answer)


def test_a_limit_does_not_hide_what_is_of_the_time(shelf: Memory):
    for day in range(20):
        shelf.remember(f"release release release notes {day}", valid_at="2024-01-01")
    assert numbers(shelf.recall("we met about the release in the office last week", limit=1)) == [2]


def test_a_time_leaves_each_balanced_category_its_place(tmp_path: Path):
    recipes = '{mine={like="learnings", time_weight=0.2, per_category=1, balanced_categories=["goal"]}}'
    settings = load({"HOME": str(tmp_path), "PERDURE_RECIPES": recipes})
    with Memory(":memory:", embedder="none", clock=HandClock(NOW), settings=settings) as memory:
        memory.remember("release and much more that was said on that day", category="goal", valid_at="2024-01-01")
        memory.remember("release and much more that was said on this day", category="goal", valid_at="2026-03-11")
        for day in range(9):
            memory.remember(f"release notes {day}", valid_at="2026-03-11")
        for query in ("release notes", "release notes last week"):
            answer = memory.recall(query, recipe="mine", limit=3)
            assert [hit.record.category for hit in answer] == [None, None, "goal"]
        # Of its category, the time decides which.
        assert answer[2].record.number == 2
        assert "time" in answer[2].explain


@pytest.mark.parametrize(
    ("when", "expected"),
    [
        ("last week", {2}),
        ("yesterday", {3}),
        ("in June", {1}),
        ("June", {1}),
        ("2025", {1}),
        ("since last week", {2, 3}),
        (" this year ", {2, 3}),
        ("between Monday and Wednesday", {3}),
        ("2024", set[int]()),
    ],
)
def test_when_is_a_filter(shelf: Memory, when: str, expected: set[int]):
    found = {hit.record.number for hit in shelf.recall("the release", when=when)} - {4}
    assert found == expected
    assert {record.number for record in shelf.list(when=when)} - {4} == expected


def test_when_and_since_narrow_together(shelf: Memory):
    assert set(numbers(shelf.recall("the release", when="this year", since="2026-03-15"))) == {3}
    assert not shelf.recall("the release", when="last week", until="2026-03-01")


def test_when_is_reckoned_from_the_time_that_is_asked_about(shelf: Memory):
    assert numbers(shelf.recall("release", when="yesterday", as_of="2025-06-03T12:00", min_relevance=0)) == [1]
    assert numbers(shelf.recall("release yesterday", as_of="2025-06-03T12:00"))[0] == 1


@pytest.mark.parametrize("when", ["", "banana", "when we moved", "last week or so", "\x00", "yesterday and today"])
def test_what_is_no_time_is_refused_with_a_remedy(shelf: Memory, when: str):
    with pytest.raises(errors.InvalidInput) as raised:
        shelf.recall("release", when=when)
    assert raised.value.remedy


def test_an_answer_of_nothing_says_that_the_time_stood_in_the_way(shelf: Memory):
    answer = shelf.recall("release", when="2024", min_relevance=0)
    assert answer.notes[-1].startswith(
        "Nothing passes all of the filters; without the time 2024-01-01 to 2025-01-01 there"
    )


def test_where_nothing_fits_without_the_time_either_it_is_not_said_that_no_memory_holds_the_word(shelf: Memory):
    answer = shelf.recall("release", when="2024", min_relevance=1)
    assert answer.notes[-1] == "Nothing is about that, with the filters or without them; other words may help."


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("what did we say about the harbour in February?", "the harbour was loud"),
        ("what have you told me about the harbour in February?", "the harbour was loud"),
        ("can you tell me what happened at the harbour bridge in February", "the harbour bridge fell in, we heard"),
        ("what happened at the harbour bridge in February?", "the harbour bridge fell in, we heard"),
    ],
)
def test_what_was_said_is_of_that_time_and_what_happened_may_be_told_later(query: str, first: str):
    with Memory(":memory:", embedder=WordEmbedder(1024), clock=HandClock(NOW)) as memory:
        memory.remember("the harbour was loud", valid_at="2026-02-27")
        memory.remember("the harbour bridge fell in, we heard", valid_at="2026-03-01")
        memory.remember("lunch with March Hare", valid_at="2026-03-12")
        answer = memory.recall(query, min_relevance=0)
    assert answer[0].text == first
    (later,) = (hit for hit in answer if "bridge" in hit.text)
    assert bool(later.explain["time"].contribution) == ("happened" in query)


def test_what_was_said_then_is_the_answer_where_something_later_is_near():
    with Memory(":memory:", embedder=WordEmbedder(1024), clock=HandClock(NOW)) as memory:
        memory.remember("cheese and olives", valid_at="2026-02-20")
        memory.remember("the harbour bridge fell in", valid_at="2026-03-01")
        for query, then in (("what did I say about the bridge in February?", True), ("the bridge in February", False)):
            answer = memory.recall(query)
            assert ("cheese and olives" in [hit.text for hit in answer]) == then
            assert any("is about the rest of the question" in note for note in answer.notes) == then


def test_words_that_say_only_how_long_ago_leave_the_search_and_names_stay():
    assert parsed("what did we eat last week").words == ["eat"]
    assert parsed("lunch with the hare in March").words == ["lunch", "hare", "march"]
    assert parsed("March met Friday").time_ranges == ()
    assert parsed("what did we eat two years ago").words == ["eat", "two", "years", "ago"]
    assert parsed("lunch before March").words == ["lunch"]
    assert parsed("yesterday").words == ["yesterday"]
    assert parsed("what did we do yesterday").words == ["yesterday"]
    assert parsed('who said "last week"').time_ranges == ()


moments = st.integers(-3_000_000, 3_000_000).map(lambda minutes: NOW + timedelta(minutes=minutes))


@given(moments, moments, moments, moments)
def test_nearness_is_one_inside_and_falls_with_the_distance(
    since: datetime, until: datetime, one: datetime, two: datetime
):
    span = TimeRange(min(since, until), max(since, until) + timedelta(seconds=1), 0, 0, "")
    columns = [time_column(to_micros(moment), [span], 1.0) for moment in (one, two)]
    near, far = sorted(columns, key=lambda column: column.raw)
    assert 0 < far.share <= near.share <= 1
    assert (columns[0].share == 1) == (one in span) == within(to_micros(one), [span])


@given(st.text(max_size=60) | st.sampled_from(["in 99999 days", "9999-99-99", "31 February 2026", "999999 years ago"]))
def test_no_text_is_an_error(text: str):
    read_time_range(text, NOW)
    asked = parsed(text)
    assert list(asked.time_ranges) == list(find_time_ranges(text, NOW)) or '"' in text or asked.time_ranges == ()
