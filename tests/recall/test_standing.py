"""The score of a candidate as a pure function, mostly by the recipe `tiered`: what must hold for any memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.model import TIERS, Record
from perdure.recall.fuse import Ranked, Word
from perdure.recall.recipe import TIERED, Recipe
from perdure.recall.standing import Candidate, Fading, Listing, Scoring, listed, overlap, rank_standing, score
from perdure.testing.records import draft
from perdure.text.words import terms
from perdure.tiers import boost

NOW = datetime(2026, 3, 14, 12, tzinfo=UTC)
WORDS = ["auth", "token", "deploy", "tea"]
ASKED = frozenset(terms(" ".join(WORDS[:3])))


def listing(rank: int | None, raw: float) -> Listing:
    return Listing(raw if rank else 0.0, rank)


def memory(tier: str = "normal", importance: float = 0.5, days: float = 0.0, anchor: str | None = None) -> Record:
    used = NOW - timedelta(days=days)
    return draft("tea", tier=tier, importance=importance, anchor_id=anchor, created_at=used, updated_at=used)


lists = st.builds(listing, st.none() | st.integers(1, 40), st.floats(0.1, 9))
numbers = st.integers(1, 50)
candidates = st.builds(Candidate, st.integers(0, 2), numbers, st.none() | lists, st.none() | lists).filter(
    lambda one: one.keyword is not None or one.vector is not None
)
anchors = st.none() | st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map("-".join)
records = st.builds(memory, st.sampled_from(TIERS), st.floats(0, 1), st.floats(-5, 2000), anchors)
exemptions = st.lists(st.sampled_from(TIERS), unique=True).map(tuple)


def scored(candidate: Candidate, record: Record, fading: Fading, recipe: Recipe = TIERED) -> Ranked:
    return score(Scoring.of(recipe, [candidate], WORDS[:3], fading), candidate, record)


def total(candidate: Candidate, record: Record, fading: Fading) -> float:
    return scored(candidate, record, fading).score


def in_order(found: Sequence[Candidate], known: Mapping[tuple[int, int], Record], limit: int) -> list[Ranked]:
    return rank_standing(Scoring.of(TIERED, found, WORDS, Fading(NOW)), found, known, limit)


@given(candidates, records, st.booleans(), exemptions)
def test_a_score_lies_between_0_and_100_and_is_the_sum_of_its_parts(
    candidate: Candidate, record: Record, on: bool, exempt: tuple[str, ...]
):
    ranked = scored(candidate, record, Fading(NOW, on, exempt))
    assert 0 <= ranked.score <= 100 + 1e-9
    assert ranked.score == sum(signal.contribution for signal in ranked.explain.values())
    assert sum(signal.weight for signal in ranked.explain.values()) == pytest.approx(100)
    for signal in ranked.explain.values():
        assert 0 <= signal.normalised <= 1
        assert signal.contribution == signal.weight * signal.normalised


@given(candidates, records, exemptions)
def test_without_decay_a_memory_never_counts_less(candidate: Candidate, record: Record, exempt: tuple[str, ...]):
    fades = total(candidate, record, Fading(NOW, on=True, exempt=exempt))
    assert total(candidate, record, Fading(NOW, on=False, exempt=exempt)) >= fades


@given(candidates, records, exemptions, st.data())
def test_a_memory_that_is_better_in_one_way_never_counts_less(
    candidate: Candidate, record: Record, exempt: tuple[str, ...], data: st.DataObject
):
    fading = Fading(NOW, on=True, exempt=exempt)
    before = total(candidate, record, fading)
    for name in ("keyword", "vector"):
        listing = getattr(candidate, name)
        if listing is not None:
            better = Listing(listing.raw, data.draw(st.integers(1, listing.rank or 40)))
            assert total(candidate._replace(**{name: better}), record, fading) >= before
    used = record.updated_at + timedelta(days=data.draw(st.floats(0, 400)))
    assert total(candidate, replace(record, recalled_at=used), fading) >= before
    assert total(candidate, replace(record, importance=1.0), fading) >= before
    anchor = f"{record.anchor_id or ''} {data.draw(st.sampled_from(WORDS))}"
    assert total(candidate, replace(record, anchor_id=anchor), fading) >= before


@given(candidates, records, st.sampled_from(TIERS), st.sampled_from(TIERS))
def test_without_decay_the_higher_tier_counts_more(candidate: Candidate, record: Record, one: str, other: str):
    still = Fading(NOW, on=False)
    first = total(candidate, replace(record, tier=one), still)
    second = total(candidate, replace(record, tier=other), still)
    assert (first > second) == (boost(one) > boost(other))


@given(
    st.lists(st.tuples(candidates, records), max_size=12, unique_by=lambda one: one[0][:2]),
    st.randoms(use_true_random=False),
)
def test_the_order_does_not_depend_on_the_order_in_which_they_came(
    found: list[tuple[Candidate, Record]], random: Random
):
    known = {candidate[:2]: record for candidate, record in found}
    some = [candidate for candidate, _ in found]
    shuffled = random.sample(some, len(some))
    ranked = in_order(some, known, 12)
    assert in_order(shuffled, known, 12) == ranked
    order = [(-one.score, -one.number, one.place) for one in ranked]
    assert order == sorted(order)
    assert in_order(some, known, 3) == ranked[:3]


def test_of_equal_memories_the_newer_comes_first():
    some = [Candidate(0, number, Listing(1.0, 1), None) for number in (3, 9, 5)]
    known = {candidate[:2]: memory() for candidate in some}
    ranked = in_order(some, known, 9)
    assert [one.number for one in ranked] == [9, 5, 3]


def test_a_candidate_that_is_gone_by_now_is_left_out():
    some = [Candidate(0, number, Listing(1.0, number), None) for number in (1, 2)]
    assert [one.number for one in in_order(some, {(0, 2): memory()}, 9)] == [2]


BEST = Listing(1.0, 1)
SCORES: list[tuple[dict[str, Any], tuple[Listing | None, Listing | None], float]] = [
    # first on both lists, tier boost 3.0 of 3.0, no decay, every word in the anchor
    ({"tier": "constitutional", "anchor": "auth-token-deploy"}, (BEST, BEST), 100.0),
    # 40 + 25 / 3 + 20
    ({}, (BEST, BEST), 40 + 25 / 3 + 20),
    # one list alone has the whole 40
    ({}, (BEST, None), 40 + 25 / 3 + 20),
    ({}, (None, BEST), 40 + 25 / 3 + 20),
    # on one of two lists: half of it
    ({}, (BEST, Listing(0.0, None)), 20 + 25 / 3 + 20),
    # 1 / (60 + 11) against 1 / (60 + 1)
    ({}, (Listing(0.5, 11), BEST), 20 * 61 / 71 + 20 + 25 / 3 + 20),
    # 30 days at 0.01 a day
    ({"days": 30}, (BEST, BEST), 40 + 25 / 3 + 20 * 0.7),
    # the floor of a normal memory
    ({"days": 500}, (BEST, BEST), 40 + 25 / 3 + 20 * 0.1),
    # importance 1 makes immune
    ({"days": 500, "importance": 1.0}, (BEST, BEST), 40 + 25 / 3 + 20),
    ({"tier": "important", "days": 20}, (BEST, BEST), 40 + 25 / 2 + 20 * 0.9),
    ({"tier": "critical", "days": 100}, (BEST, BEST), 40 + 25 * 2 / 3 + 20 * 0.9),
    ({"tier": "temporary", "days": 10}, (BEST, BEST), 40 + 25 / 6 + 20 * 0.5),
    ({"tier": "deprecated", "days": 5}, (BEST, BEST), 40 + 25 / 12 + 20 * 0.5),
    # one of three words in the anchor
    ({"anchor": "tokens"}, (BEST, BEST), 40 + 25 / 3 + 20 + 5),
]


@pytest.mark.parametrize(("fields", "lists_", "expected"), SCORES, ids=str)
def test_the_formula_of_the_specification(
    fields: dict[str, Any], lists_: tuple[Listing | None, Listing | None], expected: float
):
    candidate = Candidate(0, 1, *lists_)
    assert total(candidate, memory(**fields), Fading(NOW)) == pytest.approx(expected, abs=1e-4)


def test_an_exempt_tier_does_not_fade():
    old = memory(tier="critical", days=300)
    candidate = Candidate(0, 1, BEST, BEST)
    assert scored(candidate, old, Fading(NOW)).explain["decay"].normalised == 0.7
    assert scored(candidate, old, Fading(NOW, exempt=("critical",))).explain["decay"].normalised == 1


@pytest.mark.parametrize(
    ("anchor", "expected"),
    [(None, 0), ("", 0), ("auth", 1), ("AUTH_deploys-2026", 2), ("parseToken", 1), ("author", 0)],
)
def test_words_are_found_in_an_anchor_as_in_any_text(anchor: str | None, expected: int):
    assert overlap(ASKED, anchor) == (expected, expected / 3)
    assert overlap(frozenset(), anchor) == (0, 0)


@given(st.lists(st.tuples(st.integers(0, 2), numbers, st.floats(0, 9)), unique_by=lambda one: one[:2]))
def test_memories_found_by_words_are_ranked_by_score_then_newest(found: list[tuple[int, int, float]]):
    some = listed([Word(*one) for one in found])
    assert [one.keyword.rank for one in some if one.keyword] == list(range(1, len(some) + 1))
    order = [(-one.keyword.raw, -one.number, one.place) for one in some if one.keyword]
    assert order == sorted(order)
    assert {one[:2] for one in some} == {one[:2] for one in found if one[2] > 0}
