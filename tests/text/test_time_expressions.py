"""Words of time become stretches of time; whatever else is said stays words."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta, tzinfo
from itertools import product
from types import FrameType
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.query import SearchRequest, parse_query
from perdure.recall.recipe import BALANCED
from perdure.text.time_expressions import find_time_ranges, read_moment, without_mentions

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
    "since 2 hours ago": ("2026-03-18T07:26:53", None),
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
    "last weekend": ("2026-03-14", "2026-03-16"),
    "this weekend": ("2026-03-21", "2026-03-23"),
    "over the weekend": ("2026-03-14", "2026-03-16"),
    "a few days ago": ("2026-03-13", "2026-03-17"),
    "several weeks ago": ("2026-01-26", "2026-03-02"),
    "a couple of weeks ago": ("2026-02-23", "2026-03-09"),
    "two or three days ago": ("2026-03-15", "2026-03-17"),
    "2-3 days ago": ("2026-03-15", "2026-03-17"),
    "a day or two ago": ("2026-03-16", "2026-03-18"),
    "since Fri": ("2026-03-13", None),
    "last Mon": ("2026-03-16", "2026-03-17"),
    "on Friday night": ("2026-03-13T18:00", "2026-03-14"),
    "in Q3": ("2025-07-01", "2025-10-01"),
    "Q3 2025": ("2025-07-01", "2025-10-01"),
    "2025 Q3": ("2025-07-01", "2025-10-01"),
    "2025-Q3": ("2025-07-01", "2025-10-01"),
    "the third quarter of 2025": ("2025-07-01", "2025-10-01"),
    "last quarter": ("2025-10-01", "2026-01-01"),
    "thirty days ago": ("2026-02-16", "2026-02-17"),
    "forty-five days ago": ("2026-02-01", "2026-02-02"),
    "ninety nine days ago": ("2025-12-09", "2025-12-10"),
    "one hundred and twenty days ago": ("2025-11-18", "2025-11-19"),
    "a fortnight ago": ("2026-03-02", "2026-03-09"),
    "the week before last": ("2026-03-02", "2026-03-09"),
    "the week of 14 January": ("2026-01-12", "2026-01-19"),
    "2026/03/14": ("2026-03-14", "2026-03-15"),
    "14.03.2026": ("2026-03-14", "2026-03-15"),
    "03/14/2026": ("2026-03-14", "2026-03-15"),
    "14/03/2026": ("2026-03-14", "2026-03-15"),
    "05/05/2025": ("2025-05-05", "2025-05-06"),
    "early June": ("2025-06-01", "2025-06-11"),
    "mid-June": ("2025-06-11", "2025-06-21"),
    "late June 2024": ("2024-06-21", "2024-07-01"),
    "the end of March": ("2026-03-21", "2026-04-01"),
    "at the beginning of May": ("2025-05-01", "2025-05-11"),
    "early 2024": ("2024-01-01", "2024-05-01"),
    "late last year": ("2025-09-01", "2026-01-01"),
    "in the spring of 2022": ("2022-03-01", "2022-06-01"),
    "summer of 2024": ("2024-06-01", "2024-09-01"),
    "winter 2024": ("2024-12-01", "2025-03-01"),
    "last summer": ("2025-06-01", "2025-09-01"),
    "in the fall": ("2025-09-01", "2025-12-01"),
    "recently": ("2026-03-04T09:26:53", "2026-03-18T09:26:53.000001"),
    "the other day": ("2026-03-11", "2026-03-17"),
    "earlier this week": ("2026-03-16", "2026-03-18T09:26:53.000001"),
    "half an hour ago": ("2026-03-18T08:56:23", "2026-03-18T08:57:23"),
    "an hour and a half ago": ("2026-03-18T07:56:23", "2026-03-18T07:57:23"),
    "1.5 hours ago": ("2026-03-18T07:56:23", "2026-03-18T07:57:23"),
    "1½ hours ago": ("2026-03-18T07:56:23", "2026-03-18T07:57:23"),
    "two and a half days ago": ("2026-03-15T20:56:53", "2026-03-15T21:56:53"),
    "a quarter of an hour ago": ("2026-03-18T09:11:23", "2026-03-18T09:12:23"),
    "the last half hour": ("2026-03-18T08:56:53", "2026-03-18T09:26:53.000001"),
    "the last 24h": ("2026-03-17T09:26:53", "2026-03-18T09:26:53.000001"),
    "2w ago": ("2026-03-02", "2026-03-09"),
    "older than 30d": (None, "2026-02-16T09:26:53"),
    "tomorrow": ("2026-03-19", "2026-03-20"),
    "the day after tomorrow": ("2026-03-20", "2026-03-21"),
    "next week": ("2026-03-23", "2026-03-30"),
    "next Monday": ("2026-03-23", "2026-03-24"),
    "next March": ("2027-03-01", "2027-04-01"),
    "3 days from now": ("2026-03-21", "2026-03-22"),
    "on 29 February": ("2024-02-29", "2024-03-01"),
    "2026-03-14T09:26:53.5Z": ("2026-03-14T09:26:53.5", "2026-03-14T09:26:54.5"),
    "2026-03-14 09:26 UTC": ("2026-03-14T09:26", "2026-03-14T09:27"),
    "this past weekend": ("2026-03-14", "2026-03-16"),
    "this past Friday": ("2026-03-13", "2026-03-14"),
    "two weekends ago": ("2026-03-07", "2026-03-09"),
    "three Fridays ago": ("2026-02-27", "2026-02-28"),
    "Monday of last week": ("2026-03-09", "2026-03-10"),
    "Friday last week": ("2026-03-13", "2026-03-14"),
    "the first week of June": ("2025-06-01", "2025-06-08"),
    "the last week of August 2025": ("2025-08-25", "2025-09-01"),
    "the second half of 2023": ("2023-07-01", "2024-01-01"),
    "the end of the first quarter of 2025": ("2025-03-01", "2025-04-01"),
    "the week of the 3rd of June": ("2025-06-02", "2025-06-09"),
    "yesterday at 15:00": ("2026-03-17T15:00", "2026-03-17T15:01"),
    "on Monday at 9am": ("2026-03-16T09:00", "2026-03-16T09:01"),
    "on Monday 12:30 am": ("2026-03-16T00:30", "2026-03-16T00:31"),
    "the 3rd of June": ("2025-06-03", "2025-06-04"),
}

NO_TIMES = [
    "", "May is my sister", "the Monday standup", "march on", "call 2025", "before lunch", "between us", "31 of them",
    "more than 3 days",
    "may I ask", "march to the office", "Alice may come", "we may 5 of us", "march 3 miles", "in the sun",
    "he last sat there",
    "the first week of school", "the last week of school", "three Suns ago", "the first half of the match",
    "on Sun Microsystems", "the fall of Rome", "since the fall of Rome", "a second opinion", "built in 3 days",
    "1,5 hours ago", "3.5.7 days ago", "1 000 days ago", "a thousand and twenty days ago", "minus 3 days ago",
    "half a dozen days ago", "five point three hours ago", "03/04/2026", "2026/13/14", "31.02.2026", "2026-13",
    "2026-00",
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
    assert without_mentions(text, find_time_ranges(text, NOW)).split() == ["tea", "and", "cake", "please"]


@pytest.mark.parametrize("words", MEANINGS)
def test_a_question_is_searched_for_every_word_of_time(words: str):
    """Recall looks closer only at questions that may hold a time."""
    query = f"What did I say {words}"
    parsed = parse_query(SearchRequest(query=query, namespaces=("default",), recipe=BALANCED, now=NOW))
    assert parsed.time_ranges == find_time_ranges(query, NOW)


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
    "2026-02-30 2026-02-28 14 31st of , early mid-june end half quarter q3 fri Sun few couple hundred twenty-one 1.5 "
    "1\u00bd 2-3 spring winter weekend recently other tomorrow from now fortnight 24h 14.03.2026 03/04/2026 "
    "0001-01-01 9999-12-31 T10:00 \u017fix \u017funday \u212a \u00a0 tea".split(" ")
)
NOWS = st.datetimes(timezones=st.just(UTC)) | st.sampled_from(
    [datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)]
)


ZONES = st.sampled_from([UTC, *map(ZoneInfo, ("Europe/Berlin", "Pacific/Auckland", "America/St_Johns", "Etc/GMT-14"))])


@given(st.lists(WORDS, max_size=12).map(" ".join) | st.text(), NOWS, ZONES)
def test_for_any_text_now_and_zone_a_span_begins_before_it_ends(text: str, now: datetime, zone: tzinfo):
    end = 0
    for span in find_time_ranges(text, now, zone):
        assert span.since or span.until
        assert span.since is None or span.until is None or span.since < span.until
        assert end <= span.start < span.end <= len(text)
        assert span.dates
        assert span.zone_name
        end = span.end
    for until, ahead in product((False, True), repeat=2):
        moment = read_moment(text, now, zone, until=until, ahead=ahead)
        assert moment is None or moment.tzinfo is UTC


@given(st.sampled_from(sorted(MEANINGS)), st.integers(0, 10**9))
def test_a_span_holds_its_first_moment_and_not_its_last(words: str, seconds: int):
    now = NOW + timedelta(seconds=seconds)
    for span in find_time_ranges(words, now):
        assert span.since is None or span.since in span
        assert span.until is None or span.until not in span


PIECES = (
    "in ", "the ", "early ", "early-", "a ", "and a ", "one ", "1 ", "1.", "1/", "end of ", "end of the ", "week of ",
    "forty-", "two or ", "between monday and ", "from monday to ", "a quarter of ", "of an ", "last ", "next ", "half ",
    "first week of ", "last week of ", "the end of the last ", "older than ", "up to ", "monday of ", "today at ",
    "2026-03-14 ", "14 march ", " ", "x", "-", "24h ", "few ", "hundred ",
)  # fmt: skip


@pytest.mark.parametrize("piece", PIECES)
def test_the_work_on_hostile_text_grows_with_its_length_not_its_square(piece: str):
    """Eight times the text takes eight times the steps if linear, 64 times if quadratic."""
    small, large = steps(piece * 60), steps(piece * 480)
    assert large <= 12 * max(small, 60)


def steps(text: str) -> int:
    """How many functions are called, of Python's own ones too."""
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        find_time_ranges(text, NOW)
    finally:
        sys.setprofile(None)
    return count
