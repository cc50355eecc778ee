from __future__ import annotations

from typing import Any

import pytest

from perdure.errors import UnknownChoice
from perdure.recall.recipe import RECIPES, recipe_named


def test_every_recipe_is_found_by_its_name():
    assert [recipe_named(name).name for name in RECIPES] == list(RECIPES)


@pytest.mark.parametrize("name", ["", "Balanced", "no such", "x" * 500, None, 3, ["balanced"]])
def test_an_unknown_recipe_is_an_error_that_lists_the_known_ones(name: Any):
    with pytest.raises(UnknownChoice) as caught:
        recipe_named(name)
    assert "balanced" in caught.value.remedy
    assert len(caught.value.sentence) < 200
