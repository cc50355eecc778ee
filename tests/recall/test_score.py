"""The score as a pure function of candidates: what must hold for any of them."""

from __future__ import annotations

from dataclasses import replace
from random import Random
from types import SimpleNamespace
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure.embed.choice import Chosen
from perdure.embed.port import Generation
from perdure.recall.candidates import Candidates, Partition
from perdure.recall.query import ParsedQuery, SearchRequest
from perdure.recall.ranking import Ranked
from perdure.recall.recipe import BALANCED, FACTS, MEANING, Recipe
from perdure.recall.relevance import relevance
from perdure.recall.score import rank
from perdure.testing.records import NOON
from perdure.text.bm25 import WordCounts

MAXIMUM = replace(BALANCED, fusion="maximum")
MATCHING = [
    BALANCED,
    FACTS,
    MAXIMUM,
    MEANING,
    replace(BALANCED, keyword_weight=1.0, vector_weight=0.0),
    replace(MAXIMUM, keyword_weight=0.3, vector_weight=0.7, scale=10.0),
]
QUERY = ParsedQuery("tea", ["tea"])
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


def snapshot_of(found: list[Row]) -> Any:
    """As much of an index as a score looks at: of each row, whether it holds the word that is asked."""
    holding_it = np.array([row.keyword > 0 for row in found], np.float64)

    def held(terms: list[int], rows: np.ndarray, _: object) -> tuple[np.ndarray, WordCounts]:
        holding = np.tile(holding_it[rows], (len(terms), 1))
        return holding, WordCounts(len(found), len(found), dict.fromkeys(terms, int(holding.sum())))

    def counts(terms: list[int], _: object) -> WordCounts:
        return held(terms, np.arange(len(found)), None)[1]

    words = 8 * len(found)
    return SimpleNamespace(lexical=SimpleNamespace(documents=len(found), words=words, held=held, counts=counts))


def candidates(found: list[Row], chance: list[float]) -> Candidates:
    parts = [[row for row in found if row.namespace == which] for which in range(3)]
    found = [row for part in parts for row in part]
    keyword = np.array([row.keyword for row in found], np.float32)
    has_vector = np.array([row.cosine is not None for row in found], np.bool_)
    return Candidates(
        parts=[(Partition(which, "n", snapshot_of(part)), np.arange(len(part))) for which, part in enumerate(parts)],
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
    request = SearchRequest(
        query="tea", namespaces=("a", "b", "c"), recipe=recipe, now=NOON, limit=limit, min_relevance=0
    )
    return rank(candidates(found, chance), request, QUERY, store, Chosen(None, GENERATION, 0.1))[0]


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
        total = sum(signal.contribution for signal in signals.values())
        if recipe.is_relevance:
            assert hit.score == hit.relevance == relevance(total)
            assert ("vector" in signals) == (row.cosine is not None and recipe.vector_weight > 0)
        else:
            assert hit.score == pytest.approx(total)
            assert sum(signal.weight for signal in signals.values()) == pytest.approx(recipe.scale)
            assert all(0 <= signal.normalised <= 1 for signal in signals.values())
        for name, signal in signals.items():
            assert signal.contribution == signal.weight * signal.normalised
            assert name == "prior" or signal.raw == (row.keyword if name == "keyword" else row.cosine or 0.0)


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


@given(rows, chances)
def test_how_well_a_memory_fits_does_not_depend_on_the_recipe(found: list[Row], chance: list[float]):
    fits = {(hit.namespace, hit.number): hit.relevance for hit in ranked(found, chance, BALANCED)}
    for hit in (*ranked(found, chance, MAXIMUM), *ranked(found, chance, FACTS)):
        assert hit.relevance == fits.get((hit.namespace, hit.number), hit.relevance)


@given(rows)
def test_how_well_a_memory_fits_depends_on_how_many_others_there_are_and_not_on_how_they_match(found: list[Row]):
    known = [row._replace(cosine=row.cosine or 0.0) for row in found]
    others = [row._replace(keyword=0.0, cosine=-1.0) if row.number > 25 else row for row in known]
    fits, alone = ({(hit.namespace, hit.number): hit.relevance for hit in ranked(each, [], BALANCED)}
                   for each in (known, others))  # fmt: skip
    assert all(fit == pytest.approx(fits[key], abs=2e-4) for key, fit in alone.items() if key[1] <= 25)


def test_two_memories_that_are_almost_equally_near_fit_almost_as_well():
    first, second = ranked([Row(0, 1, 0.0, 0.321), Row(0, 2, 0.0, 0.320)], [0.321, 0.320], BALANCED)
    assert first.relevance - second.relevance < 0.01
