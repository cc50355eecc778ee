"""Signals and their weights as pure functions."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from perdure.recall.recipe import LEARNINGS, RECIPES, TIERED, Recipe
from perdure.recall.signals import PROMINENCE, effective_weights, redistribute

names = st.sampled_from(["keyword", "vector", "recency", "tier", "anchor"])
weights = st.dictionaries(names, st.floats(0, 1), min_size=1)
recipes = st.sampled_from(list(RECIPES.values()))


@given(weights, st.sets(names))
@example({"keyword": 0.5, "vector": 5e-324}, {"keyword"})
def test_the_sum_stays_and_only_what_is_missing_loses(given_: dict[str, float], missing: set[str]):
    shared = redistribute(given_, missing)
    assert set(shared) == set(given_) - missing
    if shared:
        assert sum(shared.values()) == pytest.approx(sum(given_.values()))
        assert all(shared[name] >= given_[name] - 1e-9 for name in shared)


@given(weights, st.sets(names))
def test_those_that_are_left_keep_their_proportions(given_: dict[str, float], missing: set[str]):
    shared = redistribute(given_, missing)
    for one in shared:
        for other in shared:
            if sum(given_[name] for name in shared) > 1e-6:
                assert shared[one] * given_[other] == pytest.approx(shared[other] * given_[one])


@given(recipes, st.booleans(), st.booleans())
def test_the_weights_of_every_recipe_add_up_to_1_whatever_is_missing(recipe: Recipe, keyword: bool, vector: bool):
    shared = effective_weights(recipe, keyword=keyword, vector=vector)
    assert ("keyword" in shared, "vector" in shared) == (keyword, vector)
    if shared:
        assert sum(shared.values()) == pytest.approx(1)


def test_without_meaning_words_and_prominence_share_its_weight_in_proportion():
    shared = effective_weights(LEARNINGS, keyword=True, vector=False)
    assert shared["keyword"] == pytest.approx(0.4)
    assert sum(shared[name] for name in PROMINENCE) == pytest.approx(0.6)


def test_without_words_and_meaning_prominence_is_everything():
    shared = effective_weights(LEARNINGS, keyword=False, vector=False)
    assert shared == pytest.approx({"observations": 0.3, "confidence": 0.2, "recency": 0.3, "recalls": 0.2})


@pytest.mark.parametrize(("keyword", "vector"), [(True, False), (False, True)])
def test_of_ranks_one_list_stands_for_both(keyword: bool, vector: bool):
    shared = effective_weights(TIERED, keyword=keyword, vector=vector)
    assert shared.get("keyword", 0) + shared.get("vector", 0) == pytest.approx(0.4)
    assert (shared["tier"], shared["decay"], shared["anchor"]) == (0.25, 0.2, 0.15)


def test_a_signal_without_weight_steps_in_when_all_others_are_missing():
    assert redistribute({"keyword": 0.0, "vector": 1.0}, {"vector"}) == {"keyword": 1.0}
