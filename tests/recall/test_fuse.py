"""Fusion as a pure function: what must hold for any candidates."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.fuse import Pool, Ranked, Weights, Word, rank, rank_words, vector_shares, weigh
from perdure.recall.recipe import BALANCED

shares = st.floats(0, 1, width=32)
BOTH = Weights(0.5, 0.5)


class Candidate(NamedTuple):
    place: int
    number: int
    keyword: float
    cosine: float
    present: bool


candidates = st.lists(
    st.builds(
        Candidate,
        place=st.integers(0, 2),
        number=st.integers(1, 50),
        keyword=st.sampled_from([0.0, 0.5, 1.0, 3.25]) | st.floats(0, 20, width=32),
        cosine=st.sampled_from([-0.5, 0.0, 0.25]) | st.floats(-1, 1, width=32),
        present=st.booleans(),
    ),
    unique_by=lambda one: (one.place, one.number),
    max_size=25,
)
chances = st.lists(st.floats(-1, 1, width=32), max_size=20)
weights = st.sampled_from([BOTH, Weights(1, 0), Weights(0, 1), Weights(0.3, 0.7)])


def pool(found: list[Candidate], chance: list[float]) -> Pool:
    keyword, cosine, present = (
        np.array([one.keyword for one in found], np.float32),
        np.array([one.cosine if one.present else 0.0 for one in found], np.float32),
        np.array([one.present for one in found], np.bool_),
    )
    return Pool(
        place=np.array([one.place for one in found], np.intp),
        number=np.array([one.number for one in found], np.int64),
        keyword=keyword,
        cosine=cosine,
        present=present,
        by_keyword=keyword > 0,
        by_vector=present,
        chance=np.array(chance, np.float32),
    )


@given(candidates, chances, weights, st.integers(1, 30))
def test_scores_are_between_0_and_1_and_fall_and_ties_go_to_the_newer(
    found: list[Candidate], chance: list[float], weights: Weights, limit: int
):
    ranked = rank(pool(found, chance), weights, limit)
    assert len(ranked) <= min(limit, len(found))
    assert all(0 < one.score <= 1 + 1e-9 for one in ranked)
    order = [(-one.score, -one.number, one.place) for one in ranked]
    assert order == sorted(order)


@given(candidates, chances, weights, st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_come_does_not_matter(
    found: list[Candidate], chance: list[float], weights: Weights, random: Random
):
    mixed = random.sample(found, len(found))
    assert rank(pool(found, chance), weights, 30) == rank(pool(mixed, chance), weights, 30)


@given(candidates, chances, weights)
def test_contributions_add_up_to_the_score(found: list[Candidate], chance: list[float], weights: Weights):
    raw = {(one.place, one.number): one for one in found}
    for one in rank(pool(found, chance), weights, 30):
        signals = one.explain.values()
        assert sum(signal.contribution for signal in signals) == one.score
        for name, signal in one.explain.items():
            assert signal.contribution == signal.weight * signal.normalised
            assert signal.raw == getattr(raw[one.place, one.number], {"vector": "cosine"}.get(name, name))
        assert ("vector" in one.explain) == (raw[one.place, one.number].present and weights.vector > 0)
        assert sum(signal.weight for signal in signals) == (1 if signals else 0)


@given(candidates, chances, weights, st.data())
def test_a_candidate_that_gets_better_does_not_fall(
    found: list[Candidate], chance: list[float], weights: Weights, data: st.DataObject
):
    if not found:
        return
    which = data.draw(st.integers(0, len(found) - 1))
    chosen = found[which]
    better = chosen._replace(
        keyword=chosen.keyword + data.draw(st.floats(0, 5, width=32)),
        cosine=min(1.0, chosen.cosine + data.draw(st.floats(0, 1, width=32))),
    )
    changed = [*found[:which], better, *found[which + 1 :]]
    assert _place_of(better, rank(pool(changed, chance), weights, 30)) <= _place_of(
        chosen, rank(pool(found, chance), weights, 30)
    )


def _place_of(chosen: Candidate, ranked: list[Ranked]) -> int:
    """Behind all others when it matches nothing and so is not among them."""
    places = [(one.place, one.number) for one in ranked]
    wanted = (chosen.place, chosen.number)
    return places.index(wanted) if wanted in places else len(places)


@given(candidates, chances)
def test_ranks_count_within_each_list(found: list[Candidate], chance: list[float]):
    ranked = rank(pool(found, chance), BOTH, 30)
    for name, value in (("keyword", "keyword"), ("vector", "cosine")):
        listed = [one for one in found if (one.keyword > 0 if name == "keyword" else one.present)]
        listed.sort(key=lambda one: (-getattr(one, value), -one.number, one.place))
        expected = {(one.place, one.number): rank for rank, one in enumerate(listed, 1)}
        for one in ranked:
            if name in one.explain:
                assert one.explain[name].rank == expected.get((one.place, one.number))


@given(st.floats(0.001, 10), st.floats(0.001, 10))
def test_a_missing_signal_leaves_its_weight_to_the_other(keyword: float, vector: float):
    recipe = replace(BALANCED, keyword_weight=keyword, vector_weight=vector)
    both = weigh(recipe, keyword=True, vector=True)
    assert sum(both) == pytest.approx(1)
    assert both.keyword / both.vector == pytest.approx(keyword / vector)
    assert weigh(recipe, keyword=True, vector=False) == Weights(1, 0)
    assert weigh(recipe, keyword=False, vector=True) == Weights(0, 1)


def test_a_recipe_without_words_still_ranks_by_words_when_there_is_nothing_else():
    recipe = replace(BALANCED, keyword_weight=0.0, vector_weight=1.0)
    assert weigh(recipe, keyword=True, vector=False) == Weights(1, 0)


def test_two_memories_that_are_almost_equally_near_get_almost_the_same_share():
    cosines = np.array([0.321, 0.320], np.float32)
    shares = vector_shares(cosines, np.ones(2, np.bool_), cosines)
    assert shares[0] == 1
    assert shares[1] > 0.97


def test_the_share_of_a_memory_does_not_depend_on_which_others_are_candidates():
    chance = np.linspace(-0.2, 0.4, 50, dtype=np.float32)
    many = vector_shares(np.array([0.8, 0.5, 0.1], np.float32), np.ones(3, np.bool_), chance)
    few = vector_shares(np.array([0.8, 0.5], np.float32), np.ones(2, np.bool_), chance)
    assert many[:2].tolist() == few.tolist()


@given(st.lists(st.tuples(st.integers(0, 2), st.integers(1, 40), shares), unique_by=lambda one: one[:2]))
def test_by_words_alone_the_best_is_1_and_the_rest_in_proportion(found: list[tuple[int, int, float]]):
    ranked = rank_words([Word(*one) for one in found], 10)
    matched = [one for one in found if one[2] > 0]
    assert len(ranked) == min(10, len(matched))
    top = max((one[2] for one in matched), default=1)
    for place, one in enumerate(ranked, 1):
        signal = one.explain["keyword"]
        assert (signal.rank, signal.weight, signal.contribution) == (place, 1.0, one.score)
        assert one.score == pytest.approx(signal.raw / top, abs=1e-6)
    order = [(-one.score, -one.number, one.place) for one in ranked]
    assert order == sorted(order)
