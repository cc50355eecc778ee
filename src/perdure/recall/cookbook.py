"""A user's own recipes, from the table `recipes` of the settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NoReturn, cast, get_args

from perdure.errors import SettingsInvalid, shown
from perdure.recall.recipe import BALANCED, FIELDS, RECIPES, Fusion, Recipe
from perdure.validation import ABOVE_ZERO, number_in

# The recipe to begin with; what is not said stays as it is there.
LIKE: Final = "like"
WEIGHTS: Final = (
    "keyword_weight", "vector_weight", "prominence_weight", "tier_weight", "decay_weight", "anchor_weight",
)  # fmt: skip
PARTS: Final = ("observation_part", "confidence_part", "recency_part", "recall_part")

_NAME: Final = re.compile(r"[a-z][a-z0-9_-]{0,39}")
_MOST: Final = 10_000


def own_recipes(tables: Mapping[str, Mapping[str, object]]) -> dict[str, Recipe]:
    """SettingsInvalid says which recipe is wrong, and what about it."""
    return {name: own_recipe(name, table) for name, table in tables.items()}


def own_recipe(name: str, table: Mapping[str, object]) -> Recipe:
    if not _NAME.fullmatch(name):
        raise SettingsInvalid(
            f"A recipe cannot be called {shown(name)}.",
            remedy="Use up to 40 small letters, digits, - and _, beginning with a letter.",
        )
    if name in RECIPES:
        raise SettingsInvalid(f"There is a recipe called {name} already.", remedy="Give yours another name.")
    fields = dict(table)
    like = fields.pop(LIKE, BALANCED.name)
    if not isinstance(like, str) or like not in RECIPES:
        _wrong(name, LIKE, like, f"one of: {', '.join(RECIPES)}")
    if unknown := sorted(set(fields) - set(FIELDS)):
        raise SettingsInvalid(
            f"The recipe {name} has a field {shown(unknown[0])}, which does not exist.",
            remedy=f"Fields: {', '.join((LIKE, *FIELDS))}.",
        )
    base = RECIPES[str(like)]
    values: dict[str, Any] = {}
    for field, value in fields.items():
        kind = "weight" if field in WEIGHTS + PARTS else _FIELD_KINDS.get(field, "share")
        check, expected = _KINDS[kind]
        values[field] = check(value)
        if values[field] is None:
            _wrong(name, field, value, expected)
    made = replace(base, **({"name": name, "about": f"Your own, like `{like}`."} | values))
    made = replace(made, **_as_shares(name, made, WEIGHTS))
    return replace(made, **_as_shares(name, made, PARTS)) if made.prominence_weight else made


def _as_shares(name: str, recipe: Recipe, fields: tuple[str, ...]) -> dict[str, float]:
    """Weights only say how much more than another one counts; so that they add up to 1, they need not be given so."""
    weights = {field: float(getattr(recipe, field)) for field in fields}
    total = sum(weights.values())
    if total <= 0:
        raise SettingsInvalid(
            f"No signal of the recipe {name} counts.", remedy=f"Make one of these more than 0: {', '.join(fields)}."
        )
    return {field: weight / total for field, weight in weights.items()}


def _wrong(name: str, field: str, value: object, expected: str) -> NoReturn:
    raise SettingsInvalid(f"{field} of the recipe {name} cannot be {shown(value)}.", remedy=f"Make it {expected}.")


def _words(value: object) -> tuple[str, ...] | None:
    words = cast("Sequence[object]", value) if isinstance(value, list | tuple) else (None,)
    texts = [word for word in words if isinstance(word, str) and word]
    return tuple(dict.fromkeys(texts)) if len(texts) == len(words) else None


# By kind: a function that answers the value or None, and what the value should be.
_KINDS: Final[Mapping[str, tuple[Callable[[object], object], str]]] = {
    "weight": (lambda value: number_in(value, 0, _MOST), f"a number from 0 to {_MOST:,}"),
    "share": (lambda value: number_in(value, 0, 1), "a number from 0 to 1"),
    "positive": (lambda value: number_in(value, ABOVE_ZERO, _MOST), f"a number above 0, at most {_MOST:,}"),
    "count": (lambda value: number_in(value, 1, _MOST, whole=True), f"a whole number from 1 to {_MOST:,}"),
    "few": (lambda value: number_in(value, 0, _MOST, whole=True), f"a whole number from 0 to {_MOST:,}"),
    "text": (lambda value: (value.strip() or None) if isinstance(value, str) else None, "a text"),
    "switch": (lambda value: value if isinstance(value, bool) else None, "true or false"),
    "fusion": (lambda value: value if value in get_args(Fusion) else None, f"one of: {', '.join(get_args(Fusion))}"),
    "words": (_words, "a list of texts"),
}
_FIELD_KINDS: Final = {
    "about": "text", "fusion": "fusion", "rank_constant": "count", "candidates": "count", "recency_days": "positive",
    "recall_cap": "count", "forgets": "switch", "per_category": "few", "balanced_categories": "words",
    "scale": "positive",
}  # fmt: skip
