"""Long texts are cut into windows: all of the text, in order, none longer than a model reads."""

from __future__ import annotations

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from perdure.text.entry import Passage
from perdure.text.windows import MAX_WINDOWS, windows

TOKENS = 64
# No window may have more characters, whatever they are, than this many times the tokens (and one long character).
CHARACTERS = 8 * TOKENS + 64
CHARACTERS_OF_SEVERAL = (
    "e\u0301", "\U0001f468\u200d\U0001f469", "\U0001f44d\U0001f3fd", "\U0001f1e9\U0001f1ea", "\ud83d\ude00", "字", "नि",
    "x",
)  # fmt: skip
HEAD = "[8 May 2023] Caroline: "

TEXTS = st.text(
    st.sampled_from("ab c.\n!?é1\u0301字。漢\u200d\U0001f468\U0001f3fd\U0001f1e9\ud83d\ude00 \t") | st.characters(),
    max_size=3000,
)


@settings(max_examples=100, deadline=None)
@given(TEXTS)
@example("word " * 900)
@example("a" * 5000)
@example("e" + "\u0301" * 4000)
@example(" " * 5000)
@example("字" * 3000)
@example("a" + " " * 4000 + "b")
def test_together_they_hold_the_whole_text_in_its_order(text: str) -> None:
    found = windows(Passage(HEAD, text, ""), TOKENS)
    assert found == windows(Passage(HEAD, text, ""), TOKENS)
    covered = 0
    for window in found:
        assert window.text.startswith(HEAD)
        assert window.text == HEAD + text[window.start : window.end]
        assert len(window.text) <= CHARACTERS + len(HEAD) or len(found) == 1
        assert not text[covered : window.start].strip()
        covered = max(covered, window.end)
    assert not text[covered:].strip()
    starts, ends = [window.start for window in found], [window.end for window in found]
    assert starts == sorted(set(starts))
    assert ends == sorted(set(ends))


@settings(max_examples=100, deadline=None)
@given(st.lists(st.sampled_from(CHARACTERS_OF_SEVERAL), min_size=100, max_size=600))
def test_what_a_reader_takes_for_one_character_stays_together(characters: list[str]) -> None:
    text = "".join(characters)
    ends = {0}
    for character in characters:
        ends.add(max(ends) + len(character))
    for window in windows(Passage("", text, ""), TOKENS):
        assert window.start in ends
        assert window.end in ends
        assert not unicodedata.category(text[window.start]).startswith("M")


def test_a_text_that_fits_is_one_window_as_it_stands() -> None:
    text = " It fits.\n\n All of it. "
    assert windows(Passage(HEAD, text, " tea, cup"), TOKENS) == [(f"{HEAD}{text} tea, cup", 0, len(text))]


def test_without_a_limit_nothing_is_cut() -> None:
    text = "word " * 5000
    assert windows(Passage(HEAD, text, ""), None) == [(HEAD + text, 0, len(text))]


def test_windows_end_where_paragraphs_do() -> None:
    paragraphs = [f"Paragraph {number} tells of the garden and of what grows in it this year." for number in range(20)]
    text = "\n\n".join(paragraphs)
    for window in windows(Passage("", text, ""), TOKENS):
        assert window.text.startswith("Paragraph")
        assert window.text.endswith("this year.")


def test_a_paragraph_that_is_too_long_is_cut_between_sentences_that_overlap() -> None:
    text = " ".join(f"Sentence {number} is short." for number in range(100))
    found = windows(Passage("", text, ""), 4 * TOKENS)
    for window, following in pairwise(found):
        assert window.text.startswith("Sentence")
        assert window.text.endswith("short.")
        assert window.start < following.start < window.end


def test_keywords_stand_in_the_last_window() -> None:
    text = "word " * 200 + "end"
    *_, last = windows(Passage("", text, " lemon, tart"), TOKENS)
    assert last.text.endswith("end lemon, tart")
    assert last.end == len(text)


def test_a_long_title_leaves_room_for_the_text() -> None:
    found = windows(Passage("title " * 200, "word " * 200, ""), TOKENS)
    assert all(len(window.text) <= CHARACTERS for window in found)
    assert found[-1].text.endswith("word")


@pytest.mark.parametrize("text", ["word " * 200_000, "字" * 300_000, "x" * 1_000_000])
def test_a_huge_text_has_a_bounded_number_of_windows_from_its_beginning(text: str) -> None:
    found = windows(Passage("", text, ""), 256)
    assert len(found) == MAX_WINDOWS
    assert found[0].start == 0
    assert all(len(window.text) <= 8 * 256 for window in found)
