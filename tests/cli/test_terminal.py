"""What may reach a terminal."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from clocks import START
from hypothesis import given
from hypothesis import strategies as st

from perdure.cli.terminal import safe, tsv_field
from perdure.cli.text_layout import cells, clip, wrap
from perdure.cli.time_options import age
from perdure.clock import parse_time
from perdure.text.diff import word_diff

if TYPE_CHECKING:
    from cli.user import User

HOSTILE = "\x1b]0;owned\x07\x1b[2J\x1b[31mred \x9b31m \u202egnitset\u202c \r\b\x7f\u2028 end"
STEERING = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\u2028]")


@pytest.fixture
def hostile(user: User):
    user.done(
        "remember", HOSTILE, "--title", HOSTILE, "--tag", HOSTILE, "--reasoning", HOSTILE, "--source", HOSTILE,
        "--key", "a:x", "--trigger-phrase", HOSTILE, "--trigger-phrase", "red",
        PERDURE_ACTOR=HOSTILE.replace("\x00", ""),
    )  # fmt: skip
    user.done("update", "1", "--text", HOSTILE + " once more")
    return user


@pytest.mark.parametrize("layout", ["terminal", "plain"])
@pytest.mark.parametrize(
    "words",
    [
        ("show", "1"), ("list",), ("recall", "red end"), ("recall", "red end", "--explain"), ("history", "1"),
        ("stats",), ("update", "1", "--text", HOSTILE), ("forget", "1"), ("remember", HOSTILE + " other"),
        ("context", "red end"), ("context", "red end", "--format", "records"), ("context", HOSTILE, "--tag", HOSTILE),
        ("recall", "red end", "--brief"), ("triggers", "a red end"), ("triggers", HOSTILE + " other"),
        ("recall", HOSTILE, "--tag", HOSTILE), ("show", HOSTILE), ("list", "--tag", HOSTILE + "x"), ("doctor",),
    ],
    ids=str,
)  # fmt: skip
def test_no_command_lets_stored_text_steer_the_terminal(hostile: User, words: tuple[str, ...], layout: str):
    answer = hostile(*words, PERDURE_LAYOUT=layout)
    assert not STEERING.search(answer.out.replace("\n", ""))
    assert not STEERING.search(answer.err.replace("\n", ""))


@pytest.mark.parametrize(
    "words",
    [
        ("show", "1"),
        ("list",),
        ("recall", "red end"),
        ("history", "1"),
        ("show", HOSTILE),
        ("context", "red end"),
        ("triggers", "red"),
    ],
)
def test_json_escapes_what_could_steer_the_terminal(hostile: User, words: tuple[str, ...]):
    answer = hostile(*words, "--json")
    assert not STEERING.search((answer.out + answer.err).replace("\n", ""))


def test_json_gives_the_text_back_exactly(user: User):
    user.done("remember", HOSTILE)
    assert user.done("show", "1", "--json").json["text"] == HOSTILE


@given(st.text())
def test_safe_text_holds_nothing_that_steers(text: str):
    assert not STEERING.search(safe(text))


@given(st.text(st.characters(codec="utf-8")))
def test_a_field_is_one_line_whatever_it_holds(text: str):
    assert len(tsv_field(text).splitlines()) <= 1
    assert "\t" not in tsv_field(text)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])), st.integers(4, 60))
def test_wrapped_lines_fit_and_lose_no_word(text: str, width: int):
    lines = wrap(text, width)
    assert all(cells(line) <= width for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc"])), st.integers(4, 60))
def test_a_clipped_text_fits_on_one_line(text: str, width: int):
    assert cells(clip(text, width)) <= width
    assert len(wrap(text, width, 2)) <= 2


def test_a_wide_character_takes_two_cells():
    assert cells("東京 e\u0301") == 6
    assert clip("東京東京", 5) == "東京…"
    assert wrap("東京東京", 4) == ["東京", "東京"]


@given(st.text(), st.text())
def test_a_word_diff_holds_both_texts(before: str, after: str):
    pieces = word_diff(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after


@pytest.mark.parametrize(
    ("seconds", "said"),
    [(0, "just now"), (59, "just now"), (60, "1 minute ago"), (3590, "1 hour ago"), (7200, "2 hours ago"),
     (86400 * 13, "13 days ago"), (86400 * 400, "1 year ago"), (-86400 * 45, "in 6 weeks"),
     (1 - 86400 * 90, "in 3 months"), (-86400 * 80, "in 3 months"), (-86400 * 100, "in 3 months")],
)  # fmt: skip
def test_an_age_is_said_to_the_nearest_of_a_unit_that_is_not_too_large(seconds: int, said: str):
    then = parse_time("2026-03-14T00:00:00Z", "then")
    now = parse_time("2026-03-14T00:00:00Z", "now")
    from datetime import timedelta

    assert age(then - timedelta(seconds=seconds), now) == said


def test_a_time_may_be_a_date_a_span_or_a_word():
    now = parse_time("now", "since", START)
    assert parse_time("2026-03-14", "since", now).isoformat() == "2026-03-14T00:00:00+00:00"
    assert parse_time("2026-03-14", "until", now, until=True).isoformat() == "2026-03-15T00:00:00+00:00"
    assert (now - parse_time("2w", "since", now)).days == 14
    assert (parse_time("2w", "expires_at", now, ahead=True) - now).days == 14
    assert parse_time("yesterday", "since", now) < parse_time("today", "since", now) <= now
    assert parse_time("today", "until", now, until=True) > now


def test_without_unicode_the_marks_are_ascii(user: User):
    user.done("remember", "Alice → 東京")
    screen = user.screen("recall", "Alice", "--explain", PYTHONIOENCODING="ascii")
    assert "Alice" in screen
