"""Every filter narrows what recall finds, wherever the answer comes from: disk, memory, or the past."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from clocks import HandClock

from perdure import Memory
from perdure.model import Recall
from perdure.recall import recaller
from perdure.testing.embedder import WordEmbedder

Ask = partial[Recall]

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
    {"metadata": {"project": "x", "severity": 1, "done": False, "owners": ["Ann", "Bo"], "a.b": None}},
    {"metadata": {"project": "x", "severity": 2.0, "done": 0, "of": {"project": "y"}}},
    {"importance": 0.9},
    {"key": "person:alice"},
    {"key": "personal:notes", "importance": 0.1},
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
    ({"where": {"project": "x"}}, {12, 13}),
    ({"where": {"project": ["x", "y"], "severity": [2, 3]}}, {13}),
    ({"where": {"severity": (1.0, 2)}}, {12, 13}),
    ({"where": {"severity": True}}, set()),
    ({"where": {"done": False}}, {12}),
    ({"where": {"done": 0}}, {13}),
    ({"where": {"owners": "Bo"}}, {12}),
    ({"where": {"owners": ["Cy", "Ann"]}}, {12}),
    ({"where": {"a.b": None}}, {12}),
    ({"where": {"of": "y"}}, set()),
    ({"where": {"project": "X"}}, set()),
    ({"where": {"project": "x' OR 1 --"}}, set()),
    ({"min_importance": 0.9}, {14}),
    ({"max_importance": 0.1}, {16}),
    ({"min_importance": 0.1, "max_importance": 0.4}, {16}),
    ({"key_type": "person"}, {15}),
]


@pytest.fixture(scope="module")
def opened() -> Iterator[dict[str, tuple[Memory, Ask]]]:
    """Memories by the route and the kind of store: each is told once, as nobody changes it."""
    opened: dict[str, tuple[Memory, Ask]] = {}
    yield opened
    for memory, _ in opened.values():
        memory.close()


@pytest.fixture(params=["hybrid", "from disk", "known then"])
def ask(request: pytest.FixtureRequest, opened: dict[str, tuple[Memory, Ask]], monkeypatch: pytest.MonkeyPatch) -> Ask:
    route = request.param
    monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 10**9 if route == "from disk" else 0)
    kind = f"{route} {request.node.callspec.params['kind_of_store']}"
    if kind not in opened:
        opened[kind] = told(route)
    return opened[kind][1]


def told(route: str) -> tuple[Memory, Ask]:
    clock, past = HandClock(), dict[str, Any]()
    memory = Memory(":memory:", embedder="none" if route == "from disk" else WordEmbedder(), clock=clock)
    for fields in MEMORIES:
        memory.remember(f"tea number {len(memory.list(limit=100, states=['active']))}", **fields)
    if route == "known then":
        past["known_at"] = clock.now
        clock.forward(days=1)
        for number in range(1, len(MEMORIES) + 1):
            memory.update(number, text=f"something else {number}", title="coffee", **_others(number))
    return memory, partial(memory.recall, limit=100, min_relevance=0, **past)


def _others(number: int) -> dict[str, Any]:
    """What it is now instead, so that only the past has what is asked for. Where it comes from never changes."""
    fields = MEMORIES[number - 1]
    others: dict[str, Any] = {"metadata": {}} if "metadata" in fields else {}
    return others | ({"category": None} if "category" in fields else {})


@pytest.mark.parametrize(("filters", "expected"), FILTERS, ids=str)
def test_a_filter_lets_pass_what_it_says(ask: Ask, filters: dict[str, Any], expected: set[int]):
    for _ in range(2):
        assert {hit.record.number for hit in ask("tea", **filters)} == expected


def test_without_a_filter_all_are_found_but_the_deprecated_one(ask: Ask):
    assert {hit.record.number for hit in ask("tea")} == set(range(1, 17)) - {11}


def test_an_answer_of_nothing_names_the_filters_that_stood_in_the_way(ask: Ask):
    notes = " ".join(ask("tea", tags=["ui"], tier="critical").notes)
    assert "without tags ui there is 1" in notes
    assert "without tier critical there is 1" in notes
    notes = " ".join(ask("tea", where={"project": "x", "severity": [3, "bad"]}, key_type="thing").notes)
    assert "without where" not in notes
    notes = " ".join(ask("tea", where={"project": "x", "severity": [3, "bad"]}).notes)
    assert 'without where project "x", severity 3 or "bad" there are 15' in notes
    assert "without importance 0.95 there are 15" in " ".join(ask("tea", min_importance=0.95).notes)
    assert "without key_type thing there are 15" in " ".join(ask("tea", key_type="thing").notes)
