"""Which of the scored candidates become the answer. A pure function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from perdure.recall.recipe import Recipe

_One = TypeVar("_One")


def select(recipe: Recipe, ordered: Sequence[_One], limit: int, category: Callable[[_One], str | None]) -> list[_One]:
    """Of candidates that stand best first, `limit` at most, in the same order. A recipe that balances takes the best of
    each balanced category first, where there is room for all of them, and then whatever is best.
    """
    categories, least = recipe.balanced_categories, recipe.per_category
    if not recipe.balances or limit < least * len(categories):
        return list(ordered[:limit])
    room = dict.fromkeys(categories, least)
    chosen: set[int] = set()
    for place, one in enumerate(ordered):
        kind = category(one)
        if kind is not None and room.get(kind, 0):
            room[kind] -= 1
            chosen.add(place)
    for place in range(len(ordered)):
        if len(chosen) >= limit:
            break
        chosen.add(place)
    return [ordered[place] for place in sorted(chosen)]
