"""Recipes: how recall weighs what it knows about a memory. A recipe is a value with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from perdure.errors import UnknownChoice, shown


@dataclass(frozen=True, slots=True)
class Recipe:
    """The weights are shares: when one signal is missing, the other gets its share. `candidates` is how many of the
    best by each signal are compared; each of them is then scored by both.
    """

    name: str
    keyword_weight: float
    vector_weight: float
    candidates: int
    about: str


BALANCED: Final = Recipe(
    name="balanced",
    keyword_weight=0.5,
    vector_weight=0.5,
    candidates=100,
    about="Words and meaning alike: each signal is brought to 0..1, then they are added.",
)

RECIPES: Final = {recipe.name: recipe for recipe in (BALANCED,)}


def recipe_named(name: str) -> Recipe:
    try:
        return RECIPES[name]
    except (KeyError, TypeError):
        raise UnknownChoice(
            f"There is no recipe called {shown(name)}.", remedy=f"Use one of: {', '.join(RECIPES)}."
        ) from None
