"""The forgetting curve, and the recipe `episodes` that follows it."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest
from clocks import HandClock
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.recall.signals import retrievability
from perdure.testing.embedder import WordEmbedder

NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
stabilities = st.floats(0.01, 1e5)
spans = st.floats(0, 1e5)


@given(stabilities, spans)
def test_it_is_a_probability_and_falls_with_time(stability: float, days: float):
    assert 0 < retrievability(stability, days) <= 1
    assert retrievability(stability, days + 1) <= retrievability(stability, days)


@given(stabilities, spans)
def test_what_is_more_stable_is_forgotten_later(stability: float, days: float):
    assert retrievability(2 * stability, days) >= retrievability(stability, days)


@given(stabilities)
def test_after_its_stability_nine_in_ten_are_left(stability: float):
    assert retrievability(stability, stability) == pytest.approx(0.9)
    assert retrievability(stability, 0) == 1


@pytest.fixture(params=["words and meaning", "words"])
def diary(request: pytest.FixtureRequest) -> tuple[Memory, HandClock]:
    clock = HandClock()
    return Memory(":memory:", embedder=WordEmbedder() if request.param != "words" else "none", clock=clock), clock


def test_an_episode_counts_as_much_as_can_still_be_called_back(diary: tuple[Memory, HandClock]):
    memory, clock = diary
    memory.remember("tea on monday", metadata={"stability": 20})
    memory.remember("tea on friday")
    clock.forward(days=20)
    answer = {hit.record.number: hit for hit in memory.recall("tea", recipe="episodes")}
    for number, left in ((1, 0.9), (2, (1 + 19 / 81 * 20) ** -0.5)):
        explain = dict(answer[number].explain)
        lost = explain.pop("forgotten")
        fused = sum(signal.contribution for signal in explain.values())
        assert answer[number].score == pytest.approx(fused * left, abs=1e-5)
        assert lost.contribution == pytest.approx(lost.weight * lost.normalised)
    assert list(answer) == [1, 2]


@pytest.mark.parametrize(
    ("metadata", "days"),
    [({}, 1), ({"stability": 12}, 12), ({"stability": 0.5}, 0.5), ({"stability": 0}, 1), ({"stability": -3}, 1),
     ({"stability": "12"}, 1), ({"stability": True}, 1), ({"stability": None}, 1)],
)  # fmt: skip
def test_the_stability_is_in_the_metadata_or_one_day(
    diary: tuple[Memory, HandClock], metadata: dict[str, Any], days: float
):
    memory, clock = diary
    memory.remember("tea on monday", metadata=metadata)
    clock.forward(days=days)
    (hit,) = memory.recall("tea", recipe="episodes")
    assert hit.explain["forgotten"].normalised == pytest.approx(0.1)


def test_without_decay_nothing_is_forgotten(diary: tuple[Memory, HandClock]):
    memory, clock = diary
    memory.remember("tea on monday")
    clock.forward(days=400)
    (hit,) = memory.recall("tea", recipe="episodes", use_decay=False)
    assert hit.score == pytest.approx(1)
    assert "decay" not in memory.recall("tea", recipe="facts", use_decay=True)[0].explain


def test_a_number_beyond_all_measure_counts_as_not_said():
    with Memory(":memory:", embedder="none") as memory:
        memory.remember("Ann deploys on Monday", metadata={"stability": 10**400})
        assert [hit.record.number for hit in memory.recall("deploys", recipe="episodes")] == [1]
