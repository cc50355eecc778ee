"""The numbers of a text, in figures or in words, each in one form: `3`, `three`, `3rd` and `3.0` are the same."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from perdure.text.number_words import ARTICLES, NUMBER_WORDS, ORDINALS, VAGUE_NUMBERS, read_quantity

_TIMES_OVER: Final = {
    "hundred": 1e2, "thousand": 1e3, "k": 1e3, "million": 1e6, "m": 1e6, "mn": 1e6, "billion": 1e9, "bn": 1e9, "b": 1e9,
    "trillion": 1e12,
}  # fmt: skip
_FIGURES: Final = re.compile(r"([-+]?[0-9]+(?:[.,][0-9]+)*)(%|[a-z]+)?", re.ASCII)
_GROUPED: Final = re.compile(r"[-+]?[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?", re.ASCII)
# Longer ones are names: a telephone number, a card.
_MOST_DIGITS: Final = 15
_PLAIN_ENDINGS: Final = frozenset(("%", "pc", "st", "nd", "rd", "th"))
_MULTIPLIED: Final = ("hundred", "thousand", "million", "billion", "dozen", "couple")


def read_figure(word: str) -> float | None:
    """`1,000`, `38bn`, `25%`, `6th`; neither `10:30` nor `v2`."""
    match = _FIGURES.fullmatch(word)
    if match is None:
        return None
    digits = match[1].replace(",", "") if _GROUPED.fullmatch(match[1]) else match[1].replace(",", ".")
    ending = match[2]
    if (
        len(digits) > _MOST_DIGITS
        or digits.count(".") > 1
        or (ending and ending not in _PLAIN_ENDINGS and ending not in _TIMES_OVER)
    ):
        return None
    return float(digits) * _TIMES_OVER.get(ending or "", 1)


def numbers_in(words: Sequence[str]) -> list[str]:
    """In order. `words` are in lower case, hyphens taken apart. Articles and vague words, such as `few`, are none; what
    has figures but is no number, such as `10:30`, stays as it is.
    """
    found: list[str] = []
    at = 0
    while at < len(words):
        value, end = _number_at(words, at)
        if value is not None:
            while end < len(words) and words[end] in _TIMES_OVER:
                value, end = value * _TIMES_OVER[words[end]], end + 1
            found.append(f"{value:.12g}")
        elif words[at][0].isdigit():
            found.append(words[at])
        at = end
    return found


def _number_at(words: Sequence[str], at: int) -> tuple[float | None, int]:
    word = words[at]
    if word[-1].isdigit() or word[0].isdigit():
        return read_figure(word), at + 1
    if word in ORDINALS and word != "second":  # which is a time as well
        return ORDINALS[word], at + 1
    article = word in ARTICLES
    if article and words[at + 1 : at + 2] and words[at + 1] not in _MULTIPLIED:
        return None, at + 1
    if (word not in NUMBER_WORDS and word not in VAGUE_NUMBERS and not article) or word in _VAGUE:
        return None, at + 1
    quantity = read_quantity(words, at)
    return (quantity.low, quantity.end) if quantity and not (article and quantity.end == at + 1) else (None, at + 1)


_VAGUE: Final = frozenset(("few", "several", "half", "quarter", "quarters", "point", "minus"))
