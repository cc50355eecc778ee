"""The filters by metadata, importance and the type of a key, in every verb that takes filters."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

import pytest
from clocks import Ticking

from perdure import Memory, errors

if TYPE_CHECKING:
    from perdure.model import Recall


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=Ticking()) as memory:
        memory.remember("Tea is served at four", metadata={"project": "x", "severity": 1}, importance=0.2)
        memory.remember("Tea is served at five", metadata={"project": "x", "severity": 3}, importance=0.8)
        memory.upsert("drink:tea", "Tea is green", metadata={"project": "y", "rooms": ["red", "blue"]})
        memory.upsert("drinks:tea", "Tea is black")
        yield memory


WHERE: list[tuple[dict[str, Any], list[int]]] = [
    ({"where": {"project": "x"}}, [1, 2]),
    ({"where": {"project": "x", "severity": [1, 2]}}, [1]),
    ({"where": {"rooms": "red"}}, [3]),
    ({"min_importance": 0.5, "max_importance": 0.5}, [3, 4]),
    ({"min_importance": 0.8}, [2]),
    ({"key_type": "drink"}, [3]),
    ({"key_type": "drinks:"}, [4]),
]


def numbers(found: Recall) -> list[int]:
    return sorted(hit.record.number for hit in found)


@pytest.mark.parametrize(("filters", "expected"), WHERE, ids=str)
def test_every_verb_with_filters_narrows_by_them(memory: Memory, filters: dict[str, Any], expected: list[int]):
    assert sorted(record.number for record in memory.list(**filters)) == expected
    assert numbers(memory.recall("tea", **filters)) == expected
    assert sorted(item.record.number for item in memory.context("tea", **filters).items) == expected
    assert sorted(record.number for record in memory.summarize(**filters).sources) == expected
    assert sorted(record.number for record in memory.summarize("tea", **filters).sources) == expected
    past = memory.log(limit=1)[0].change.at
    for number in range(1, 5):
        memory.update(number, metadata={}, importance=0.4)
    assert sorted(record.number for record in memory.list(known_at=past, **filters)) == expected
    assert numbers(memory.recall("tea", known_at=past, **filters)) == expected


@pytest.mark.parametrize(("filters", "expected"), WHERE, ids=str)
def test_what_is_forgotten_or_erased_is_what_the_filters_say(
    memory: Memory, filters: dict[str, Any], expected: list[int]
):
    assert sorted(record.number for record in memory.erase(dry_run=True, **filters).records) == expected
    done = memory.forget(confirm=True, **filters)
    assert sorted(record.number for record in done.records) == expected
    assert sorted(record.number for record in memory.list()) == [n for n in range(1, 5) if n not in expected]


def test_a_preview_of_forgetting_says_what_the_entries_must_be(memory: Memory):
    asked = memory.forget(where={"project": "x", "severity": [1, True]}, dry_run=True)
    assert 'where project "x", severity 1 or true' in asked.understood


def test_saying_nothing_of_the_entries_is_no_filter(memory: Memory):
    assert len(memory.list(where={})) == 4
    with pytest.raises(errors.InvalidInput):
        memory.forget(where={}, confirm=True)


@pytest.mark.parametrize(
    "value", ["it's", 'say "x"', "$.a", "%", "a\\b", "東京", "\n", "😀", "{}", "null", "'; DROP--"]
)
def test_a_value_is_compared_to_the_letter(memory: Memory, value: str):
    memory.remember("Coffee", metadata={"note": value})
    memory.remember("Milk", metadata={"note": f"{value} "})
    assert [record.text for record in memory.list(where={"note": value})] == ["Coffee"]
    assert numbers(memory.recall("coffee milk", where={"note": value})) == [5]


@pytest.mark.parametrize(
    "filters",
    [
        {"where": "project=x"},
        {"where": ["project"]},
        {"where": {"": 1}},
        {"where": {'"': 1}},
        {"where": {"$.a": 1}},
        {"where": {"a b": 1}},
        {"where": {"naïve": 1}},
        {"where": {5: 1}},
        {"where": {"a": {"b": 1}}},
        {"where": {"a": [[1]]}},
        {"where": {"a": []}},
        {"where": {"a": b"x"}},
        {"where": {"a": float("nan")}},
        {"where": {"a": 10**400}},
        {"where": {"a": "half \ud800"}},
        {"where": {"a": "a\x00b"}},
        {"where": {"a": range(10_000)}},
        {"where": {f"n{n}": n for n in range(10_000)}},
        {"min_importance": 1.5},
        {"max_importance": "high"},
        {"min_importance": 0.6, "max_importance": 0.5},
        {"key_type": ""},
        {"key_type": "person:alice"},
        {"key_type": "per%"},
        {"key_type": 5},
    ],
    ids=lambda filters: str(filters)[:40],
)
@pytest.mark.parametrize("verb", ["list", "recall", "forget"])
def test_what_no_memory_can_have_is_one_clear_error(memory: Memory, verb: str, filters: dict[str, Any]):
    call = partial(memory.recall, "tea") if verb == "recall" else getattr(memory, verb)
    with pytest.raises(errors.InvalidInput) as refused:
        call(**filters)
    assert len(str(refused.value)) < 300
    assert len(memory.list()) == 4


def test_so_many_values_as_a_call_may_name_are_all_looked_for(memory: Memory):
    where: Any = {"severity": range(2, 66)} | {"project": [f"p{n}" for n in range(63)] + ["x"]}
    assert [record.number for record in memory.list(where=where)] == [2]


@pytest.mark.parametrize(("label", "number"), [("high", 1.0), ("medium", 2 / 3), ("low", 1 / 3)])
def test_a_label_of_confidence_is_its_number(memory: Memory, label: Any, number: float):
    assert memory.remember("Coffee is hot", confidence=label).record.confidence == number
    assert memory.upsert("drink:coffee", "Coffee is cold", confidence=label).record.confidence == number
    assert memory.update(1, confidence=label).record.confidence == number
    memory.import_([{"text": "Milk is white", "confidence": label}], trusted=True)
    assert memory.list(limit=1).records[0].confidence == number
