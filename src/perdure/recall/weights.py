"""How the weights of a recipe are shared out when a signal is missing. Pure functions."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from perdure.recall.recipe import Recipe

MATCHING: Final = frozenset({"keyword", "vector"})
PROMINENCE: Final = frozenset({"observations", "confidence", "recency", "recalls"})


def shared_out(recipe: Recipe, *, keyword: bool, vector: bool) -> dict[str, float]:
    """The weight of each signal that is there; their sum is that of the recipe.

    Fusion by rank makes one signal of words and meaning: what one of them lacks, the other has. Otherwise each is a
    signal of its own, and leaves its share to all others.
    """
    weights = recipe.weights
    missing = MATCHING - {name for name, there in (("keyword", keyword), ("vector", vector)) if there}
    if recipe.fusion == "rank" and len(missing) == 1:
        both = {name: weight for name, weight in weights.items() if name in MATCHING}
        return redistributed(both, missing) | {n: weight for n, weight in weights.items() if n not in MATCHING}
    return redistributed(weights, missing)


def redistributed(weights: Mapping[str, float], missing: Collection[str]) -> dict[str, float]:
    """In proportion to the weights that are left; evenly when none of them has any."""
    left = {name: weight for name, weight in weights.items() if name not in missing}
    total, remaining = sum(weights.values()), sum(left.values())
    if remaining > 0:
        return {name: weight * total / remaining for name, weight in left.items()}
    return {name: total / len(left) for name in left}
