"""Times on the command line: every option reads the same words, and shows times in the zone of the user."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User

Zone = Callable[[str], None]


@pytest.fixture
def diary(user: User) -> User:
    user.done("remember", "tea of today", "--valid-at", "now")
    user.done("remember", "tea of old", "--valid-at", "2 years ago")
    return user


def found(user: User, *words: str) -> list[str]:
    return sorted(row[0] for row in user.done("list", *words).rows)


@pytest.mark.parametrize(
    "words",
    ["last week", "Monday", "3 days ago", "24h", "3d", "2w ago", "last weekend", "yesterday", "a fortnight ago"],
)
def test_since_takes_every_word_for_a_time(diary: User, words: str):
    assert found(diary, "--since", words) == ["1"]
    assert found(diary, "--until", "2 years ago", "--since", "2019-03") == ["2"]
    assert diary.done("log", "--since", words).rows


@pytest.mark.parametrize(("words", "expected"), [("24h", ["1"]), ("2w ago", []), ("2 years ago", ["2"])])
def test_when_takes_what_since_takes(diary: User, words: str, expected: list[str]):
    assert found(diary, "--when", words) == expected


def test_today_is_one_day_for_since_and_for_when(user: User, zone: Zone):
    zone("Etc/GMT-14")
    user.done("remember", "probe", "--valid-at", "today")
    user.done("remember", "probe of the day before", "--valid-at", "yesterday")
    assert found(user, "--since", "today") == ["1"]
    assert found(user, "--when", "today") == ["1"]
    assert found(user, "--until", "yesterday") == ["2"]


def test_a_date_is_stored_and_shown_in_the_zone_of_the_user(user: User, zone: Zone):
    zone("Europe/Berlin")
    user.done("remember", "moved to Berlin", "--valid-at", "2026-07-14")
    assert user.done("show", "1", "--json").json["valid_at"] == "2026-07-13T22:00:00Z"
    assert "2026-07-14 00:00:00 CEST" in user.screen("show", "1")
    nothing = user.done("list", "--since", "2026-07-13", "--until", "2026-07-13")
    assert "since 2026-07-13 00:00 CEST until 2026-07-14 00:00 CEST" in nothing.err


def test_an_end_before_its_beginning_is_refused(user: User):
    answer = user.fails(2, "recall", "x", "--since", "1m", "--until", "2d")
    assert "is after until" in answer.err
    user.fails(2, "log", "--since", "1m", "--until", "2d")
    user.fails(2, "list", "--since", "2026-03-14", "--until", "2026-03-13")


def test_an_error_names_what_is_understood(user: User):
    answer = user.fails(2, "list", "--since", "last weekendd")
    assert "since is not a time that is understood: 'last weekendd'." in answer.err
    for words in ("yesterday", "last week", "3d", "2026-03-14"):
        assert words in answer.err


def test_an_hour_and_a_half_is_not_five_hours(user: User):
    user.done("remember", "the gate code is 1234")
    answer = user.done("forget", "what I told you 1.5 hours ago", "--dry-run", "--json")
    assert "'1.5 hours ago'" in answer.json["understood"]
    assert "holds" not in answer.json["understood"]
    assert answer.json["records"] == []


def test_what_expires_may_be_said_ahead(user: User):
    user.done("remember", "a parking ticket", "--expires-at", "in 3 days")
    assert "in 3 days" in user.screen("show", "1")
    user.done("remember", "a visit", "--expires-at", "next week")
