"""How people say what they are called, and what only looks like it."""

from __future__ import annotations

import sys
from types import FrameType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text.introductions import Introduction, find_introduction


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("I'm Jonas", "Jonas"),
        ("Hi, I’m Jonas and I live in Leipzig", "Jonas"),  # noqa: RUF001 - as it is written
        ("I am Jonas Weber, from Leipzig", "Jonas Weber"),
        ("my name is jonas and I live in Leipzig", "jonas"),
        ("Hello! My name's April.", "April"),
        ("You can call me Jo!", "Jo"),
        ("Nice to meet you, I'm Claude", "Claude"),
        ("Hey there! This is Jonas.", "Jonas"),
        ("Good morning, Jonas here, quick question", "Jonas"),
        ("Anne-Marie O'Brien here.", "Anne-Marie O'Brien"),
        ("The build is red again and I'm Jonas by the way", "Jonas"),
        ("Ich heiße Jonas", "Jonas"),
        ("Hallo, mein Name ist Jonas Müller.", "Jonas Müller"),
        ("Bonjour, je m'appelle Zoé", "Zoé"),
        ("Hola, me llamo José", "José"),
        ("Mi chiamo Chiara.", "Chiara"),
        ("Ik heet Jan", "Jan"),
        ("Jag heter Åsa", "Åsa"),
        ("Привет, меня зовут Иван", "Иван"),
    ],
)
def test_a_speaker_gives_their_name(text: str, name: str):
    found = find_introduction(text)
    assert found is not None
    assert (found.name, found.corrects) == (name, False)


@pytest.mark.parametrize(
    "text", ["No, I'm Jona", "Sorry, my name is Jona.", "I'm Jona, not Jonas", "Actually, I'm Jona"]
)
def test_a_name_may_correct_the_one_before(text: str):
    assert find_introduction(text) == Introduction("Jona", corrects=True)


@pytest.mark.parametrize(
    "text",
    [
        "my brother is Jonas", "I'm Jonas's sister", "I'm Jonas' sister", "His name is Jonas",
        "Nice to meet you, Jonas!", "I'm with Jonas", "I'm not Jonas",
        "my name is not Jonas", "my name is on the list", "What is my name?",
        "I'm German.", "I'm happy", "I'm Sorry", "I'm OK", "I am in Paris", "I'm meeting Jonas", "I'm Python developer",
        "call me back", "Call me ASAP", "Don't call me Shirley", "Right here.", "Same here!", "I met Jonas here.",
        "Is Jonas here?", "This is great", "This is Max, he is so playful", "It was late. This is Paris.",
        "I'm German literature's worst critic", "Tell Jonas I'm here", "", "I'm", "name", " here",
        "Please write a letter for me. " * 8 + "My name is Sarah.",
    ],
)  # fmt: skip
def test_what_is_said_of_another_or_of_oneself_is_no_name(text: str):
    assert find_introduction(text) is None


WORDS = st.sampled_from("I'm my name is Jonas here no, call me - I\u2019m".split())


@given(st.text(max_size=200) | st.lists(WORDS).map(" ".join))
def test_no_text_is_an_error(text: str):
    found = find_introduction(text)
    assert found is None or found.name in text


@pytest.mark.parametrize("piece", ["I'm ", "no, ", "Jonas ", "my name is ", ", ", " and ", "hi "])
def test_a_long_text_takes_no_longer_than_its_beginning(piece: str):
    assert steps(piece * 4000) <= 2 * steps(piece * 400) + 20


def steps(text: str) -> int:
    count = 0

    def note(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal count
        count += event in {"call", "c_call"}

    sys.setprofile(note)
    try:
        find_introduction(text)
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize(
    "text", ["Call me Leni.", "Can you call me Leni?", "My friends are fine, but you can call me Leni"]
)
def test_how_somebody_wants_to_be_called_is_a_nickname(text: str):
    assert find_introduction(text) == Introduction("Leni", corrects=False, is_nickname=True)
