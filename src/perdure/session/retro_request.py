"""What a retrospective is told: learnings, and what became of older ones. A model writes it as JSON, and a person says
it on the command line.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from perdure.bank.entries import CONFIDENCES
from perdure.errors import InvalidInput, shown
from perdure.model import LEARNING_CATEGORIES

_LEARNING_KEYS: Final = (
    "name", "description", "reasoning", "category", "keywords", "references", "confidence", "universal",
)  # fmt: skip
_SHAPE: Final = (
    'Give {"learnings": [{"name", "description", "reasoning", "category", "keywords", "references"}], "confirmed": '
    '[names], "challenged": [{"name", "reason"}]}; nothing was written.'
)


@dataclass(frozen=True, slots=True)
class Learning:
    """One thing that was learned. `confidence` is None where nobody told it; a `universal` one holds everywhere."""

    name: str
    description: str
    reasoning: str
    category: str
    keywords: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    confidence: str | None = None
    universal: bool = False


@dataclass(frozen=True, slots=True)
class RetroRequest:
    """What a retro is told. `confirmed` and `challenged` name entries: by name, number or content hash."""

    learnings: tuple[Learning, ...] = ()
    confirmed: tuple[str, ...] = ()
    challenged: tuple[tuple[str, str], ...] = ()


def read_request(text: str) -> RetroRequest:
    """A retro as JSON: an object, or the list of its learnings alone."""
    try:
        value: object = json.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"The retro is not valid JSON: {error}.", remedy=_SHAPE) from error
    if isinstance(value, list):
        value = {"learnings": cast("object", value)}
    if not isinstance(value, dict):
        raise InvalidInput("A retro is a JSON object.", remedy=_SHAPE)
    told = cast("dict[str, object]", value)
    if unknown := next((key for key in told if key not in {"learnings", "confirmed", "challenged"}), None):
        raise InvalidInput(f"A retro has no {shown(unknown)}.", remedy=_SHAPE)
    learnings, confirmed, challenged = (_list(told, key) for key in ("learnings", "confirmed", "challenged"))
    names = [name for name in confirmed if isinstance(name, str) and name.strip()]
    reasons = [
        (each.get("name"), each.get("reason"))
        for each in (cast("dict[str, object]", one) for one in challenged if isinstance(one, dict))
    ]
    good = [(name, why) for name, why in reasons if isinstance(name, str) and isinstance(why, str) and why.strip()]
    if len(names) < len(confirmed) or len(good) < len(challenged):
        raise InvalidInput("confirmed has names, challenged has names with a reason.", remedy=_SHAPE)
    return RetroRequest(tuple(map(check_learning, learnings)), tuple(names), tuple(good))


def _list(told: Mapping[str, object], key: str) -> list[object]:
    value = told.get(key)
    if value is not None and not isinstance(value, list):
        raise InvalidInput(f"{key} is not a list.", remedy=_SHAPE)
    return cast("list[object]", value or [])


def check_learning(value: object) -> Learning:
    """One learning as it was told. What it is, and why it matters, must be there."""
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{shown(value)} is not a learning.", remedy=_SHAPE)
    told = cast("Mapping[str, object]", value)
    if unknown := next((key for key in told if key not in _LEARNING_KEYS), None):
        raise InvalidInput(f"A learning has no {shown(unknown)}.", remedy=f"It has {', '.join(_LEARNING_KEYS)}.")
    texts: dict[str, str] = {}
    for key in ("name", "description", "reasoning", "category"):
        text = told.get(key)
        if not isinstance(text, str) or not text.strip():
            which = f" of {shown(texts['name'])}" if "name" in texts else ""
            raise InvalidInput(
                f"The {key}{which} is missing.",
                remedy="A learning has a name, a description, its reasoning and a category; nothing was written.",
            )
        texts[key] = " ".join(text.split()) if key in {"name", "category"} else text.strip()
    if texts["category"] not in LEARNING_CATEGORIES:
        known = ", ".join(LEARNING_CATEGORIES)
        raise InvalidInput(f"There is no category {shown(texts['category'])}.", remedy=f"Use one of {known}.")
    confidence = told.get("confidence")
    if confidence is not None and confidence not in CONFIDENCES:
        raise InvalidInput(f"There is no confidence {shown(confidence)}.", remedy="Use high, medium or low.")
    lists = {key: _list(told, key) for key in ("keywords", "references")}
    if not all(isinstance(one, str) for some in lists.values() for one in some):
        raise InvalidInput(f"keywords and references of {shown(texts['name'])} are lists of texts.", remedy=_SHAPE)
    return Learning(
        **texts,
        keywords=tuple(cast("list[str]", lists["keywords"])),
        references=tuple(cast("list[str]", lists["references"])),
        confidence=cast("str | None", confidence),
        universal=told.get("universal") is True,
    )
