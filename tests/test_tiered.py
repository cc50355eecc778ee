"""The recipe `tiered` and constitutional memories, as a user of the library meets them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from perdure import Memory
from perdure.errors import InvalidInput
from perdure.model import TIERS, Recall
from perdure.recall import recaller
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

NOW = datetime(2026, 3, 14, 9, tzinfo=UTC)
DAY = timedelta(days=1)


class Clock:
    def __init__(self) -> None:
        self.now = NOW

    def __call__(self) -> datetime:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=["hybrid", "from disk", "in memory"])
def memory(request: pytest.FixtureRequest, clock: Clock, monkeypatch: pytest.MonkeyPatch) -> Iterator[Memory]:
    """The recipe holds by words and meaning, and by words alone, wherever the answer comes from."""
    if request.param == "in memory":
        monkeypatch.setattr(recaller, "_RECALLS_FROM_DISK", 0)
    with Memory(":memory:", embedder=WordEmbedder() if request.param == "hybrid" else "none", clock=clock) as opened:
        yield opened


def found(answer: Recall) -> list[str]:
    return [hit.record.text for hit in answer]


def tiered(memory: Memory, query: str = "tea", **options: Any) -> Recall:
    return memory.recall(query, recipe="tiered", include_constitutional=False, **options)


def part(answer: Recall, name: str, number: int = 1) -> float:
    return next(hit.explain[name].normalised for hit in answer if hit.record.number == number)


def test_a_score_goes_up_to_100_and_says_what_it_is_made_of(memory: Memory):
    memory.remember("tea on monday", tier="important", anchor_id="tea-times")
    (hit,) = tiered(memory)
    assert hit.score == pytest.approx(40 + 12.5 + 20 + 15)
    assert hit.score == sum(signal.contribution for signal in hit.explain.values())
    assert sum(signal.weight for signal in hit.explain.values()) == pytest.approx(100)
    assert {"tier", "decay", "anchor"} < set(hit.explain)


def test_of_equally_good_matches_the_higher_tier_comes_first(memory: Memory):
    for tier in reversed(TIERS[:-1]):
        memory.remember("tea on monday", tier=tier, key=f"tier:{tier}")
    assert [hit.record.tier for hit in tiered(memory)] == list(TIERS[:-1])


def test_deprecated_memories_leave_ordinary_results_and_count_a_quarter_where_they_are_asked_for(memory: Memory):
    memory.remember("tea on monday", tier="deprecated")
    memory.remember("tea on friday")
    assert found(tiered(memory)) == ["tea on friday"]
    (hit,) = tiered(memory, tier="deprecated")
    assert (hit.record.number, hit.explain["tier"].raw) == (1, 0.25)


def test_a_memory_that_is_not_used_fades_and_use_brings_it_back(memory: Memory, clock: Clock):
    memory.remember("tea on monday")
    clock.now += 50 * DAY
    assert part(tiered(memory), "decay") == pytest.approx(0.5)
    assert part(tiered(memory), "decay") == pytest.approx(1.0)


def test_decay_is_switched_off_for_one_search_or_by_the_settings(clock: Clock):
    rules = load(embedder="none")
    with Memory(":memory:", settings=rules, clock=clock) as memory:
        memory.remember("tea on monday")
        clock.now += 50 * DAY
        assert part(tiered(memory, use_decay=False), "decay") == 1
        clock.now += 50 * DAY
        assert part(tiered(memory), "decay") == pytest.approx(0.5)
        clock.now += 50 * DAY
        off = Memory(memory._services.store, settings=replace(rules, decay=False), clock=clock)
        assert part(tiered(off), "decay") == 1
        clock.now += 50 * DAY
        assert part(tiered(off, use_decay=True), "decay") == pytest.approx(0.5)


def test_importance_1_and_exempt_tiers_do_not_fade(clock: Clock):
    rules = load(embedder="none")
    with Memory(":memory:", settings=rules, clock=clock) as memory:
        memory.remember("tea on monday", importance=1.0)
        memory.remember("tea on friday", tier="critical")
        memory.remember("tea on sunday", tier="important")
        clock.now += 20 * DAY
        answer = tiered(memory)
        assert [part(answer, "decay", number) for number in (1, 2, 3)] == pytest.approx([1, 1, 0.9])
        clock.now += 20 * DAY
        every = Memory(memory._services.store, settings=replace(rules, decay_exempt=()), clock=clock)
        assert part(tiered(every), "decay", 2) == pytest.approx(0.98)


def test_decay_changes_nothing_in_a_recipe_that_knows_none(memory: Memory):
    memory.remember("tea on monday")
    with_decay, without = memory.recall("tea", use_decay=True), memory.recall("tea", use_decay=False)
    assert [hit.score for hit in with_decay] == [hit.score for hit in without]
    assert len(without) == 1
    with pytest.raises(InvalidInput, match="use_decay"):
        memory.recall("tea", recipe="tiered", use_decay="yes")  # pyright: ignore[reportArgumentType]


def test_the_recipe_can_be_the_usual_one(clock: Clock):
    with Memory(":memory:", settings=load(embedder="none", recipe="tiered"), clock=clock) as memory:
        memory.remember("tea on monday")
        assert memory.recall("tea")[0].score > 1


def test_several_namespaces_are_ranked_together(memory: Memory):
    memory.remember("tea on monday")
    memory.namespace("bob").remember("tea on monday", tier="critical")
    answer = tiered(memory, namespaces=["default", "bob"])
    assert [hit.record.namespace for hit in answer] == ["bob", "default"]


def test_about_the_past_the_tier_and_the_age_of_then_count(memory: Memory, clock: Clock):
    memory.remember("tea on monday", tier="important")
    clock.now += 20 * DAY
    then = clock.now
    clock.now += DAY
    memory.update(1, tier="normal")
    clock.now += 100 * DAY
    answer = tiered(memory, known_at=then)
    assert (answer[0].explain["tier"].raw, part(answer, "decay")) == (1.5, pytest.approx(0.9))


# -- constitutional ------------------------------------------------------------------------------------------------


def test_constitutional_memories_come_with_every_answer_whatever_was_asked(memory: Memory):
    memory.remember("never push to main", tier="constitutional")
    memory.remember("tea on monday")
    answer = memory.recall("tea", limit=1)
    assert [record.text for record in answer.constitutional] == ["never push to main"]
    assert [record.text for record in memory.recall("").constitutional] == ["never push to main"]
    assert memory.recall("tea", include_constitutional=False).constitutional == ()
    assert memory.namespace("bob").recall("tea").constitutional == ()


def test_each_namespace_brings_its_own_constitutional_memories(memory: Memory):
    memory.remember("never push to main", tier="constitutional")
    memory.namespace("bob").remember("speak plainly", tier="constitutional")
    answer = memory.recall("tea", namespaces=["bob", "default", "bob"])
    assert [record.text for record in answer.constitutional] == ["speak plainly", "never push to main"]


def test_a_forgotten_constitutional_memory_is_not_surfaced_any_more(memory: Memory):
    memory.remember("never push to main", tier="constitutional")
    memory.forget(1)
    assert memory.recall("tea").constitutional == ()


def test_an_answer_about_the_past_surfaces_none(memory: Memory):
    memory.remember("never push to main", tier="constitutional")
    assert memory.recall("tea", as_of=NOW).constitutional == ()
    assert memory.recall("tea", known_at=NOW).constitutional == ()


@pytest.mark.parametrize("value", ["no", 1, None])
def test_what_is_no_switch_is_refused(memory: Memory, value: Any):
    with pytest.raises(InvalidInput, match="include_constitutional"):
        memory.recall("tea", include_constitutional=value)
