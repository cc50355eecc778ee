"""One language of time for every verb of Python and every option: words, zones, beginnings and ends."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from clocks import HandClock

from perdure import Memory, errors
from perdure.clock import LOCAL, format_local, parse_time, zone_name
from perdure.text.time_expressions import find_time_ranges

# A Wednesday. In Kiritimati, which is 14 hours ahead, it is Thursday since 10:00 UTC.
NOW = datetime(2026, 3, 18, 12, tzinfo=UTC)
AHEAD = "Etc/GMT-14"
Zone = Callable[[str], None]


@pytest.fixture
def clock() -> HandClock:
    return HandClock(NOW)


@pytest.fixture
def memory(clock: HandClock) -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=clock) as memory:
        yield memory


def numbers(records: Any) -> set[int]:
    return {record.number for record in records}


@pytest.fixture
def week(memory: Memory) -> Memory:
    """A memory for each of the days from Monday of last week to today: #1 is 9 March, #10 is 18 March."""
    for day in range(9, 19):
        memory.remember(f"lunch number {day}", valid_at=f"2026-03-{day:02}T12:00")
    return memory


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("last week", set(range(1, 11))),
        ("Monday", {8, 9, 10}),
        ("mon", {8, 9, 10}),
        ("3 days ago", {7, 8, 9, 10}),
        ("3d", {7, 8, 9, 10}),
        ("72h", {7, 8, 9, 10}),
        ("2026-03", set(range(1, 11))),
        ("2w ago", set(range(1, 11))),
        ("yesterday", {9, 10}),
        ("last weekend", {6, 7, 8, 9, 10}),
        ("2026-03-17T12:00:00Z", {9, 10}),
        ("17.03.2026", {9, 10}),
        ("since Monday", {8, 9, 10}),
    ],
)
def test_since_begins_where_the_named_time_begins(week: Memory, words: str, expected: set[int]):
    assert numbers(week.list(since=words)) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("2026-03-11", {1, 2, 3}),
        ("last week", {1, 2, 3, 4, 5, 6, 7}),
        ("Monday", {1, 2, 3, 4, 5, 6, 7, 8}),
        ("3 days ago", {1, 2, 3, 4, 5, 6, 7}),
        ("3d", {1, 2, 3, 4, 5, 6}),
        ("2026-03-11T12:00:00Z", {1, 2}),
        ("2026-03", set(range(1, 11))),
    ],
)
def test_until_includes_the_named_day_week_or_month_and_ends_at_a_named_moment(
    week: Memory, words: str, expected: set[int]
):
    assert numbers(week.list(until=words)) == expected


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("24h", {9, 10}), ("2w ago", set[int]()), ("2 days", {8, 9, 10}), ("Mon", {8}), ("last weekend", {6, 7}),
        ("a couple of days ago", {7, 8}), ("mid-March", {3, 4, 5, 6, 7, 8, 9, 10}), ("Q1", set(range(1, 11))),
        ("14.03.2026", {6}), ("earlier this week", {8, 9, 10}),
    ],
)  # fmt: skip
def test_when_understands_what_the_options_for_one_moment_do(week: Memory, words: str, expected: set[int]):
    # The memory of today was true at this moment, which counts as today and as the last 24 hours.
    assert numbers(week.list(when=words)) == expected
    assert {hit.record.number for hit in week.recall("lunch", when=words)} == expected


def test_today_is_one_day_for_every_way_to_say_it(memory: Memory, zone: Zone):
    zone(AHEAD)
    memory.remember("an early lunch", valid_at="2026-03-18T10:30:00Z")
    memory.remember("a late lunch", valid_at="2026-03-18T09:30:00Z")
    assert numbers(memory.list(since="today")) == {1}
    assert numbers(memory.list(when="today")) == {1}
    assert numbers(memory.list(until="yesterday")) == {2}
    assert numbers(memory.list(when="yesterday")) == {2}
    assert memory.recall("lunch today")[0].record.number == 1
    assert memory.recall("lunch yesterday")[0].record.number == 2


def test_a_sentence_to_forget_counts_days_in_the_same_zone_and_names_it(memory: Memory, clock: HandClock, zone: Zone):
    zone("Pacific/Auckland")
    clock.now = datetime(2026, 3, 18, 10, 30, tzinfo=UTC)
    memory.remember("said before midnight")
    clock.now = datetime(2026, 3, 18, 20, tzinfo=UTC)
    memory.remember("said in the morning")
    preview = memory.forget("what I told you yesterday", dry_run=True)
    assert "2026-03-18 NZDT" in preview.understood
    assert numbers(preview.records) == {1}


def test_a_time_without_a_zone_is_local_as_python_means_it(memory: Memory, zone: Zone):
    zone("America/New_York")
    naive = datetime(2026, 3, 18, 8, 0)  # noqa: DTZ001 - that is the point
    assert memory.remember("by datetime", valid_at=naive).record.valid_at == NOW
    assert memory.remember("by text", valid_at="2026-03-18T08:00").record.valid_at == NOW
    assert memory.remember("by zone", valid_at="2026-03-18T08:00-04:00").record.valid_at == NOW


def test_days_on_which_the_clock_is_changed_have_23_hours(zone: Zone):
    zone("Europe/Berlin")
    (found,) = find_time_ranges("on 29 March 2026", NOW)
    assert found.since is not None
    assert found.until is not None
    assert found.until - found.since == timedelta(hours=23)
    assert found.dates == "2026-03-29"
    # Three days before a Tuesday on which summer time has come.
    tuesday = datetime(2026, 3, 31, 10, tzinfo=UTC)
    assert parse_time("3 days ago", "since", tuesday).isoformat() == "2026-03-27T23:00:00+00:00"
    assert parse_time("3d", "since", tuesday).isoformat() == "2026-03-28T10:00:00+00:00"


@pytest.mark.parametrize("name", ["UTC", "Pacific/Auckland", "America/New_York", "Asia/Kathmandu", "Etc/GMT-14"])
def test_the_local_zone_is_the_zone_of_the_process(zone: Zone, name: str):
    zone(name)
    real = ZoneInfo(name)
    for hours in range(0, 24 * 400, 7):
        moment = NOW + timedelta(hours=hours)
        assert moment.astimezone(LOCAL).replace(tzinfo=None) == moment.astimezone(real).replace(tzinfo=None)
        assert moment.astimezone(LOCAL).astimezone(UTC) == moment


def test_the_hour_that_comes_twice_is_kept_apart(zone: Zone):
    zone("Europe/Berlin")
    for minutes in range(-120, 180, 30):
        moment = datetime(2026, 10, 25, 0, 30, tzinfo=UTC) + timedelta(minutes=minutes)
        assert moment.astimezone(LOCAL).astimezone(UTC) == moment


@pytest.mark.parametrize("text", ["0001-01-02", "9999-12-31", "9999-12-31T12:00"])
def test_the_ends_of_the_calendar_are_times_in_every_zone(memory: Memory, zone: Zone, text: str):
    for name in ("UTC", "Pacific/Auckland", "America/New_York"):
        zone(name)
        assert memory.remember(f"{name} {text}", valid_at=text).record.valid_at is not None


@pytest.mark.parametrize(
    ("name", "shown"),
    [("UTC", "2026-03-18 12:00:00 UTC"), ("Europe/Berlin", "2026-03-18 13:00:00 CET"),
     ("Asia/Kathmandu", "2026-03-18 17:45:00 UTC+05:45"), (AHEAD, "2026-03-19 02:00:00 UTC+14:00")],
)  # fmt: skip
def test_a_time_is_shown_with_its_zone(zone: Zone, name: str, shown: str):
    zone(name)
    assert format_local(NOW) == shown
    assert zone_name(NOW) == "UTC"


@pytest.mark.parametrize(
    ("words", "moment"),
    [
        ("3d", "2026-03-21T12:00"), ("in 3 days", "2026-03-21T12:00"), ("in half an hour", "2026-03-18T12:30"),
        ("next week", "2026-03-23"), ("tomorrow", "2026-03-19"), ("Wednesday", "2026-03-25"), ("May", "2026-05-01"),
        ("2 weeks from now", "2026-04-01T12:00"), ("14 March", "2027-03-14"), ("next summer", "2026-06-01"),
        ("the end of April", "2026-05-01"), ("end of the month", "2026-04-01"), ("Q2", "2026-04-01"),
    ],
)  # fmt: skip
def test_what_expires_lies_ahead(memory: Memory, words: str, moment: str):
    record = memory.remember("a parking ticket", expires_at=words).record
    assert record.expires_at == datetime.fromisoformat(moment).replace(tzinfo=UTC)


def test_as_of_and_known_at_take_words_and_count_from_the_beginning_of_a_day(memory: Memory, clock: HandClock):
    memory.upsert("person:alice", "Alice lives in Paris")
    clock.forward(days=1)
    memory.upsert("person:alice", "Alice lives in Tokyo")
    clock.forward(hours=1)
    assert "Tokyo" in memory.get("person:alice").text
    assert "Paris" in memory.get("person:alice", known_at="today").text
    assert "Paris" in memory.get("person:alice", known_at="2h").text
    assert "Tokyo" in memory.get("person:alice", known_at="half an hour ago").text
    assert "Paris" in memory.recall("where does Alice live", known_at="today")[0].record.text
    assert "Paris" in memory.recall("where does Alice live", as_of="2 hours ago")[0].record.text


def test_the_log_and_undo_take_words(memory: Memory, clock: HandClock):
    memory.remember("said on Wednesday")
    clock.forward(days=2)
    memory.remember("said on Friday")
    assert [entry.number for entry in memory.log(since="yesterday")] == [2]
    assert [entry.number for entry in memory.log(until="2 days ago")] == [1]
    actor = memory.log(limit=1)[0].change.actor
    undone = memory.undo(actor=actor, since="today", dry_run=True)
    assert len(undone.reverted) + len(undone.removed) == 1


def test_a_time_that_ends_before_it_begins_is_refused_by_every_verb(memory: Memory):
    backwards: dict[str, Any] = {"since": "1m", "until": "2d"}
    calls: list[Callable[[], object]] = [
        lambda: memory.list(**backwards),
        lambda: memory.recall("tea", **backwards),
        lambda: memory.context("tea", **backwards),
        lambda: memory.log(**backwards),
        lambda: memory.forget(None, dry_run=True, **backwards),
        lambda: memory.list(since=NOW, until=NOW - timedelta(days=1)),
    ]
    for call in calls:
        with pytest.raises(errors.InvalidInput, match="is after until"):
            call()
    assert memory.list(since=NOW, until=NOW).records == ()


@pytest.mark.parametrize(
    "words", ["last weekendd", "someday", "1,5 hours ago", "03/04/2026", "gestern", "before March"]
)
def test_what_is_not_understood_is_refused_and_the_error_says_what_is(memory: Memory, words: str):
    with pytest.raises(errors.InvalidInput) as raised:
        memory.list(since=words)
    assert words in raised.value.sentence
    assert "3 days ago" in raised.value.remedy or "2026-03-04" in raised.value.remedy
    for call in (
        lambda: memory.recall("tea", as_of=words),
        lambda: memory.recall("tea", known_at=words),
        lambda: memory.remember("tea", valid_at=words),
        lambda: memory.remember("tea", expires_at=words),
        lambda: memory.log(since=words),
    ):
        with pytest.raises(errors.InvalidInput):
            call()
    assert memory.list().records == ()


def test_a_date_that_may_be_two_days_is_explained(memory: Memory):
    with pytest.raises(errors.InvalidInput) as raised:
        memory.list(until="03/04/2026")
    assert "2026-03-04 or 2026-04-03" in raised.value.remedy


@pytest.mark.parametrize(
    ("sentence", "understood"),
    [
        ("what I told you 1.5 hours ago", "created 2026-03-18 10:29 to 2026-03-18 10:30 UTC"),
        ("what I told you half an hour ago", "created 2026-03-18 11:29 to 2026-03-18 11:30 UTC"),
        ("what I told you an hour and a half ago", "created 2026-03-18 10:29 to 2026-03-18 10:30 UTC"),
        ("what I told you last weekend", "created 2026-03-14 to 2026-03-15 UTC"),
        ("what I told you thirty-one days ago", "created 2026-02-15 UTC"),
        ("what I told you on 14.03.2026", "created 2026-03-14 UTC"),
    ],
)
def test_a_sentence_to_forget_reads_its_time_whole(memory: Memory, sentence: str, understood: str):
    answer = memory.forget(sentence, dry_run=True)
    assert f"every memory, {understood}" in answer.understood


@pytest.mark.parametrize(
    "sentence",
    [
        "what I told you 1,5 hours ago", "what I told you a thousand and twenty days ago", "what I said 1 000 days ago",
        "what I told you umpteen days ago", "everything about tea from 1,5 hours ago", "what I told you on 03/04/2026",
        "what I told you half a dozen days ago",
    ],
)  # fmt: skip
def test_a_sentence_to_forget_with_a_time_that_is_not_understood_is_refused(memory: Memory, sentence: str):
    memory.remember("tea")
    with pytest.raises(errors.InvalidInput, match="names a time that cannot be read"):
        memory.forget(sentence, dry_run=True)


def test_a_sentence_to_forget_that_takes_something_away_is_refused_before_its_time_is_read(memory: Memory):
    memory.remember("tea")
    with pytest.raises(errors.InvalidInput, match="says 'minus'"):
        memory.forget("what I told you minus 3 days ago", dry_run=True)


def test_a_time_to_come_is_what_a_sentence_to_forget_speaks_of(memory: Memory):
    memory.remember("The trip next week is cancelled")
    preview = memory.forget("everything about the trip next week", dry_run=True)
    assert numbers(preview.records) == {1}


def test_before_takes_words_too(week: Memory, clock: HandClock):
    clock.forward(days=10)
    assert len(week.forget("before:3d", dry_run=True).records) == 10
    assert "created before 2026-03-16 00:00:00 UTC" in week.forget("before:last week", dry_run=True).understood
