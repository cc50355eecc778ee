from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text.names_and_times import asks_when, name_share


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("", 0),
        ("Lovely weather. We walked. Nothing else!", 0),
        ("Well, I think I am fine.", 0),
        ("We went to Kyoto.", 1),
        ("We went to Kyoto, and Kyoto again.", 1),
        ("At the Blue Harvest concert", 2),
        ("with Bob, Cid, Dora and Eve", 3),
        ("Вчера мы были в Москве", 1),
    ],
)
def test_names_are_counted_up_to_three(text: str, names: int):
    assert name_share(text) == names / 3


@given(st.text(max_size=80))
def test_it_is_a_share(text: str):
    assert 0 <= name_share(text) <= 1


@pytest.mark.parametrize(
    "question",
    [
        "When did Ann move?",
        "when was it",
        "And when does the train leave?",
        "How long has she painted?",
        "Which year did they meet?",
        "Do you know when did they meet?",
        "Since when is it closed?",
    ],
)
def test_a_question_for_a_time_asks_when(question: str):
    assert asks_when(question)


@pytest.mark.parametrize("question", ["What did Ann say when she came home?", "Where is it?", "", "whenever"])
def test_another_question_does_not(question: str):
    assert not asks_when(question)
