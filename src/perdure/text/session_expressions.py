"""Words for sessions of a conversation, counted from the first or back from now: `our first session`, `three sessions
ago`, `sessions 2 through 4`, `the last time we spoke`. Which times these are, recall says.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from perdure.text.number_words import FiguredText

_FEW: Final = {"a couple of": 2, "couple of": 2, "couple": 2, "a few": 3, "few": 3, "several": 3}

_GAP: Final = r"\s{1,4}"
_SESSION: Final = "(?:session|conversation|chat|talk|discussion|sitting)"
_WE_SPOKE: Final = (
    "(?:(?:we|you and i|i and you)(?: ever)?{} (?:spoke|talked|chatted|met|had a (?:chat|talk|conversation))"
    "|i(?: ever)?{} (?:spoke|talked|chatted) (?:to|with) you)"
)
_LAST: Final = "(?:last|previous|prior|most recent|latest|final)"
_OURS: Final = "(?:(?:the|our|my|your|these|those) )?"
# Numbers stand here in figures: `our first session` is `our 1st session`.
_COUNT: Final = rf"(?:[0-9]{{1,3}}|{'|'.join(_FEW)})"
_NTH: Final = "[0-9]{1,3}(?:st|nd|rd|th)"
_UP_TO: Final = rf"(?:(?: (?:through|thru|to|until|till|and|or) |\s?[-–]\s?){_OURS}"  # noqa: RUF001
_LEAD: Final = (
    "(?:(?P<bound>before|since|after|until|till|in|during|over|from|between|at|of|on|within|throughout|about) )?"
    f"{_OURS}(?:very )?"
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
    if not _ANYTHING.search(text):
        return ()
    figured = FiguredText(text)
    for match in _ANY.finditer(figured.text):
        if _THEIRS.search(figured.text, max(0, match.start() - 12), match.start()):
            continue
        start, end = map(figured.original, match.span())
        first, last, back = _read(match)
        bound = (match["bound"] or "").lower()
        bound = {"till": "until"}.get(bound, bound) if bound in _BOUNDS else ""
        found.append(SessionRange(first, last, back, bound, start, end, " ".join(text[start:end].split())))
    return tuple(found)


def _read(match: re.Match[str]) -> tuple[int, int, bool]:
    """The first and the last of the sessions, and whether they are counted back from now."""
    given = {name: value.lower() for name, value in match.groupdict().items() if value}
    if "this" in given:
        return 0, 0, True
    if "several" in given:
        return 1, max(1, _number(given["several"])), given["which"] != "1st"
    counted_back = given.get("ago") or given.get("from_last") or ("2" if "before_last" in given else None)
    first = _number(counted_back or given.get("span") or given.get("nth") or given.get("nth_time") or "1")
    last = _number(given.get("span_end") or given.get("nth_end") or str(first))
    back = bool(counted_back) or not ({"span", "nth", "nth_time", "first_time"} & given.keys())
    return min(first, last), max(first, last), back


def _number(word: str) -> int:
    """`3`, `3rd`, `a few`; 0 for the zeroth, which is none."""
    digits = re.match("[0-9]+", word)
    return int(digits[0]) if digits else _FEW[" ".join(word.split())]


def _spaced(pattern: str) -> str:
    return pattern.replace(" ", _GAP)


# Most texts have nothing of it, and need no closer look.
_ANYTHING: Final = re.compile(rf"\b(?:{_SESSION}|time|last|first)", re.IGNORECASE)
_BOUNDS: Final = frozenset({"before", "since", "after", "until", "till"})
_ANY: Final = re.compile(
    rf"(?<![\w-]){_spaced(_LEAD)}(?:"
    + "|".join(
        map(
            _spaced,
            (
                rf"(?P<ago>{_COUNT}) {_SESSION}s? ago",
                rf"(?P<before_last>{_SESSION} before (?:the )?last(?: 1)?|penultimate {_SESSION})",
                rf"(?P<from_last>{_NTH})[ -]to[ -]last {_SESSION}",
                rf"sessions? (?:number |no\.? |#)?(?P<span>{_COUNT}){_UP_TO}(?:sessions? )?(?P<span_end>{_COUNT}))?",
                rf"(?P<which>1st|last|past|previous) (?P<several>{_COUNT}) {_SESSION}s",
                rf"(?P<nth>{_NTH})(?: {_SESSION})?{_UP_TO}(?P<nth_end>{_NTH}))? {_SESSION}s?{_WHOLE}",
                rf"(?P<nth_time>{_NTH}) time (?:that )?{_WE_SPOKE.format('', '')}",
                rf"(?P<this>(?:this|current|present) {_SESSION})",
                rf"{_LAST} {_SESSION}{_WHOLE}",
                rf"{_LAST} time (?:that )?{_WE_SPOKE.format('', '')}",
                rf"(?:when )?(?P<first_time>{_WE_SPOKE.format(' 1st', ' 1st')})",
                rf"(?:when )?{_WE_SPOKE.format(' last', ' last')}",
                r"last time(?=\s{0,4}(?:[?.!,;]|$))",
            ),
        )
    )
    + f"){_END}",
    re.IGNORECASE,
)
