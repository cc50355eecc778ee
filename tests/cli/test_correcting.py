"""`perdure update` with a sentence: what would be corrected is shown first, and a yes corrects exactly that."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User

SENTENCE = "The choir sings at 8, not at 7"


@pytest.fixture
def known(user: User) -> User:
    user.done("remember", "The choir sings on Thursday at 7")
    user.done("remember", "The band plays on Thursday at 7")
    return user


def text(user: User, number: int) -> str:
    return user.done("show", str(number), "--json").json["text"]


def test_in_a_pipe_it_is_shown_with_the_command_that_goes_ahead(known: User):
    shown = known("update", SENTENCE)
    assert shown.code == 4
    assert (
        shown.out == "Would correct #1  The choir sings on Thursday at 7\n  to say  The choir sings on Thursday at 8\n"
    )
    command = shlex.split(shown.err.split("Go ahead: ")[1].strip())
    assert command[1:4] == ["update", SENTENCE, "--confirm"]
    assert text(known, 1) == "The choir sings on Thursday at 7"
    assert known.done(*command[1:]).out.startswith("Updated #1, now version 2")
    assert text(known, 1) == "The choir sings on Thursday at 8"


def test_a_yes_given_before_corrects_it_at_once(known: User):
    known.done("update", SENTENCE, "--yes")
    known.done("update", "the band on Thursday", "The band plays on Friday", "--yes")
    assert [text(known, number) for number in (1, 2)] == [
        "The choir sings on Thursday at 8",
        "The band plays on Friday",
    ]


def test_as_json_the_preview_is_part_of_the_failure(known: User):
    failed = known("update", SENTENCE, "--json")
    assert failed.code == 4
    assert '"text": "The choir sings on Thursday at 8"' in failed.err


def test_what_fits_nothing_or_several_says_so(known: User):
    assert "No memory fits" in known.fails(3, "update", "The ferry is red, not blue", "--yes").err
    assert "fits 2 memories equally well" in known.fails(3, "update", "It is on Friday, not on Thursday", "--yes").err


def test_a_reference_without_a_change_is_still_refused(known: User):
    assert "Nothing to change was named" in known.fails(2, "update", "1").err
