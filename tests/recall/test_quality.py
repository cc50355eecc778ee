"""Recall on real conversations may not get worse. Skipped where the data is not."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[2]
LOCOMO = Path(os.environ.get("PERDURE_BENCH_DATA", ""), "locomo10.json")


@pytest.mark.skipif(not LOCOMO.is_file(), reason="PERDURE_BENCH_DATA does not hold locomo10.json")
def test_two_conversations_are_answered_as_well_as_ever(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [*sys.path, str(REPOSITORY)])
    from bench.ours import local_embedder
    from bench.recall.data import locomo
    from bench.recall.ladder import OURS
    from bench.recall.results import over
    from bench.recall.runs import stored

    conversations = locomo(LOCOMO)[:2]
    with stored(conversations, local_embedder()) as memory:
        answers = over(memory, conversations, OURS, 10)
    assert answers.ndcg > 0.6
    assert answers.found(10) > 0.75
