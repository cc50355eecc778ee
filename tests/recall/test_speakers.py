"""Whom a question names."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.conversation import SpeakerIndex, find_speakers


def speaking(*names: str) -> SpeakerIndex:
    speakers = SpeakerIndex()
    for name in names:
        speakers.code(name)
    return speakers


@pytest.mark.parametrize(
    ("question", "names", "rest"),
    [
        ("What did Caroline research last week?", {"caroline"}, "What did research last week?"),
        ("what did caroline research last week?", {"caroline"}, "what did research last week?"),
        ("What was Caroline's favourite painting?", {"caroline"}, "What was favourite painting?"),
        ("Do Caroline and Melanie like hiking trips?", {"caroline", "melanie"}, "Do and like hiking trips?"),
        ("When did José Luis buy the guitar strings?", {"jose"}, "When did Luis buy the guitar strings?"),
        ("Who paints landscapes?", set[str](), "Who paints landscapes?"),
    ],
)
def test_a_name_is_found_and_leaves_the_question(question: str, names: set[str], rest: str):
    assert find_speakers(question, [speaking("Caroline", "Melanie", "José")]) == (names, rest, True)


def test_a_question_that_is_hardly_more_than_the_name_stays_whole():
    assert find_speakers("Who is Caroline?", [speaking("Caroline")]) == ({"caroline"}, "Who is Caroline?", True)


def test_a_word_is_a_name_only_as_it_is_written():
    everyone = [speaking("Support", "user")]
    assert not find_speakers("Does the SSL proxy support streaming?", everyone).words
    assert find_speakers("Which answer did Support give on streaming?", everyone).words == {"support"}
    assert find_speakers("Which editor does the user prefer at work?", everyone).words == {"user"}


def test_whoever_is_called_by_more_of_the_name_is_meant():
    speakers = speaking("John Smith", "John Miller", "Ann Lee")
    assert speakers.called({"john"}) == [0, 1]
    assert speakers.called({"john", "miller"}) == [1]
    assert speakers.called({"lee"}) == [2]


def test_somebody_has_one_number():
    speakers = speaking("Ann", "Bob")
    assert [speakers.code(name) for name in ("Bob", "Ann", "Cid")] == [1, 0, 2]


@given(st.text(max_size=80), st.lists(st.text(min_size=1, max_size=8), max_size=4))
def test_any_text_and_any_names_are_no_error(question: str, names: list[str]):
    found = find_speakers(question, [speaking(*names), SpeakerIndex()])
    assert found.rest == question or found.words
