"""How much a memory stands out, as a pure function: what must hold for any memory."""

from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model import Record
from perdure.recall.prominence import Columns, days_since_update, prominences, shares
from perdure.recall.recipe import LEARNINGS
from perdure.testing.records import draft

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
WEIGHTS = LEARNINGS.weights
PARTS = ("observations", "confidence", "recency", "recalls")


def memory(observed: int = 1, confidence: float = 0.5, days: float = 0.0, recalls: int = 0) -> Record:
    when = NOW - timedelta(days=days)
    return draft(
        "tea",
        observation_count=observed,
        confidence=confidence,
        recall_count=recalls,
        created_at=when,
        updated_at=when,
    )


memories = st.builds(memory, st.integers(1, 50), st.floats(0, 1), st.floats(-3, 4000), st.integers(0, 40))


def total(record: Record, most: int = 50) -> float:
    found = shares(LEARNINGS, record, most, NOW)
    return sum(WEIGHTS[name] * getattr(found, name) for name in PARTS) / LEARNINGS.prominence_weight


@given(memories, st.integers(0, 60))
def test_every_share_lies_between_0_and_1(record: Record, most: int):
    assert all(0 <= share <= 1 for share in shares(LEARNINGS, record, most, NOW))


@given(memories, st.integers(0, 20), st.floats(0, 1), st.floats(0, 500), st.integers(0, 20))
def test_a_memory_that_is_better_in_one_way_never_stands_out_less(
    record: Record, observed: int, confidence: float, days: float, recalls: int
):
    before = total(record)
    better = (
        {"observation_count": record.observation_count + observed},
        {"confidence": max(record.confidence, confidence)},
        {"updated_at": record.updated_at + timedelta(days=days)},
        {"recall_count": record.recall_count + recalls},
    )
    assert all(total(replace(record, **change)) >= before for change in better)


@pytest.mark.parametrize(("days", "expected"), [(0, 1), (1, 0.97), (30, 0.5), (90, 0.25), (-5, 1)])
def test_recency_halves_in_thirty_days(days: float, expected: float):
    assert shares(LEARNINGS, memory(days=days), 1, NOW).recency == pytest.approx(expected, abs=0.003)


@pytest.mark.parametrize(("recalls", "expected"), [(0, 0), (5, 0.5), (10, 1), (99, 1)])
def test_recalls_count_up_to_ten(recalls: int, expected: float):
    assert shares(LEARNINGS, memory(recalls=recalls), 1, NOW).recalls == expected


@given(st.lists(memories, max_size=9), st.integers(1, 60))
def test_many_at_once_stand_out_as_each_alone_does(records: list[Record], most: int):
    columns = Columns(
        np.array([one.observation_count for one in records], np.int64),
        np.array([one.confidence for one in records], float),
        np.array([days_since_update(one, NOW) for one in records], float),
        np.array([one.recall_count for one in records], np.int64),
    )
    expected = [total(one, most) * LEARNINGS.prominence_weight for one in records]
    assert prominences(LEARNINGS, columns, most, WEIGHTS, 9).tolist() == pytest.approx(expected)
