"""Judging memories, and promoting them: offered, never silent."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory, errors, tiers
from perdure.lifecycle.feedback import moved
from perdure.testing.records import draft

NOW = datetime(2026, 3, 14, tzinfo=UTC)
STEP = 0.28


@pytest.fixture
def memory() -> Iterator[Memory]:
    with Memory(":memory:", embedder="none", clock=lambda: NOW, actor="ada") as found:
        found.remember("Alice prefers dark mode")
        yield found


def judged(confidence: float, judgements: list[bool]) -> float:
    for useful in judgements:
        confidence = moved(confidence, STEP, useful=useful)
    return confidence


@given(st.floats(0, 1), st.floats(0, 1), st.booleans())
def test_a_judgement_moves_the_confidence_towards_its_end_and_never_out_of_bounds(
    confidence: float, step: float, useful: bool
):
    after = moved(confidence, step, useful=useful)
    assert (confidence <= after <= 1) if useful else (0 <= after <= confidence)


@given(st.lists(st.booleans(), max_size=30))
def test_confidence_stays_between_nothing_and_one_for_ever(judgements: list[bool]):
    assert 0 <= judged(0.5, judgements) <= 1


def test_five_useful_of_five_lead_from_a_half_to_where_promotion_is_offered():
    assert judged(0.5, [True] * 4) < 0.9 <= judged(0.5, [True] * 5)


@given(st.floats(0, 1), st.integers(5, 40), st.booleans())
def test_a_memory_that_is_right_every_other_time_is_never_offered_anything(confidence: float, count: int, first: bool):
    judgements = [first ^ bool(place % 2) for place in range(count)]
    assert judged(confidence, judgements) < 0.9


@given(st.integers(0, 10), st.floats(0, 1), st.sampled_from(list(tiers.TIERS)))
def test_the_offer_is_critical_for_what_earned_it_and_is_less(count: int, confidence: float, tier: str):
    record = draft("x", validation_count=count, confidence=confidence, tier=tier)
    earned = count >= 5 and confidence >= 0.9 and tier not in {"critical", "constitutional"}
    assert tiers.offered_tier(record) == ("critical" if earned else None)


@pytest.mark.parametrize("proposed", ["nonsense", 7, None, ["critical"], "normal"])
def test_a_proposal_that_is_none_is_no_offer(memory: Memory, proposed: Any):
    memory.update(1, metadata={tiers.PROPOSED: proposed})
    assert len(memory.offers()) == 0
    assert tiers.offered_tier(memory.get(1)) is None


def test_a_judgement_counts_and_is_in_the_history(memory: Memory):
    done = memory.validate(1, useful=True)
    assert (done.outcome, done.record.confidence, done.record.validation_count) == ("validated", 0.64, 1)
    assert memory.validate(1, useful=False).record.confidence == pytest.approx(0.4608)
    assert [line.change.operation for line in memory.history(1)] == ["insert", "validate", "validate"]
    assert (done.record.version, done.record.updated_at) == (1, NOW)


def test_promotion_is_offered_after_five_useful_and_never_silent(memory: Memory):
    offers = [memory.validate(1, useful=True) for _ in range(7)]
    assert [done.offered for done in offers] == [None] * 4 + ["critical"] * 3
    assert "perdure promote 1" in " ".join(offers[4].notes)
    assert {done.record.tier for done in offers} == {"normal"}
    assert [one.number for one in memory.offers()] == [1]


def test_an_offer_is_accepted_by_an_explicit_call(memory: Memory):
    for _ in range(5):
        memory.validate(1, useful=True)
    done = memory.promote(1)
    assert (done.outcome, done.record.tier, done.record.expires_at) == ("promoted", "critical", None)
    assert memory.history(1)[-1].change.operation == "promote"
    assert len(memory.offers()) == 0


def test_an_offer_lapses_when_the_memory_fails(memory: Memory):
    for _ in range(5):
        memory.validate(1, useful=True)
    assert memory.validate(1, useful=False).offered is None
    with pytest.raises(errors.Conflict, match="No tier is on offer"):
        memory.promote(1)


def test_without_an_offer_a_tier_has_to_be_named(memory: Memory):
    with pytest.raises(errors.Conflict, match="No tier is on offer") as refused:
        memory.promote(1)
    assert "tier='important'" in refused.value.remedy
    assert memory.promote(1, "important").record.tier == "important"


def test_a_tier_that_is_named_begins_or_ends_its_term(memory: Memory):
    assert memory.promote(1, "temporary").record.expires_at == NOW + timedelta(days=7)
    assert memory.promote(1, "important").record.expires_at is None


def test_the_tier_it_has_is_no_change(memory: Memory):
    done = memory.promote(1, "normal")
    assert (done.outcome, len(memory.history(1))) == ("unchanged", 1)


def test_offers_come_in_pages(memory: Memory):
    for number in range(5):
        memory.import_([{"text": f"fact {number}", "tier": "constitutional"}])
    first = memory.offers(limit=3)
    assert ([one.number for one in first], first.next) == ([6, 5, 4], 4)
    assert [one.number for one in memory.offers(limit=3, after=first.next)] == [3, 2]


def test_what_is_forgotten_is_neither_judged_nor_promoted(memory: Memory):
    memory.forget(1)
    for verb in (lambda: memory.validate(1, useful=True), lambda: memory.promote(1, "critical")):
        with pytest.raises(errors.Conflict, match="deleted"):
            verb()


@pytest.mark.parametrize("useful", [None, 1, "yes", 0.5])
def test_a_judgement_is_yes_or_no(memory: Memory, useful: Any):
    with pytest.raises(errors.InvalidInput):
        memory.validate(1, useful)


@pytest.mark.parametrize("tier", ["golden", "", 7, "critical\x00"])
def test_a_tier_that_is_none_is_refused(memory: Memory, tier: Any):
    with pytest.raises(errors.InvalidInput):
        memory.promote(1, tier)
    assert memory.get(1).tier == "normal"


def test_a_memory_that_is_not_there_is_not_found(memory: Memory):
    for verb in (lambda: memory.validate(99, useful=True), lambda: memory.promote("person:bob")):
        with pytest.raises(errors.NotFound):
            verb()


def test_two_who_judge_at_once_are_both_counted(memory: Memory):
    other = Memory(memory._services.store, embedder="none", clock=lambda: NOW)
    found = memory._find(1)
    other.validate(1, useful=True)
    from perdure.lifecycle.feedback import validate

    assert validate(memory._services, found, useful=True).record.validation_count == 2
