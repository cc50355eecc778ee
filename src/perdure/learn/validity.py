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
    """One thing that was said once. `wording` tells the facts apart that make the same assertion."""

    moment: Moment
    assertion: Assertion
    wording: str


@dataclass(frozen=True, slots=True)
class Lifespan:
    """While something holds: from the first time it was said until something else was. `said` are the times it was
    said meanwhile.
    """

    assertion: Assertion
    wording: str
    said: tuple[Moment, ...]
    end: Moment | None

    def holds_what(self, saying: Saying) -> bool:
        return (saying.assertion, saying.wording) == (self.assertion, self.wording) and saying.moment in self.said

    def ends(self, other: Lifespan) -> bool:
        """Whether the other ends because of what was said here."""
        return other.end in self.said and self.assertion.contradicts(other.assertion)

    def leaves_undecided(self, other: Lifespan) -> bool:
        """Whether both hold, were said at one moment, and cannot both be true."""
        both_hold = self.end is None and other.end is None
        return both_hold and self.assertion.contradicts(other.assertion) and not set(self.said).isdisjoint(other.said)


def lifespans(sayings: Iterable[Saying], ends: Mapping[tuple[Assertion, str], Iterable[Moment]]) -> list[Lifespan]:
    """By wording, the oldest first. `ends`: when a wording ended for another reason than what was said. What is said at
    the moment at which it would end goes on.
    """
    said: defaultdict[Assertion, set[Moment]] = defaultdict(set)
    worded: defaultdict[tuple[Assertion, str], set[Moment]] = defaultdict(set)
    for moment, assertion, wording in sayings:
        said[assertion].add(moment)
        worded[assertion, wording].add(moment)
    contrary = {
        assertion: {moment for other, moments in said.items() if other.contradicts(assertion) for moment in moments}
        for assertion in said
    }
    found: list[Lifespan] = []
    for (assertion, wording), moments in worded.items():
        breaks = sorted((contrary[assertion] | set(ends.get((assertion, wording), ()))) - said[assertion])
        times = sorted(moments)
        start = 0
        while start < len(times):
            place = bisect_right(breaks, times[start])
            end = breaks[place] if place < len(breaks) else None
            stop = len(times) if end is None else bisect_left(times, end)
            found.append(Lifespan(assertion, wording, tuple(times[start:stop]), end))
            start = stop
    return found
