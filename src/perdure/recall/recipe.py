"""Recipes: how recall weighs what it knows about a memory. A recipe is a value with a name."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from perdure.errors import UnknownChoice, shown


@dataclass(frozen=True, slots=True)
class Recipe:
    """The weights are shares: when words or meaning is missing, the other gets its share. `candidates` is how many of
    the best by each of the two are compared; each of them is then scored by everything that has a weight.

    `rank_constant` makes words and meaning count by rank, as 1 / (constant + rank) divided by its maximum; without it
    they count by how well they match. `scale` is the best possible score.
    """

    name: str
    keyword_weight: float
    vector_weight: float
    candidates: int
    about: str
    tier_weight: float = 0.0
    decay_weight: float = 0.0
    anchor_weight: float = 0.0
    rank_constant: int | None = None
    scale: float = 1.0

    @property
    def needs_records(self) -> bool:
        """Whether a candidate's score depends on more than how it matches."""
        return bool(self.tier_weight or self.decay_weight or self.anchor_weight)


BALANCED: Final = Recipe(
    name="balanced",
    keyword_weight=0.5,
    vector_weight=0.5,
    candidates=100,
    about="Words and meaning alike: each signal is brought to 0..1, then they are added.",
)

TIERED: Final = Recipe(
    name="tiered",
    keyword_weight=0.2,
    vector_weight=0.2,
    candidates=20,
    about="Scores from 0 to 100: 40 for the ranks by words and by meaning, 25 for the tier, 20 for what decay leaves "
    "of a memory that is not used, 15 for words of the question in the anchor.",
    tier_weight=0.25,
    decay_weight=0.2,
    anchor_weight=0.15,
    rank_constant=60,
    scale=100.0,
)

RECIPES: Final = {recipe.name: recipe for recipe in (BALANCED, TIERED)}


def recipe_named(name: str) -> Recipe:
    try:
        return RECIPES[name]
    except (KeyError, TypeError):
        raise UnknownChoice(
            f"There is no recipe called {shown(name)}.", remedy=f"Use one of: {', '.join(RECIPES)}."
        ) from None
