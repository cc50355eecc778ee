"""Which of the scored candidates become the answer."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from random import Random
from typing import NamedTuple

from hypothesis import given
from hypothesis import strategies as st

from perdure.model import LEARNING_CATEGORIES
from perdure.recall.ranking import select
from perdure.recall.recipe import BALANCED, LEARNINGS


class One(NamedTuple):
    score: float
    number: int
    category: str | None


categories = st.sampled_from([*LEARNING_CATEGORIES, "goal", None])
some = st.lists(st.builds(One, st.sampled_from([0.1, 0.5, 0.9]), st.integers(1, 99), categories), max_size=40).map(
    lambda found: sorted({one.number: one for one in found}.values(), key=lambda one: (-one.score, -one.number))
)
limits = st.integers(1, 30)


def chosen(ordered: list[One], limit: int) -> list[One]:
    return select(LEARNINGS, ordered, limit, lambda one: one.category)


@given(some, limits)
def test_the_limit_is_respected_and_filled_and_the_order_stays(ordered: list[One], limit: int):
    picked = chosen(ordered, limit)
    assert len(picked) == min(limit, len(ordered))
    assert picked == [one for one in ordered if one in picked]


@given(some, limits)
def test_every_category_has_its_three_where_there_is_room(ordered: list[One], limit: int):
    there, picked = Counter(one.category for one in ordered), Counter(one.category for one in chosen(ordered, limit))
    if limit >= 9:
        assert all(picked[name] >= min(3, there[name]) for name in LEARNING_CATEGORIES)
    else:
        assert chosen(ordered, limit) == ordered[:limit]


@given(some, limits)
def test_what_is_left_out_is_no_better_than_what_fills_the_rest(ordered: list[One], limit: int):
    picked = chosen(ordered, limit)
    least = {id(one) for name in LEARNING_CATEGORIES for one in [o for o in ordered if o.category == name][:3]}
    filling = [ordered.index(one) for one in picked if limit < 9 or id(one) not in least]
    left = [ordered.index(one) for one in ordered if one not in picked]
    assert max(filling, default=-1) < min(left, default=len(ordered)) or not filling


@given(some, limits, st.randoms(use_true_random=False))
def test_the_answer_does_not_depend_on_the_order_in_which_candidates_came(
    ordered: list[One], limit: int, random: Random
):
    shuffled = random.sample(ordered, len(ordered))
    again = sorted(shuffled, key=lambda one: (-one.score, -one.number))
    assert chosen(again, limit) == chosen(ordered, limit)


@given(some, limits)
def test_a_recipe_that_does_not_balance_takes_the_best(ordered: list[One], limit: int):
    assert select(BALANCED, ordered, limit, lambda one: one.category) == ordered[:limit]
    nothing = replace(LEARNINGS, balanced_categories=())
    assert select(nothing, ordered, limit, lambda one: one.category) == ordered[:limit]
