"""Since when and until when each of several statements about one thing holds. Pure functions.

What holds follows from all that was said and when, and never from the order in which it became known: a conversation
that is filled in later, or back to front, ends with the same facts as one that was followed while it went on.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from perdure.clock import format_time, parse_iso_time


class Moment(NamedTuple):
    """When something was said. `place` orders messages that have no time of their own but when they were stored: it is
    their position in the conversation, and 0 for the others. Two of one moment are not ordered.
    """

    at: datetime
    place: int = 0

    def __str__(self) -> str:
        return f"{format_time(self.at)} {self.place}" if self.place else format_time(self.at)


def read_moment(text: str) -> Moment | None:
    """What `str` makes of a moment; None for anything else."""
    at, _, place = text.partition(" ")
    moment = parse_iso_time(at, until=False)
    return Moment(moment, int(place or 0)) if moment and moment.tzinfo and (not place or place.isdecimal()) else None


class Assertion(NamedTuple):
    """What a statement says of its slot: the value as it is compared, and whether it is affirmed."""

    value: str
    affirmed: bool = True

    def contradicts(self, other: Assertion) -> bool:
        """Who lives in Oslo does not live in Rome, but who does not live in Rome may live in Oslo. What is denied
        without a value is denied altogether.
        """
        if self.affirmed and other.affirmed:
            return self.value != other.value
        denied = other if self.affirmed else self
        return self.affirmed != other.affirmed and (self.value == other.value or not denied.value)


class Saying(NamedTuple):
    """One thing that was said once. `wording` tells the facts apart that make the same assertion. `is_own`: by whom it
    is about.
    """

    moment: Moment
    assertion: Assertion
    wording: str
    is_own: bool = True


@dataclass(frozen=True, slots=True)
class Lifespan:
    """While something holds: from the first time it was said until something else was. `said` are the times it was
    said meanwhile. `is_own`: whom it is about said so themselves.
    """

    assertion: Assertion
    wording: str
    said: tuple[Moment, ...]
    end: Moment | None
    is_own: bool = True

    def holds_what(self, saying: Saying) -> bool:
        return (saying.assertion, saying.wording) == (self.assertion, self.wording) and saying.moment in self.said

    def ends(self, other: Lifespan) -> bool:
        """Whether the other ends because of what was said here."""
        return other.end in self.said and self.assertion.contradicts(other.assertion)

    def leaves_undecided(self, other: Lifespan) -> bool:
        """Whether both hold, were said at one moment or by different people, and cannot both be true."""
        both_hold = self.end is None and other.end is None
        are_level = self.is_own == other.is_own and set(self.said).isdisjoint(other.said)
        return both_hold and self.assertion.contradicts(other.assertion) and not are_level


def lifespans(sayings: Iterable[Saying], ends: Mapping[tuple[Assertion, str], Iterable[Moment]]) -> list[Lifespan]:
    """By wording, the oldest first. `ends`: when a wording ended for another reason than what was said. What is said at
    the moment at which it would end goes on. What somebody said of themselves is not ended by what others say.
    """
    said: defaultdict[Assertion, set[Moment]] = defaultdict(set)
    said_by_own: defaultdict[Assertion, set[Moment]] = defaultdict(set)
    worded: defaultdict[tuple[Assertion, str], set[Moment]] = defaultdict(set)
    own: set[tuple[Assertion, str]] = set()
    for moment, assertion, wording, is_own in sayings:
        said[assertion].add(moment)
        worded[assertion, wording].add(moment)
        if is_own:
            said_by_own[assertion].add(moment)
            own.add((assertion, wording))
    found: list[Lifespan] = []
    for (assertion, wording), moments in worded.items():
        is_own = (assertion, wording) in own
        others = (said_by_own if is_own else said).items()
        contrary = {moment for other, times in others if other.contradicts(assertion) for moment in times}
        breaks = sorted((contrary | set(ends.get((assertion, wording), ()))) - said[assertion])
        times = sorted(moments)
        start = 0
        while start < len(times):
            place = bisect_right(breaks, times[start])
            end = breaks[place] if place < len(breaks) else None
            stop = len(times) if end is None else bisect_left(times, end)
            found.append(Lifespan(assertion, wording, tuple(times[start:stop]), end, is_own))
            start = stop
    return found
