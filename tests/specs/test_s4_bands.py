"""S4 "Merge decisions": three bands of similarity, and what is at their edges."""

from __future__ import annotations

import math

import pytest

from perdure.learn.sameness import Verdict, merge_verdict

TEXTS = "The user prefers dark mode", "User prefers dark mode"
CONTRADICTION = "The door is open", "The door is not open"


@pytest.mark.parametrize(
    ("cosine", "verdict"), [(0.9, Verdict.UNDECIDED), (math.nextafter(0.9, 1), Verdict.SAME), (1.0, Verdict.SAME)]
)
def test_above_nine_tenths_two_texts_are_the_same(cosine: float, verdict: Verdict):
    """S4 merge always: nobody is asked. Exactly .9 is the middle."""
    assert merge_verdict(*TEXTS, cosine).verdict is verdict


@pytest.mark.parametrize(
    ("cosine", "verdict"),
    [(0.2, Verdict.UNDECIDED), (math.nextafter(0.2, 0), Verdict.DIFFERENT), (-1, Verdict.DIFFERENT)],
)
def test_below_two_tenths_two_texts_are_never_the_same(cosine: float, verdict: Verdict):
    """S4 merge never: whatever their words are. Exactly .2 is the middle."""
    assert merge_verdict(*TEXTS, cosine).verdict is verdict


@pytest.mark.parametrize("cosine", [0.2, 0.5, 0.9])
def test_between_the_two_it_is_not_decided(cosine: float):
    """S4 merge middle: somebody else has to."""
    assert merge_verdict(*TEXTS, cosine) == (Verdict.UNDECIDED, ())


def test_the_bands_are_given_by_whoever_asks():
    """S4 merge thresholds: three tiers of them."""
    assert merge_verdict(*TEXTS, 0.8, always=0.7).verdict is Verdict.SAME
    assert merge_verdict(*TEXTS, 0.8, always=0.95, never=0.85).verdict is Verdict.DIFFERENT
    assert merge_verdict(*CONTRADICTION, 0.99, always=0.7).verdict is Verdict.CONFLICTS
