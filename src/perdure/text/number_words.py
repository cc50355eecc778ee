"""Numbers as people say them: `3`, `1.5`, `forty-five`, `the twenty-first`, `two and a half`, `a few`.

Who reads a text for numbers need not know their words: in `FiguredText`, `the twenty-first` is `the 21st`.
"""

from __future__ import annotations

import re
from bisect import bisect_right
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
_NTH: Final = (
    "zeroth first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth thirteenth fourteenth "
    "fifteenth sixteenth seventeenth eighteenth nineteenth"
).split()
_NTH_TENS: Final = "twentieth thirtieth fortieth fiftieth sixtieth seventieth eightieth ninetieth".split()
_TEN: Final = 10
_HUNDRED: Final = 100
SMALL_NUMBERS: Final = {word: value for value, word in enumerate(_UNITS)} | {
    word: _TEN * value for value, word in enumerate(_TENS, 2)
}
ORDINALS: Final = {word: value for value, word in enumerate(_NTH)} | {
    word: _TEN * value for value, word in enumerate(_NTH_TENS, 2)
}
ARTICLES: Final = frozenset(("a", "an"))
# Who says `a couple of days ago` does not count.
VAGUE_NUMBERS: Final = {"couple": (2, 3), "few": (2, 5), "several": (3, 7)}
# Words that are a number or a part of one.
NUMBER_WORDS: Final = frozenset((*SMALL_NUMBERS, "hundred", "thousand", "million", "billion", "dozen", "point", "minus",
                                 "half", "quarter", "quarters"))  # fmt: skip
_FIGURES: Final = re.compile(r"[0-9]{1,6}(?:\.[0-9]{1,3})?", re.ASCII)
_FRACTIONS: Final = {"1/2": 0.5, "½": 0.5, "1/4": 0.25, "¼": 0.25, "3/4": 0.75, "¾": 0.75}
_BETWEEN: Final = frozenset(("and", "a", "an", "of"))
_MOST_BETWEEN: Final = 3

_JOINT: Final = r"(?:-|\s{1,4})"
_ONES: Final = "|".join(_UNITS[1:_TEN])
_SPELLED_TENS: Final = "|".join(_TENS)
_BELOW_HUNDRED: Final = (
    rf"(?:(?:{_SPELLED_TENS}){_JOINT}(?:{_ONES}|{'|'.join(_NTH[1:_TEN])})|{'|'.join((*SMALL_NUMBERS, *ORDINALS))})\b"
)
_SPELLED: Final = re.compile(
    # A second may be a length of time, and hundreds need not be counted.
    r"(?<![\w-])(?:(?P<uncounted>(?:an?|each|every|last|next|one|past|per|split)\s{1,4}second\b"
    r"|(?:couple\s{1,4}of|few|many|several|some)\s{1,4}hundred\b)"
    rf"|(?P<century>nineteen|twenty){_JOINT}(?:(?:{_SPELLED_TENS})(?:{_JOINT}(?:{_ONES}))?|{'|'.join(_UNITS[_TEN:])})\b"
    rf"|(?:(?:an?|{_ONES})\s{{1,4}})?hundred(?:th\b|\b(?:\s{{1,4}}(?:and\s{{1,4}})?{_BELOW_HUNDRED})?)"
    # `one-on-one` and `twenty-four-hour` are words of their own.
    rf"|{_BELOW_HUNDRED})(?!-(?!to-last))",
    re.IGNORECASE,
)
_WORD: Final = re.compile("[a-z]+")
_MODAL: Final = re.compile(r"(?:(?<!\bon )(?<!since )(?<!from )(?<!before )(?<!after )(?:may|march)|^\s*May)\s{1,4}$")
_WIDEST_MODAL: Final = 9
_ENDINGS: Final = {1: "st", 2: "nd", 3: "rd"}


class FiguredText:
    """A text with its numbers in figures: `our twenty-first session` is `our 21st session`."""

    def __init__(self, text: str) -> None:
        parts: list[str] = []
        # Where each number ends, here and in the text as it was written.
        self._ends: list[int] = []
        self._original_ends: list[int] = []
        length = end = 0
        for match in _SPELLED.finditer(text):
            if match["uncounted"] is None and not _is_adverb(match):
                figures = _figures_of(match)
                parts += (text[end : match.start()], figures)
                length += match.start() - end + len(figures)
                end = match.end()
                self._ends.append(length)
                self._original_ends.append(end)
        self.text = "".join((*parts, text[end:]))

    def original(self, position: int) -> int:
        """Where that position, which must not be inside a number, is in the text as it was written."""
        which = bisect_right(self._ends, position)
        return position - self._ends[which - 1] + self._original_ends[which - 1] if which else position


def _is_adverb(match: re.Match[str]) -> bool:
    """`I may first ask Anna`, `May third parties read it?`: no day of a month."""
    text, start, end = match.string, *match.span()
    return bool(_MODAL.search(text, max(0, start - _WIDEST_MODAL), start)) and text[end + 1 : end + 2].isalpha()


def _figures_of(match: re.Match[str]) -> str:
    words = _WORD.findall(match[0].lower())
    value = 0
    for word in words:
        if word.startswith("hundred"):
            value = (value or 1) * _HUNDRED
        value += SMALL_NUMBERS.get(word, 0) + ORDINALS.get(word, 0)
    if match["century"]:
        value += SMALL_NUMBERS[words[0]] * (_HUNDRED - 1)
    if words[-1] not in ORDINALS and words[-1] != "hundredth":
        return str(value)
    return f"{value}{_ENDINGS.get(value % _TEN, 'th') if value % _HUNDRED // _TEN != 1 else 'th'}"


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
    if words[before][-1:].isdigit():
        return figures and before == start - 1
    return words[before] in NUMBER_WORDS and not (figures and words[before] in SMALL_NUMBERS)


def _is(words: Sequence[str], at: int, word: str) -> bool:
    return at < len(words) and words[at] == word


def read_fraction(words: Sequence[str], start: int) -> Quantity | None:
    """`half an` hour, `a quarter of an` hour, `three quarters of an` hour."""
    if words[start] == "half":
        end = start + 2 if start + 1 < len(words) and words[start + 1] in ARTICLES else start + 1
        return Quantity(0.5, 0.5, end)
    at = start + 1 if words[start] in {"a", "three", "3"} else start
    if (
        at < len(words)
        and words[at] in {"quarter", "quarters"}
        and words[at + 1 : at + 3] in (["of", "a"], ["of", "an"])
    ):
        share = 0.75 if words[start] in {"three", "3"} else 0.25
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
