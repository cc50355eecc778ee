"""Recipes of a user's own, from the settings to the answer."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from perdure import Memory
from perdure.errors import SettingsInvalid, UnknownChoice
from perdure.recall.cookbook import LIKE, PARTS, WEIGHTS, own_recipe
from perdure.recall.recipe import BALANCED, FIELDS, LEARNINGS, RECIPES, Recipe
from perdure.settings import load
from perdure.testing.embedder import WordEmbedder

MINE = """
[recipes.mine]
like = "learnings"
keyword_weight = 3
vector_weight = 0
prominence_weight = 1
per_category = 0

[recipes.other]
"""


NOTHING_STANDS_OUT = """
[recipes.mine]
like = "learnings"
observation_part = 0
confidence_part = 0
recency_part = 0
recall_part = 0
"""


def settings_of(directory: Path, content: str, **environment: str) -> dict[str, str]:
    path = directory / "perdure.toml"
    path.write_text(content, encoding="utf-8")
    return {"PERDURE_CONFIG": str(path), "HOME": str(directory)} | environment


def test_a_recipe_of_the_file_is_good_wherever_a_recipe_is_named(tmp_path: Path):
    environment = settings_of(tmp_path, MINE, PERDURE_RECIPE="mine")
    with Memory(":memory:", embedder=WordEmbedder(), settings=load(environment)) as memory:
        memory.remember("tea on monday")
        for recipe in (None, "mine"):
            (hit,) = memory.recall("tea", recipe=recipe)
            assert hit.explain["keyword"].weight == pytest.approx(0.75)
            assert hit.explain["recency"].weight == pytest.approx(0.25 * 0.3)
            assert "vector" not in hit.explain
        assert memory.recall("tea", recipe="other")[0].explain.keys() >= {"keyword", "vector"}
        with pytest.raises(UnknownChoice) as caught:
            memory.recall("tea", recipe="theirs")
        assert "mine" in caught.value.remedy


def test_a_recipe_of_the_environment_is_an_inline_table(tmp_path: Path):
    environment = {"HOME": str(tmp_path), "PERDURE_RECIPES": '{quick = {like = "facts", candidates = 10}}'}
    with Memory(":memory:", embedder="none", settings=load(environment)) as memory:
        memory.remember("tea on monday")
        assert len(memory.recall("tea", recipe="quick")) == 1


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("[recipes.mine]\nkeyword_wait = 1", "keyword_wait"),
        ("[recipes.mine]\nkeyword_weight = 'much'", "keyword_weight"),
        ("[recipes.mine]\nkeyword_weight = true", "keyword_weight"),
        ("[recipes.mine]\nkeyword_weight = -1", "keyword_weight"),
        ("[recipes.mine]\nkeyword_weight = nan", "keyword_weight"),
        ("[recipes.mine]\nkeyword_weight = 0\nvector_weight = 0", "counts"),
        ("[recipes.mine]\nlike = 'yours'", "like"),
        ("[recipes.mine]\nlike = 5", "like"),
        ("[recipes.mine]\nfusion = 'cold'", "fusion"),
        ("[recipes.mine]\ncandidates = 0", "candidates"),
        ("[recipes.mine]\ncandidates = 2.5", "candidates"),
        ("[recipes.mine]\nrecency_days = 0", "recency_days"),
        ("[recipes.mine]\nforgets = 1", "forgets"),
        ("[recipes.mine]\nabout = ''", "about"),
        ("[recipes.mine]\nbalanced_categories = 'patterns'", "balanced_categories"),
        ("[recipes.mine]\ntime_weight = 2", "time_weight"),
        ("[recipes.mine]\nper_category = -1", "per_category"),
        (NOTHING_STANDS_OUT, "counts"),
        ("[recipes.balanced]\nkeyword_weight = 1", "balanced"),
        ("[recipes.'My recipe']\nkeyword_weight = 1", "My recipe"),
        ("recipes = 5", "recipes"),
        ("recipes = {mine = 5}", "recipes"),
    ],
)
def test_what_is_wrong_with_a_recipe_is_said_when_the_memory_is_opened(tmp_path: Path, content: str, said: str):
    with pytest.raises(SettingsInvalid) as caught:
        Memory(":memory:", embedder="none", settings=load(settings_of(tmp_path, content)))
    assert said in caught.value.sentence
    assert caught.value.remedy


@given(st.dictionaries(st.sampled_from(WEIGHTS + PARTS), st.floats(0.01, 100)), st.sampled_from(list(RECIPES)))
def test_weights_are_brought_to_a_sum_of_1_and_keep_their_proportions(fields: dict[str, float], like: str):
    made = own_recipe("mine", {LIKE: like, **fields})
    base = RECIPES[like]
    assert sum(getattr(made, name) for name in WEIGHTS) == pytest.approx(1)
    assert sum(getattr(made, name) for name in PARTS) == pytest.approx(1) or not made.prominence_weight
    given_: dict[str, float] = {name: getattr(base, name) for name in WEIGHTS}
    given_ |= {name: weight for name, weight in fields.items() if name in WEIGHTS}
    for one in WEIGHTS:
        assert getattr(made, one) * sum(given_.values()) == pytest.approx(given_[one])


@given(st.dictionaries(st.text(max_size=12) | st.sampled_from(list(FIELDS)), st.none() | st.text() | st.integers()))
def test_any_table_is_a_recipe_or_refused(table: dict[str, Any]):
    try:
        assert isinstance(own_recipe("mine", table), Recipe)
    except SettingsInvalid as error:
        assert error.remedy  # noqa: PT017 - either is right


def test_without_more_a_recipe_is_the_one_it_is_like():
    mine = own_recipe("mine", {})
    assert replace(mine, name=BALANCED.name, about=BALANCED.about) == BALANCED
    assert own_recipe("mine", {LIKE: "learnings"}).weights == pytest.approx(LEARNINGS.weights)
    assert "learnings" in own_recipe("mine", {LIKE: "learnings"}).about


def test_every_field_of_a_recipe_but_its_name_is_explained():
    assert set(FIELDS) == set(Recipe.__dataclass_fields__) - {"name"}
