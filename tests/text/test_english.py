"""Whether a text is in English."""

from __future__ import annotations

import pytest

from perdure.text.english import Evidence, evidence_of_english


@pytest.mark.parametrize(
    "text", ["a man is playing the guitar", "user prefers dark mode", "uses pytest for tests", "the server is down"]
)
def test_english_shows_itself_by_its_words(text: str):
    assert evidence_of_english(text.split(), text.split()) is Evidence.ENGLISH


@pytest.mark.parametrize(
    "text",
    [
        "trinkt gern am",
        "wohnt in",
        "abita a",
        "woont in",
        "bor i",
        "seviyorum",
        "ninapenda kahawa",
        "jag dricker kaffe varje dag",
        "habite à avec son chat",
        "любит чай",
        "",
    ],
)
def test_nothing_else_passes_for_it(text: str):
    assert evidence_of_english(text.split(), text.split()) is not Evidence.ENGLISH


def test_what_one_text_does_not_show_the_other_may_and_another_language_shows_at_once():
    assert evidence_of_english(["critical"], ["in", "very", "critical", "condition"]) is Evidence.ENGLISH
    assert evidence_of_english(["the", "server", "is", "down"], ["der", "kaputt"]) is Evidence.FOREIGN
