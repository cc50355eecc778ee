"""The score as a pure function of candidates: what must hold for any of them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.embed.choice import Chosen
from perdure.embed.port import Generation
from perdure.recall.candidates import Candidates, Partition, Ranks
from perdure.recall.query import ParsedQuery, SearchRequest
from perdure.recall.ranking import Ranked
from perdure.recall.recipe import BALANCED, FACTS, Recipe
from perdure.recall.score import rank, vector_shares
from perdure.testing.records import NOON

MAXIMUM = replace(BALANCED, fusion="maximum")
MATCHING = [
    BALANCED,
    FACTS,
    MAXIMUM,
    replace(BALANCED, keyword_weight=1.0, vector_weight=0.0),
    replace(BALANCED, keyword_weight=0.0, vector_weight=1.0),
    replace(BALANCED, keyword_weight=0.3, vector_weight=0.7, scale=10.0),
]
# Without a text nothing is asked that could fit or not: these tests are about scores alone.
QUERY = ParsedQuery("", ["tea"])
GENERATION = Generation("testing", "rows", 64, "1")


class Row(NamedTuple):
    namespace: int
    number: int
    keyword: float
    cosine: float | None


rows = st.lists(
    st.builds(
        Row,
        namespace=st.integers(0, 2),
        number=st.integers(1, 50),
        keyword=st.sampled_from([0.0, 0.5, 1.0, 3.25]) | st.floats(0, 20, width=32),
        cosine=st.none() | st.sampled_from([-0.5, 0.0, 0.25]) | st.floats(-1, 1, width=32),
    ),
    unique_by=lambda row: (row.namespace, row.number),
    max_size=25,
)
chances = st.lists(st.floats(-1, 1, width=32), max_size=20)
recipes = st.sampled_from(MATCHING)


def candidates(found: list[Row], chance: list[float]) -> Candidates:
    nothing: Any = None
    keyword = np.array([row.keyword for row in found], np.float32)
    has_vector = np.array([row.cosine is not None for row in found], np.bool_)
    return Candidates(
        parts=[(Partition(which, "n", nothing), np.empty(0, np.intp)) for which in range(3)],
        partition=np.array([row.namespace for row in found], np.intp),
        number=np.array([row.number for row in found], np.int64),
        keyword=keyword,
        cosine=np.array([row.cosine or 0.0 for row in found], np.float32),
        has_vector=has_vector,
        by_keyword=keyword > 0,
        by_vector=has_vector,
        chance=np.array(chance, np.float32),
        conversation=None,
    )


def ranked(found: list[Row], chance: list[float], recipe: Recipe, limit: int = 30) -> list[Ranked]:
    store: Any = None
    request = SearchRequest(query="tea", namespaces=("a", "b", "c"), recipe=recipe, now=NOON, limit=limit)
    return rank(candidates(found, chance), request, QUERY, store, Chosen(None, GENERATION))[0]


@given(rows, chances, recipes, st.integers(1, 30))
def test_scores_lie_between_0_and_the_scale_and_fall_and_ties_go_to_the_newer(
    found: list[Row], chance: list[float], recipe: Recipe, limit: int
):
    answer = ranked(found, chance, recipe, limit)
    assert len(answer) <= min(limit, len(found))
    assert all(0 < hit.score <= recipe.scale + 1e-9 for hit in answer)
    order = [(-hit.score, -hit.number, hit.namespace) for hit in answer]
    assert order == sorted(order)


@given(rows, chances, recipes, st.randoms(use_true_random=False))
def test_the_order_in_which_candidates_come_does_not_matter(
    found: list[Row], chance: list[float], recipe: Recipe, random: Random
):
    mixed = random.sample(found, len(found))
    assert ranked(mixed, chance, recipe) == ranked(found, chance, recipe)


@given(rows, chances, recipes)
def test_contributions_add_up_to_the_score(found: list[Row], chance: list[float], recipe: Recipe):
    raw = {(row.namespace, row.number): row for row in found}
    for hit in ranked(found, chance, recipe):
        row, signals = raw[hit.namespace, hit.number], hit.explain
        assert sum(signal.contribution for signal in signals.values()) == pytest.approx(hit.score)
        assert sum(signal.weight for signal in signals.values()) == pytest.approx(recipe.scale)
        for name, signal in signals.items():
            assert 0 <= signal.normalised <= 1
            assert signal.contribution == signal.weight * signal.normalised
            assert signal.raw == (row.keyword if name == "keyword" else row.cosine or 0.0)
        if recipe.fusion == "chance":
            assert ("vector" in signals) == (row.cosine is not None and recipe.vector_weight > 0)


@given(rows, chances, recipes, st.data())
def test_a_candidate_that_gets_better_does_not_fall(
    found: list[Row], chance: list[float], recipe: Recipe, data: st.DataObject
):
    if not found:
        return
    which = data.draw(st.integers(0, len(found) - 1))
    chosen = found[which]
    better = chosen._replace(keyword=chosen.keyword + data.draw(st.floats(0, 5, width=32)))
    if chosen.cosine is not None:
        better = better._replace(cosine=min(1.0, chosen.cosine + data.draw(st.floats(0, 1, width=32))))
    changed = [*found[:which], better, *found[which + 1 :]]
    before, after = ranked(found, chance, recipe), ranked(changed, chance, recipe)
    assert _position(chosen, after) <= _position(chosen, before) or recipe.fusion == "maximum"


def _position(row: Row, answer: list[Ranked]) -> int:
    """Behind all others when it matches nothing and so is not among them."""
    keys = [(hit.namespace, hit.number) for hit in answer]
    key = (row.namespace, row.number)
    return keys.index(key) if key in keys else len(keys)


@given(rows, chances, recipes)
def test_ranks_count_within_each_list(found: list[Row], chance: list[float], recipe: Recipe):
    lists = {
        "keyword": [(row.keyword, row) for row in found if row.keyword > 0],
        "vector": [(row.cosine, row) for row in found if row.cosine is not None],
    }
    for name, listed in lists.items():
        order = sorted(listed, key=lambda one: (-one[0], -one[1].number, one[1].namespace))
        expected = {(row.namespace, row.number): rank for rank, (_, row) in enumerate(order, 1)}
        for hit in ranked(found, chance, recipe):
            if name in hit.explain:
                assert hit.explain[name].rank == expected.get((hit.namespace, hit.number))


@given(rows)
def test_reciprocal_rank_fusion_is_the_sum_over_both_lists_divided_by_its_maximum(found: list[Row]):
    def places(values: dict[tuple[int, int], float]) -> dict[tuple[int, int], int]:
        order = sorted(values, key=lambda key: (-values[key], -key[1], key[0]))
        return {key: place for place, key in enumerate(order, 1)}

    words = places({row[:2]: row.keyword for row in found if row.keyword > 0})
    meaning = places({row[:2]: row.cosine for row in found if row.cosine is not None})
    lists = [one for one in (words, meaning) if one]
    for hit in ranked(found, [], FACTS):
        key = (hit.namespace, hit.number)
        fused = sum(1 / (60 + one[key]) for one in lists if key in one)
        assert hit.score == pytest.approx(fused / (len(lists) / 61), abs=1e-5)


def shares(cosines: list[float], chance: list[float]) -> list[float]:
    found = [Row(0, number, 0.0, cosine) for number, cosine in enumerate(cosines, 1)]
    columns = candidates(found, chance)
    ranks = Ranks(columns.partition, columns.number, columns.cosine, columns.by_vector)
    answer = vector_shares(columns, ranks, BALANCED)
    assert answer is not None
    return answer.tolist()


def test_two_memories_that_are_almost_equally_near_get_almost_the_same_share():
    first, second = shares([0.321, 0.320], [0.321, 0.320])
    assert first == 1
    assert second > 0.97


def test_the_share_of_a_memory_does_not_depend_on_which_others_are_candidates():
    chance = np.linspace(-0.2, 0.4, 50).tolist()
    assert shares([0.8, 0.5, 0.1], chance)[:2] == shares([0.8, 0.5], chance)
