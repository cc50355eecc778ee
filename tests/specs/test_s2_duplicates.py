"""S2 "Deduplication constants": when a new fact is one that is known already."""

from __future__ import annotations

import math

import pytest

from perdure.learn.sameness import Verdict, duplicate_verdict


@pytest.mark.parametrize(("cosine", "verdict"), [(0.95, Verdict.SAME), (math.nextafter(0.95, 0), Verdict.UNDECIDED)])
def test_a_fact_is_a_duplicate_from_ninety_five_hundredths_on(cosine: float, verdict: Verdict):
    """S2 duplicate threshold: .95 itself included, unless the words say otherwise."""
    assert duplicate_verdict("The user prefers dark mode", "User prefers dark mode", cosine).verdict is verdict
    assert duplicate_verdict("The user lives in Osaka", "The user lives in Tokyo", 1.0).verdict is Verdict.CONFLICTS
