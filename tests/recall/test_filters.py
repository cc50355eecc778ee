"""Every filter narrows what recall finds, wherever the answer comes from: disk, memory, or the past."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from clocks import HandClock

from perdure import Memory
from perdure.model import Recall
from perdure.recall import recaller
from perdure.testing.embedder import WordEmbedder

Ask = Callable[..., Recall]

MEMORIES: list[dict[str, Any]] = [
    {},
    {"tags": ["ui", "dark"]},
    {"category": "preference"},
    {"context_type": "decision"},
    {"tier": "critical"},
    {"source": "mail"},
    {"source_project": "apollo"},
    {"spec_folder": "specs/049-auth"},
    {"conversation_id": "c-17"},
    {"valid_at": "2025-06-01"},
    {"tier": "deprecated"},
]
FILTERS: list[tuple[dict[str, Any], set[int]]] = [
    ({"tags": ["ui"]}, {2}),
    ({"tags": ["ui", "dark"]}, {2}),
    ({"tags": ["ui", "bright"]}, set()),
    ({"category": "preference"}, {3}),
    ({"category": ["preference", "goal"]}, {3}),
    ({"context_type": "decision"}, {4}),
    ({"tier": "critical"}, {5}),
    ({"tier": "deprecated"}, {11}),
    ({"source": ["mail", "web"]}, {6}),
    ({"source_project": "apollo"}, {7}),
    ({"spec_folder": "specs/049-auth"}, {8}),
    ({"conversation_id": "c-17"}, {9}),
    ({"since": "2025-05-01", "until": "2025-07-01"}, {10}),
    ({"when": "in June 2025"}, {10}),
    ({"until": "2026-01-01"}, {10}),
    ({"states": ["superseded"]}, set()),
    ({"states": ["active", "superseded"], "tags": ["ui"]}, {2}),
    ({"tags": ["ui"], "tier": "critical"}, set()),
]


@pytest.fixture(params=["hybrid", "from disk", "in memory", "known then", "known then, by words", "without numpy"])
def ask(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Ask]:
    clock = HandClock()
    model = request.param in {"hybrid", "known then"}
    with Memory(":memory:", embedder=WordEmbedder() if model else "none", clock=clock) as memory:
        for fields in MEMORIES:
            memory.remember(f"tea number {len(memory.list(limit=100, states=['active']))}", **fields)
        past: dict[str, Any] = {}
        if "then" in request.param:
            past["known_at"] = clock.now
            clock.forward(days=1)
            for number in range(1, len(MEMORIES) + 1):
                memory.update(number, text=f"something else {number}", title="coffee", **_others(number))
        if request.param == "in memory":
            monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 0)
        if request.param == "without numpy":
            monkeypatch.setitem(sys.modules, "numpy", None)

        def asking(query: str, **filters: Any) -> Recall:
            return memory.recall(query, limit=100, **past, **filters)

        yield asking


def _others(number: int) -> dict[str, Any]:
    """What it is now instead, so that only the past has what is asked for."""
    names = set(MEMORIES[number - 1]) & {"category", "source_project", "spec_folder", "conversation_id"}
    return dict.fromkeys(names)


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=str)
def test_a_filter_lets_pass_what_it_says(ask: Ask, filters: dict[str, Any], expected: set[int]):
    for _ in range(2):
        assert {hit.record.number for hit in ask("tea", **filters)} == expected


def test_without_a_filter_all_are_found_but_the_deprecated_one(ask: Ask):
    assert {hit.record.number for hit in ask("tea")} == set(range(1, 11))


def test_an_answer_of_nothing_names_the_filters_that_stood_in_the_way(ask: Ask):
    notes = " ".join(ask("tea", tags=["ui"], tier="critical").notes)
    assert "without tags ui there is 1" in notes
    assert "without tier critical there is 1" in notes
