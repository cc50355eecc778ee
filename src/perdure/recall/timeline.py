"""Memories in the order of time: how near each is to a time, which ones stand for a long time, and its sessions.

Pure functions. Times are microseconds since 1970. Those of one memory and arrays of many are treated alike, so that a
search from disk and one in memory weigh the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from heapq import heapify, heapreplace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from perdure.clock import to_micros
from perdure.recall.recipe import Recipe
from perdure.recall.relevance import TIME
from perdure.recall.signals import SignalColumn, Values, rounded

if TYPE_CHECKING:
    from perdure.recall.query import ParsedQuery
    from perdure.text.time_expressions import TimeRange

DAY_MICROS: Final = 86_400_000_000
# Outside a time a memory counts so much at its edge, and half of it a month away, or as far away as the time is long:
# what happened is often told days later. Another year hardly counts.
_AT_THE_EDGE: Final = 0.95
_MONTH: Final = 30 * DAY_MICROS
# In a conversation without names for its sessions, what is said after such a pause belongs to the next one.
PAUSE: Final = DAY_MICROS // 4
# About three months away: from there on a match itself counts less, down to three quarters of it.
_FAR: Final = 0.25
# More words than these make a memory no more informative.
_MOST_WORDS: Final = 60

_LONG_AGO: Final = -(1 << 62)
_FAR_AHEAD: Final = 1 << 62

SessionKey: TypeAlias = tuple[int, str | None, str | None]


class Span(NamedTuple):
    """From the first moment of a session to its last. `session` is its id, if it has one."""

    first: int
    last: int
    session: str | None = None


def within(dated: Values, ranges: Iterable[TimeRange]) -> Any:
    """Whether a moment is in one of the ranges; of an array, a mask."""
    inside: Any = dated != dated  # noqa: PLR0124 - false, in the shape of what was given
    for since, until in map(_ends, ranges):
        inside = inside | ((dated >= since) & (dated < until))
    return inside


# What is told of a month counts more than what was told in it.
_MORE_SURELY: Final = 0.2
_YEAR_DAYS: Final = 366


def time_column(dated: Values, ranges: Iterable[TimeRange], weight: float) -> SignalColumn:
    """The signal of the nearest of the ranges. Its raw value is the distance in days."""
    ranges = tuple(ranges)
    share: Any = 0.0 * dated
    days: Any = 0.0 * dated
    for since, until in map(_ends, ranges):
        length = until - since if since > _LONG_AGO and until < _FAR_AHEAD else _MONTH
        # The end of a range does not belong to it.
        before, behind = (since - dated) * (dated < since), (dated - until + 1) * (dated >= until)
        away = before + behind
        near = (away == 0) + (away > 0) * _AT_THE_EDGE / (1.0 + away / max(length, _MONTH))
        days = days + (away / DAY_MICROS - days) * (near > share)
        share = share + (near - share) * (near > share)
    return SignalColumn(days, rounded(share), weight, about=described(ranges))


def with_time(
    columns: Mapping[str, SignalColumn], dated: Values, query: ParsedQuery, recipe: Recipe
) -> dict[str, SignalColumn]:
    """The same signals, where time has its share of the score and everything else the rest; of what is far from the
    time, somewhat less.
    """
    time = time_column(dated, query.time_ranges, recipe.scale * query.time_weight)
    near: Any = time.share
    part = (1 - query.time_weight) * (1 - (_FAR - near) * (near < _FAR))
    lessened = {name: column._replace(weight=column.weight * part) for name, column in columns.items()}
    return lessened | {"time": time}


def time_evidence(dated: Values, query: ParsedQuery, about: Values, says: Values = 0.0) -> SignalColumn:
    """What it says for a memory that it is of the time that the question names. A time alone is no reason: it counts
    as far as the memory is `about` the rest of the question, from 0 to 1. What `says` the name of a month, from 0 to 1,
    is of that month, if it was not told more than a year before or behind it, and more surely than what was told then.
    """
    column = time_column(dated, query.time_ranges, 1.0)
    near: Any = column.raw
    said: Any = says * (near <= _YEAR_DAYS)
    share: Any = column.share
    if query.times is not None and query.times.of_what_was_said:
        share = share * (near == 0)
    weight = TIME * query.time_weight * about * (1.0 + _MORE_SURELY * said)
    return column._replace(share=share + (1.0 - share) * said, weight=weight)


def described(ranges: Iterable[TimeRange]) -> str:
    """`in our first session: 2026-03-14 09:26 to 2026-03-14 10:02`."""
    return "; ".join(f"{span.words}: {span.dates}" for span in ranges)


def informativeness(importance: Values, words: Values, question_share: Values) -> Values:
    """By which of several memories a time is told: the more important one, then the one that says more. What only asks
    says little.
    """
    enough: Any = words - (words - _MOST_WORDS) * (words > _MOST_WORDS)
    return importance * 2 * _MOST_WORDS + enough * (1 - question_share)


def spread(days: Sequence[int], weights: Sequence[float], limit: int) -> list[int]:
    """Of memories in the order of time, the positions of `limit` at most, ascending, spread over the whole time.

    Every day has its turn before another has a second one, as far as the limit goes; a day with more memories has more
    turns. Of memories that follow each other, the one with the highest weight stands for all.
    """
    sizes = [sum(1 for _ in together) for _, together in groupby(days)]
    chosen: list[int] = []
    start = 0
    for size, turns in zip(sizes, allot(sizes, limit), strict=True):
        edges = [start + turn * size // turns for turn in range(turns)] if turns else []
        for first, end in pairwise([*edges, start + size]):
            chosen.append(max(range(first, end), key=weights.__getitem__))
        start += size
    return chosen


def allot(sizes: Sequence[int], limit: int) -> list[int]:
    """How many of each group to take: one of each, then by size; of more groups than there is room for, groups at equal
    steps. No group gives more than it has.
    """
    if len(sizes) >= limit:
        taken = {which * len(sizes) // limit for which in range(limit)}
        return [int(which in taken) for which in range(len(sizes))]
    turns = [1] * len(sizes)
    waiting = [(-size / 2, which) for which, size in enumerate(sizes) if size > 1]
    heapify(waiting)
    for _ in range(min(limit, sum(sizes)) - len(sizes)):
        which = waiting[0][1]
        turns[which] += 1
        left = -sizes[which] / (turns[which] + 1) if turns[which] < sizes[which] else float("inf")
        heapreplace(waiting, (left, which))
    return turns


def sessions_of(moments: Mapping[SessionKey, Sequence[int]]) -> list[Span]:
    """The sessions of conversations, in the order of their beginnings. `moments` are those of each session; of what has
    no session, a pause tells where the next one begins.
    """
    spans: list[Span] = []
    for (_, _, session), given in moments.items():
        ordered = sorted(given)
        pauses = [
            place for place, (one, next_) in enumerate(pairwise(ordered), 1) if session is None and next_ - one > PAUSE
        ]
        edges = pairwise([0, *pauses, len(ordered)])
        spans += (Span(ordered[first], ordered[end - 1], session) for first, end in edges if end > first)
    return sorted(spans, key=lambda span: span[:2])


def _ends(span: TimeRange) -> tuple[int, int]:
    since = _LONG_AGO if span.since is None else to_micros(span.since)
    return since, _FAR_AHEAD if span.until is None else to_micros(span.until)
