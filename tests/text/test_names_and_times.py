from __future__ import annotations

import pytest

from perdure.text.names_and_times import asks_when, holds_name


@pytest.mark.parametrize(
    ("text", "held"),
    [
        ("", False),
        ("Lovely weather. We walked. Nothing else!", False),
        ("Well, I think I am fine.", False),
        ("We went to Kyoto.", True),
        ("We went to Kyoto, and Kyoto again.", True),
        ("At the Blue Harvest concert", True),
        ("with Bob, Cid, Dora and Eve", True),
        ("Вчера мы были в Москве", True),
    ],
)
def test_a_capital_letter_inside_a_sentence_begins_a_name(text: str, held: bool):
    assert holds_name(text) is held


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
