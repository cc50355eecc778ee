from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import pytest

from perdure.model import Summary

if TYPE_CHECKING:
    from cli.user import User


@pytest.fixture
def known(user: User) -> User:
    user.done("remember", "Alice is a designer. She lives in Osaka.", "--key", "person:alice")
    user.done("remember", "Dark mode is preferred.", "--category", "preference", "--tag", "ui")
    user.done("remember", "The rent is due on the first.")
    return user


def test_everything_is_summarised_and_the_sources_are_said_aside(known: User):
    answer = known.done("summarize")
    assert "- Alice is a designer. She lives in Osaka. (#1)\n" in answer.out
    assert "- The rent is due on the first. (#3)\n" in answer.out
    assert "of 500 tokens (characters / 4), from #" in answer.err
    assert all(f"#{number}" in answer.err for number in (1, 2, 3))


def test_words_and_filters_narrow_it(known: User):
    assert known.done("summarize", "rent", "first").out == "- The rent is due on the first. (#3)\n"
    assert known.done("summarize", "--tag", "ui").out == "preference:\n- Dark mode is preferred. (#2)\n"
    assert "#2" not in known.done("summarize", "person:alice").out


def test_the_limit_is_kept_and_what_found_no_room_is_counted(known: User):
    made = known.done("summarize", "--budget", "20", "--json").json
    assert made["tokens"] <= 20
    assert made["omitted_count"] == 3 - len(made["sources"])
    assert "left out" in known.done("summarize", "--budget", "20").err


def test_the_document_has_every_field_of_a_summary(known: User):
    made = known.done("summarize", "--json").json
    assert list(made) == [field.name for field in dataclasses.fields(Summary)]
    assert sorted(record["number"] for record in made["sources"]) == [1, 2, 3]


def test_a_terminal_gets_headings_and_wrapped_lines(known: User):
    known.done("remember", "A long memory " * 20, "--category", "goal")
    screen = known.screen("summarize")
    assert "preference:" in screen
    assert "· Dark mode is preferred. (#2)" in screen
    assert max(map(len, screen.splitlines())) <= 100


def test_an_empty_summary_says_why(user: User):
    assert "There is no memory here yet." in user.done("summarize").err
    user.done("remember", "Alice prefers dark mode")
    assert "No memories about 'quark'." in user.done("summarize", "quark").err
    assert "No memories with tags ui." in user.done("summarize", "--tag", "ui").err
    too_few = user.done("summarize", "--budget", "1")
    assert too_few.out == ""
    assert "1 tokens are too few" in too_few.err
    assert "perdure summarize --budget 500" in too_few.err


def test_a_terminal_is_not_steered_by_a_memory(user: User):
    user.done("remember", "Red \x1b[31mtext.")
    assert "\x1b" not in user.done("summarize").out
    assert "\\x1b[31mtext" in user.screen("summarize")


def test_a_bad_limit_is_a_usage_error(user: User):
    user.fails(2, "summarize", "--budget", "0")
    user.fails(2, "summarize", "--budget", "many")
