"""Where a sentence ends, by rules alone."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text.sentences import sentences


def test_a_full_stop_ends_a_sentence_and_an_abbreviation_does_not():
    text = "Dr. Smith met J. R. Tolkien, e.g. in Oxford. It cost 3.14 pounds! See v1.2.3 of it? No. 5 is best. No."
    assert sentences(text) == [
        "Dr. Smith met J. R. Tolkien, e.g. in Oxford.",
        "It cost 3.14 pounds!",
        "See v1.2.3 of it?",
        "No. 5 is best.",
        "No.",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "My boss is Mrs. Tanaka.",
        "I live on St. James Street.",
        "I work for the U.S. Department of State.",
        "Ask Prof. J. R. Lee, i.e. Dr. He, vs. Mr. So and Ms. You.",
        "We like e.g. The Beatles, etc. and Jr. Walker.",
        "No meetings before 10 a.m. on Mondays or after 5 p.m. Central Time.",
        "It is due on Fri. Jan. 5, not on Sat. 6 Feb. at No. 7.",
        "Acme Inc. Ltd. and Co. Berlin are one firm.",
    ],
)
def test_no_sentence_ends_with_a_title_an_initial_or_inside_a_name(text: str):
    assert sentences(text) == [text]


@pytest.mark.parametrize(
    "text",
    [
        "We met at 10 a.m.| Then we left.",
        "He works for Acme Inc.| She does not.",
        "I moved to the U.S.| I'm happy there.",
        "We live on Main St.| It is quiet.",
        "Bring bread, cheese, etc.| The rest is here.",
        "I sat in the sun.| Maria sat, too.",
        "We said goodbye to Max.| He was old.",
    ],
)
def test_an_abbreviation_ends_a_sentence_where_a_usual_word_begins_the_next(text: str):
    assert sentences(text.replace("|", "")) == text.split("| ")


def test_quotation_marks_stay_with_their_sentence():
    assert sentences('He said "Stop." Then he left... and came back. (It rained.) Good.') == [
        'He said "Stop."',
        "Then he left... and came back.",
        "(It rained.)",
        "Good.",
    ]


def test_scripts_with_full_stops_of_their_own_need_no_space():
    assert sentences("東京に住んでいる。大阪が好き！「はい。」本当") == [  # noqa: RUF001 - as it is written
        "東京に住んでいる。",
        "大阪が好き！",  # noqa: RUF001
        "「はい。」",
        "本当",
    ]
    assert sentences("वह घर है। यह नहीं।") == ["वह घर है।", "यह नहीं।"]


def test_lines_of_a_paragraph_belong_together_and_unspaced_scripts_are_joined_without_a_space():
    assert sentences("Alice lives\nin Osaka. She\nlikes it.") == ["Alice lives in Osaka.", "She likes it."]
    assert sentences("東京に\n住んでいる") == ["東京に住んでいる"]


def test_every_item_of_a_list_is_one_and_its_mark_is_left_away():
    text = "# Rules\n- never force\n  push\n* run the tests. Always.\n1. first\n2) second\n\n---\n> quoted"
    assert sentences(text) == [
        "Rules", "never force push", "run the tests.", "Always.", "first", "second", "quoted",
    ]  # fmt: skip


def test_code_is_not_cut():
    text = "Use it so:\n```python\nprint(1.) \nx. Y\n```\nThen call `a. B` twice. Done. ```one. Line```"
    assert sentences(text) == [
        "Use it so:", "print(1.) x. Y", "Then call `a. B` twice.", "Done.", "```one. Line```",
    ]  # fmt: skip


@given(st.text(st.sampled_from("aZ9 .!?。「」…\"'()`~\n\t-*#>_1é東")))
def test_any_text_gives_whole_lines_and_loses_no_letter(text: str):
    found = sentences(text)
    assert all(one and one == one.strip() and "\n" not in one for one in found)
    kept = [letter for letter in "".join(found) if letter.isalpha()]
    fences = "```" in text or "~~~" in text
    assert fences or kept == [letter for letter in text if letter.isalpha()]


@pytest.mark.parametrize("piece", [".", "`", "- ", "-", '"', '."', " ", "`a", "「", "a. ", "```\n", "1. "])
def test_a_megabyte_of_anything_is_cut_in_one_pass(piece: str):
    whole = (piece * (1 << 20))[: 1 << 20]
    assert sum(map(len, sentences(whole))) <= len(whole)
