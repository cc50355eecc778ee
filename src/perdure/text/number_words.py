"""Numbers as people say them: `3`, `1.5`, `forty-five`, `a hundred and twenty`, `two and a half`, `a few`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, NamedTuple


class Quantity(NamedTuple):
    """From `low` to `high`: the two differ where the words are vague. It ends before the word number `end`."""

    low: float
    high: float
    end: int


_UNITS: Final = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen "
    "eighteen nineteen"
).split()
_TENS: Final = "twenty thirty forty fifty sixty seventy eighty ninety".split()
SMALL_NUMBERS: Final = {word: value for value, word in enumerate(_UNITS)} | {
    word: 10 * value for value, word in enumerate(_TENS, 2)
}
ARTICLES: Final = frozenset(("a", "an"))
# Who says `a couple of days ago` does not count.
VAGUE_NUMBERS: Final = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
# Words that are a number or a part of one.
NUMBER_WORDS: Final = frozenset((*SMALL_NUMBERS, "hundred", "thousand", "million", "billion", "dozen", "point", "minus",
                                 "half", "quarter", "quarters"))  # fmt: skip
_FIGURES: Final = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?", re.ASCII)
_FRACTIONS: Final = {"1/2": 0.5, "½": 0.5, "1/4": 0.25, "¼": 0.25, "3/4": 0.75, "¾": 0.75}
_TEN: Final = 10
_HUNDRED: Final = 100
_BETWEEN: Final = frozenset(("and", "a", "an", "of"))
_MOST_BETWEEN: Final = 3


def read_quantity(words: Sequence[str], start: int) -> Quantity | None:
    """The number that begins at this word, as far as it goes. `words` are in lower case, hyphens taken apart."""
    part = read_fraction(words, start)
    if part is not None:
        return part
    vague = read_vague_number(words, start)
    if vague is not None:
        return vague
    value, end = read_number(words, start)
    if value is None:
        return None
    if end < len(words) and words[end] in _FRACTIONS and value == int(value):
        value, end = value + _FRACTIONS[words[end]], end + 1
    elif words[end : end + 3] == ["and", "a", "half"]:
        value, end = value + 0.5, end + 3
    return Quantity(value, value, end)


def cuts_a_number(words: Sequence[str], start: int) -> bool:
    """Whether a number that begins here is the rest of a longer one, as `5` in `1 5` or `twenty` in `a thousand and
    twenty`.
    """
    between = 0
    # `and a`, at most: a text of nothing but these words must not cost its square.
    while between < _MOST_BETWEEN and start - 1 - between >= 0 and words[start - 1 - between] in _BETWEEN:
        between += 1
    before = start - 1 - between
    if before < 0:
        return False
    figures = words[start][:1].isdigit()
    if words[before][:1].isdigit():
        return figures and before == start - 1
    return words[before] in NUMBER_WORDS and not (figures and words[before] in SMALL_NUMBERS)


def _is(words: Sequence[str], at: int, word: str) -> bool:
    return at < len(words) and words[at] == word


def read_fraction(words: Sequence[str], start: int) -> Quantity | None:
    """`half an` hour, `a quarter of an` hour, `three quarters of an` hour."""
    if words[start] == "half":
        end = start + 2 if start + 1 < len(words) and words[start + 1] in ARTICLES else start + 1
        return Quantity(0.5, 0.5, end)
    at = start + 1 if words[start] in {"a", "three"} else start
    if (
        at < len(words)
        and words[at] in {"quarter", "quarters"}
        and words[at + 1 : at + 3] in (["of", "a"], ["of", "an"])
    ):
        share = 0.75 if words[start] == "three" else 0.25
        return Quantity(share, share, at + 3)
    return None


def read_vague_number(words: Sequence[str], start: int) -> Quantity | None:
    at = start + 1 if words[start] in ARTICLES else start
    if at >= len(words) or words[at] not in VAGUE_NUMBERS:
        return None
    low, high = VAGUE_NUMBERS[words[at]]
    return Quantity(low, high, at + 2 if _is(words, at + 1, "of") else at + 1)


def read_number(words: Sequence[str], start: int) -> tuple[float | None, int]:
    word = words[start]
    if word not in ARTICLES and word not in SMALL_NUMBERS:
        return read_figures(word), start + 1
    value, end = _below_hundred(words, start)
    if _is(words, end, "dozen") and value == 1:
        return 12, end + 1
    if not _is(words, end, "hundred"):
        return value, end
    value, end = value * _HUNDRED, end + 1
    joined = end + 1 if _is(words, end, "and") else end
    if joined < len(words) and words[joined] in SMALL_NUMBERS:
        rest, end = _below_hundred(words, joined)
        value += rest
    return value, end


def read_figures(word: str) -> float | None:
    """`3`, `1.5`, `1½`, `3/4`."""
    if word in _FRACTIONS:
        return _FRACTIONS[word]
    whole = word[:-1] if word[-1] in _FRACTIONS else word
    return float(whole) + _FRACTIONS.get(word[-1], 0) if _FIGURES.fullmatch(whole) else None


def _below_hundred(words: Sequence[str], start: int) -> tuple[int, int]:
    value, end = SMALL_NUMBERS.get(words[start], 1), start + 1
    if words[start] in _TENS and end < len(words) and 0 < SMALL_NUMBERS.get(words[end], 0) < _TEN:
        return value + SMALL_NUMBERS[words[end]], end + 1
    return value, end
