from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.text.question_share import question_share


@pytest.mark.parametrize(
    "text",
    ["", "It was great.", "We made a bowl [shares image: a blue bowl]", "...", "???"],
)
def test_what_tells_does_not_ask(text: str):
    assert question_share(text) == 0


@pytest.mark.parametrize("text", ["How was it?", "Really?! When?", "你好吗？", "كيف حالك؟"])  # noqa: RUF001 - other scripts
def test_what_only_asks_asks_in_full(text: str):
    assert question_share(text) == 1


def test_of_both_the_longer_counts_more():
    assert 0 < question_share("I went to the market on Sunday. You?") < 0.5
    assert 0.5 < question_share("Fine. How was the market on Sunday?") < 1


@given(st.text(alphabet="ab ?.!\n？", max_size=60))  # noqa: RUF001 - other scripts
def test_it_is_a_share(text: str):
    assert 0 <= question_share(text) <= 1
