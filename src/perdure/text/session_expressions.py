"""Words for sessions of a conversation, counted from the first or back from now: `our first session`, `three sessions
ago`, `sessions 2 through 4`, `the last time we spoke`. Which times these are, recall says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_NUMBERS: Final = {
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12,
}  # fmt: skip
_FEW: Final = {"a couple of": 2, "couple of": 2, "a few": 3, "few": 3, "several": 3}
_ORDINALS: Final = {
    "first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "sixth": 6, "seventh": 7, "eighth": 8, "ninth": 9,
    "tenth": 10, "eleventh": 11, "twelfth": 12,
}  # fmt: skip

_GAP: Final = r"\s{1,4}"
_SESSION: Final = "(?:session|conversation|chat|talk|discussion|sitting)"
_SPOKE: Final = "(?:spoke|talked|chatted|met|had a (?:chat|talk|conversation))"
_WE: Final = "(?:we|you and i|i and you)"
_LAST: Final = "(?:very )?(?:last|previous|prior|most recent|latest)"
_COUNT: Final = rf"(?:[0-9]{{1,3}}|{'|'.join(_NUMBERS)}|{'|'.join(_FEW)})"
_NTH: Final = rf"(?:(?:very )?(?:{'|'.join(_ORDINALS)})|[0-9]{{1,3}}(?:st|nd|rd|th))"
_UP_TO: Final = rf"(?:(?: (?:through|thru|to|until|till|and) |\s?[-–]\s?)(?P<upto>{_COUNT}))?"  # noqa: RUF001
_LEAD: Final = (
    "(?:(?P<bound>before|since|after|until|till|in|during|over|from|at|of|on|within|throughout|about) )?"
    "(?:(?:the|our|my|your|these|those) )?"
)
# `the first session of yoga` and `his last conversation` are other things than ours.
_WHOLE: Final = r"(?! (?:before|of|show|app|room)\b)"
_THEIRS: Final = re.compile(r"(?:\b(?:his|her|their|its|a|an|each|every)|['’]s)\s{1,4}$", re.IGNORECASE)  # noqa: RUF001
_END: Final = r"(?![\w-])"


@dataclass(frozen=True, slots=True)
class SessionRange:
    """Sessions `first` to `last`, counted from 1, the first of all; with `back`, counted from now into the past, where
    0 is the one that is going on. `bound` is `before`, `since`, `after` or `until`, or nothing. It stands at `start` to
    `end` in the text.
    """

    first: int
    last: int
    back: bool
    bound: str
    start: int
    end: int
    words: str


def find_session_ranges(text: str) -> tuple[SessionRange, ...]:
    """Every mention of sessions, in the order of the text, none inside another. Never an error."""
    found: list[SessionRange] = []
    end = 0 if _ANYTHING.search(text) else len(text)
    while match := _ANY.search(text, end):
        start, end = match.span()
        if _THEIRS.search(text, max(0, start - 12), start):
            continue
        first, last, back = _read(match)
        bound = (match["bound"] or "").lower()
        bound = {"till": "until"}.get(bound, bound) if bound in _BOUNDS else ""
        found.append(SessionRange(first, last, back, bound, start, end, " ".join(match[0].split())))
    return tuple(found)


def _read(match: re.Match[str]) -> tuple[int, int, bool]:
    """The first and the last of the sessions, and whether they are counted back from now."""
    given = {name: value.lower() for name, value in match.groupdict().items() if value}
    if "ago" in given:
        count = _number(given["ago"])
        return count, count, True
    if "span" in given:
        first = _number(given["span"])
        last = _number(given["upto"]) if "upto" in given else first
        return min(first, last), max(first, last), False
    if "several" in given:
        return 1, max(1, _number(given["several"])), given["which"] != "first"
    if "nth" in given or "nth_time" in given:
        which = _number(given.get("nth") or given["nth_time"])
        return which, which, False
    if "this" in given:
        return 0, 0, True
    return (2, 2, True) if "before_last" in given else (1, 1, True)


def _number(word: str) -> int:
    """`3`, `3rd`, `three`, `third`, `a few`; 0 for the zeroth, which is none."""
    word = " ".join(word.split()).removeprefix("very ")
    digits = re.match("[0-9]+", word)
    return int(digits[0]) if digits else _NUMBERS.get(word) or _ORDINALS.get(word) or _FEW[word]


def _spaced(pattern: str) -> str:
    return pattern.replace(" ", _GAP)


# Most texts have nothing of it, and need no closer look.
_ANYTHING: Final = re.compile(rf"\b(?:{_SESSION}|time|last)", re.IGNORECASE)
_BOUNDS: Final = frozenset({"before", "since", "after", "until", "till"})
_ANY: Final = re.compile(
    rf"(?<![\w-]){_spaced(_LEAD)}(?:"
    + "|".join(
        map(
            _spaced,
            (
                rf"(?P<ago>{_COUNT}) {_SESSION}s? ago",
                rf"(?P<before_last>{_SESSION} before (?:the )?last(?: one)?)",
                rf"sessions? (?:number |no\.? |#)?(?P<span>{_COUNT}){_UP_TO}",
                rf"(?P<which>first|last|past|previous) (?P<several>{_COUNT}) {_SESSION}s",
                rf"(?P<nth>{_NTH}) {_SESSION}{_WHOLE}",
                rf"(?P<nth_time>{_NTH}) time (?:that )?{_WE}(?: ever)? {_SPOKE}",
                rf"(?P<this>(?:this|current|present) {_SESSION})",
                rf"{_LAST} {_SESSION}{_WHOLE}",
                rf"{_LAST} time (?:that )?(?:{_WE} {_SPOKE})",
                rf"(?:when )?{_WE} last {_SPOKE}",
                r"last time(?=\s{0,4}(?:[?.!,;]|$))",
            ),
        )
    )
    + f"){_END}",
    re.IGNORECASE,
)
