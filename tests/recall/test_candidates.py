"""From what was found to shares: dividing by the best, and reciprocal rank fusion."""

from __future__ import annotations

from random import Random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.recall.candidates import by_maximum, candidates_of, fused, leading
from perdure.recall.fuse import Pool
from perdure.recall.recipe import FACTS, LEARNINGS, RECIPES, Recipe
from perdure.recall.standing import Fading, Scoring, rank_standing
from perdure.testing.records import NOON

Row = tuple[int, float, float | None]

scores = st.lists(st.floats(-1, 9, width=32), max_size=20)
rows = st.lists(
    st.tuples(st.integers(1, 60), st.sampled_from([0.0, 0.5, 1.5, 4.0]), st.none() | st.sampled_from([-0.5, 0.1, 0.8])),
    max_size=15,
    unique_by=lambda row: row[0],
)
matching = st.sampled_from([recipe for recipe in RECIPES.values() if not recipe.needs_records] + [LEARNINGS])


def pool(found: list[Row]) -> Pool:
    words = np.array([row[1] for row in found], np.float32)
    present = np.array([row[2] is not None for row in found], np.bool_)
    return Pool(
        place=np.zeros(len(found), np.intp),
        number=np.array([row[0] for row in found], np.int64),
        keyword=words,
        cosine=np.array([row[2] or 0.0 for row in found], np.float32),
        present=present,
        by_keyword=words > 0,
        by_vector=present,
        chance=np.array([0.0, 0.1], np.float32),
    )


def ranked(recipe: Recipe, found: list[Row]) -> list[tuple[int, float]]:
    one = pool(found)
    candidates = candidates_of(one, fused(recipe, one, keyword=True, vector=True))
    scoring = Scoring.of(recipe, candidates, (), Fading(NOON))
    return [(hit.number, hit.score) for hit in rank_standing(scoring, candidates, None, 99)]


@given(scores)
def test_divided_by_the_best_all_lie_between_0_and_1_and_keep_their_order(values: list[float]):
    array = np.array(values, np.float32)
    shares = by_maximum(array, np.ones(len(array), np.bool_))
    if shares is None:
        assert all(value <= 0 for value in values)
    else:
        assert float(shares.max()) == 1
        assert ((shares >= 0) & (shares <= 1)).all()
        assert (np.diff(shares[np.argsort(array, kind="stable")]) >= 0).all()


@given(st.floats(0.125, 9, width=32), st.integers(1, 20))
def test_equal_ones_are_all_1(value: float, count: int):
    shares = by_maximum(np.full(count, value, np.float32), np.ones(count, np.bool_))
    assert shares is not None
    assert shares.tolist() == [1.0] * count


def test_what_is_not_on_the_list_is_0_and_a_list_without_any_is_missing():
    shares = by_maximum(np.array([4, 2, 9], np.float32), np.array([True, True, False]))
    assert shares is not None
    assert shares.tolist() == [1, 0.5, 0]
    assert by_maximum(np.array([9], np.float32), np.array([False])) is None
    assert by_maximum(np.zeros(3, np.float32), np.ones(3, np.bool_)) is None


@given(matching, rows, st.randoms(use_true_random=False))
def test_the_ranking_does_not_depend_on_the_order_in_which_candidates_came(
    recipe: Recipe, found: list[Row], random: Random
):
    assert ranked(recipe, random.sample(found, len(found))) == ranked(recipe, found)


@given(matching, rows)
def test_scores_lie_between_0_and_the_scale(recipe: Recipe, found: list[Row]):
    assert all(0 <= score <= recipe.scale + 1e-9 for _, score in ranked(recipe, found))


@given(rows)
def test_reciprocal_rank_fusion_is_the_sum_over_both_lists_divided_by_its_maximum(found: list[Row]):
    def places(values: dict[int, float]) -> dict[int, int]:
        order = sorted(values, key=lambda number: (-values[number], -number))
        return {number: place for place, number in enumerate(order, 1)}

    words = places({number: score for number, score, _ in found if score > 0})
    meaning = places({number: cosine for number, _, cosine in found if cosine is not None})
    lists = [one for one in (words, meaning) if one]
    for number, score in ranked(FACTS, found):
        fused_ = sum(1 / (60 + one[number]) for one in lists if number in one)
        assert score == pytest.approx(fused_ / (len(lists) / 61) if lists else 0.0, abs=1e-5)


@given(matching.filter(lambda recipe: not recipe.needs_records), rows, st.integers(1, 15))
def test_the_leading_rows_are_the_answer(recipe: Recipe, found: list[Row], limit: int):
    one = pool(found)
    shares = fused(recipe, one, keyword=True, vector=True)
    candidates = candidates_of(one, shares, leading(recipe, one, shares, limit))
    scoring = Scoring.of(recipe, candidates_of(one, shares), (), Fading(NOON))
    few = [(hit.number, hit.score) for hit in rank_standing(scoring, candidates, None, limit)]
    assert few == ranked(recipe, found)[:limit]
