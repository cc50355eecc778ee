"""Words of time become stretches of time; whatever else is said stays words."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text.time_expressions import find_time_ranges, without_spans

# A Wednesday.
NOW = datetime(2026, 3, 18, 9, 26, 53, tzinfo=UTC)

MEANINGS = {
    "today": ("2026-03-18", "2026-03-19"),
    "yesterday": ("2026-03-17", "2026-03-18"),
    "Yesterday evening": ("2026-03-17T18:00", "2026-03-18"),
    "the day before yesterday": ("2026-03-16", "2026-03-17"),
    "this morning": ("2026-03-18", "2026-03-18T12:00"),
    "tonight": ("2026-03-18T18:00", "2026-03-19"),
    "last night": ("2026-03-17T18:00", "2026-03-18T06:00"),
    "this week": ("2026-03-16", "2026-03-23"),
    "last week": ("2026-03-09", "2026-03-16"),
    "this month": ("2026-03-01", "2026-04-01"),
    "last month": ("2026-02-01", "2026-03-01"),
    "last year": ("2025-01-01", "2026-01-01"),
    "in the past week": ("2026-03-11T09:26:53", "2026-03-18T09:26:53.000001"),
    "last 2 hours": ("2026-03-18T07:26:53", "2026-03-18T09:26:53.000001"),
    "in the last three days": ("2026-03-15T09:26:53", "2026-03-18T09:26:53.000001"),
    "3 days ago": ("2026-03-15", "2026-03-16"),
    "a week ago": ("2026-03-09", "2026-03-16"),
    "two months ago": ("2026-01-01", "2026-02-01"),
    "an hour ago": ("2026-03-18T07:56:53", "2026-03-18T08:56:53"),
    "in March": ("2026-03-01", "2026-04-01"),
    "in May": ("2025-05-01", "2025-06-01"),
    "of March 2025": ("2025-03-01", "2025-04-01"),
    "last March": ("2025-03-01", "2025-04-01"),
    "March 2025": ("2025-03-01", "2025-04-01"),
    "on Monday": ("2026-03-16", "2026-03-17"),
    "on Wednesday": ("2026-03-18", "2026-03-19"),
    "last Wednesday": ("2026-03-11", "2026-03-12"),
    "in 2025": ("2025-01-01", "2026-01-01"),
    "on 14 March 2025": ("2025-03-14", "2025-03-15"),
    "the 14th of March, 2025": ("2025-03-14", "2025-03-15"),
    "March 14th, 2025": ("2025-03-14", "2025-03-15"),
    "on 24 December": ("2025-12-24", "2025-12-25"),
    "2026-03-14": ("2026-03-14", "2026-03-15"),
    "2026-03": ("2026-03-01", "2026-04-01"),
    "2026-03-14T09:26Z": ("2026-03-14T09:26", "2026-03-14T09:27"),
    "2026-03-14 09:26:53+02:00": ("2026-03-14T07:26:53", "2026-03-14T07:26:54"),
    "before March": (None, "2026-03-01"),
    "before 2026-03-14": (None, "2026-03-14"),
    "until yesterday": (None, "2026-03-18"),
    "since Monday": ("2026-03-16", None),
    "from March on": ("2026-03-01", None),
    "after last week": ("2026-03-16", None),
    "older than 3 days": (None, "2026-03-15T09:26:53"),
    "more than two weeks ago": (None, "2026-03-04T09:26:53"),
    "newer than an hour": ("2026-03-18T08:26:53", None),
    "between Monday and yesterday": ("2026-03-16", "2026-03-18"),
    "between Thursday and Monday": ("2026-03-12", "2026-03-17"),
    "between March and January": ("2025-03-01", "2026-02-01"),
    "between 2026-03-14 and 2026-01-01": ("2026-01-01", "2026-03-15"),
    "from January to March": ("2026-01-01", "2026-04-01"),
}

NO_TIMES = [
    "", "May is my sister", "the Monday standup", "march on", "call 2025", "before lunch", "between us", "31 of them",
    "more than 3 days",
    "for 2000 euros", "in Marche", "in Märzen", "99999 years ago", "tomorrows", "todayish", "every 2 weeks",
]  # fmt: skip


def moment(text: str | None) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


@pytest.mark.parametrize(("words", "meaning"), MEANINGS.items(), ids=MEANINGS)
def test_words_of_time_mean_a_stretch_of_time(words: str, meaning: tuple[str | None, str | None]):
    (span,) = find_time_ranges(f"What I said {words} about tea", NOW)
    assert (span.since, span.until) == (moment(meaning[0]), moment(meaning[1]))
    assert span.words.lower() == words.lower()


@pytest.mark.parametrize("text", NO_TIMES)
def test_words_that_only_look_like_time_are_left_alone(text: str):
    assert find_time_ranges(text, NOW) == ()


def test_a_day_that_no_calendar_has_is_no_day():
    (span,) = find_time_ranges("on 31 February 2025", NOW)
    assert span.words == "February 2025"


def test_what_is_left_is_the_text_without_its_words_of_time():
    text = "tea yesterday and cake on Monday please"
    assert without_spans(text, find_time_ranges(text, NOW)).split() == ["tea", "and", "cake", "please"]


def test_now_may_be_told_in_any_zone():
    elsewhere = NOW.astimezone(tz=datetime.strptime("+1100", "%z").tzinfo)
    assert find_time_ranges("today", elsewhere) == find_time_ranges("today", NOW)


@pytest.mark.parametrize(
    ("words", "figures"),
    [
        ("yesterday", "2026-03-17"), ("last week", "2026-03-09 to 2026-03-15"), ("before March", "until 2026-03-01"),
        ("since Monday", "from 2026-03-16 on"), ("this morning", "2026-03-18 to 2026-03-18 12:00"),
    ],
)  # fmt: skip
def test_a_span_says_itself_in_figures(words: str, figures: str):
    assert find_time_ranges(words, NOW)[0].dates == figures


WORDS = st.sampled_from(
    "before since after older more less than until between and from to on in the last past this next ago 3 0 999999 a "
    "an days weeks hours month years year yesterday today morning night monday sunday march may 2025 "
    "2026-02-30 2026-02-28 14 31st of , 0001-01-01 9999-12-31 T10:00 \u017fix \u017funday K \u00a0 tea".split(" ")
)
NOWS = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(), NOWS)
def test_for_any_text_and_any_now_a_span_begins_before_it_ends(text: str, now: datetime):
    end = 0
    for span in find_time_ranges(text, now):
        assert span.since or span.until
        assert span.since is None or span.until is None or span.since < span.until
        assert end <= span.start < span.end <= len(text)
        assert span.dates
        end = span.end


@given(st.sampled_from(sorted(MEANINGS)), st.integers(0, 10**9))
def test_a_span_holds_its_first_moment_and_not_its_last(words: str, seconds: int):
    now = NOW + timedelta(seconds=seconds)
    for span in find_time_ranges(words, now):
        assert span.since is None or span.since in span
        assert span.until is None or span.until not in span
