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


class SayingOrigin(NamedTuple):
    """Where something was said: a text that stands for the conversation, and whether what it says there is trusted."""

    conversation: str = ""
    is_trusted: bool = True

    def may_end(self, held: Iterable[SayingOrigin]) -> bool:
        """What is of low trust ends nothing that was said with more trust in another conversation."""
        return self.is_trusted or not any(one.is_trusted and one.conversation != self.conversation for one in held)


class Saying(NamedTuple):
    """One thing that was said once. `wording` tells the facts apart that make the same assertion. `is_own`: by whom it
    is about.
    """

    moment: Moment
    assertion: Assertion
    wording: str
    is_own: bool = True
    origin: SayingOrigin = SayingOrigin()


@dataclass(frozen=True, slots=True)
class Lifespan:
    """While something holds: from the first time it was said until something else was. `said` are the times it was
    said meanwhile. `is_own`: whom it is about said so themselves. Not `is_trusted`: all that says so is of low trust.
    """

    assertion: Assertion
    wording: str
    said: tuple[Moment, ...]
    end: Moment | None
    is_own: bool = True
    is_trusted: bool = True

    def holds_what(self, saying: Saying) -> bool:
        return (saying.assertion, saying.wording) == (self.assertion, self.wording) and saying.moment in self.said

    def ends(self, other: Lifespan) -> bool:
        """Whether the other ends because of what was said here."""
        return other.end in self.said and self.assertion.contradicts(other.assertion)

    def leaves_undecided(self, other: Lifespan) -> bool:
        """Whether both hold, were said at one moment, by different people or with different trust, and cannot both be
        true.
        """
        both_hold = self.end is None and other.end is None
        standing, other_standing = (self.is_own, self.is_trusted), (other.is_own, other.is_trusted)
        are_level = standing == other_standing and set(self.said).isdisjoint(other.said)
        return both_hold and self.assertion.contradicts(other.assertion) and not are_level


def lifespans(sayings: Iterable[Saying], ends: Mapping[tuple[Assertion, str], Iterable[Moment]]) -> list[Lifespan]:
    """By wording, the oldest first. `ends`: when a wording ended for another reason than what was said. What is said at
    the moment at which it would end goes on. What somebody said of themselves is not ended by what others say, and what
    is trusted not by what another conversation of low trust says.
    """
    said: defaultdict[Assertion, list[Saying]] = defaultdict(list)
    worded: defaultdict[tuple[Assertion, str], list[Saying]] = defaultdict(list)
    for saying in sayings:
        said[saying.assertion].append(saying)
        worded[saying.assertion, saying.wording].append(saying)
    found: list[Lifespan] = []
    for (assertion, wording), group in worded.items():
        is_own = any(saying.is_own for saying in group)
        origins = _origins(group)
        contrary = _origins(
            saying
            for other, others in said.items()
            if other.contradicts(assertion)
            for saying in others
            if saying.is_own or not is_own
        )
        others = set(ends.get((assertion, wording), ()))
        breaks = sorted((contrary.keys() | others) - {saying.moment for saying in said[assertion]})
        times = sorted(origins)
        start = 0
        while start < len(times):
            end, stop = None, len(times)
            for moment in breaks[bisect_right(breaks, times[start]) :]:
                until = bisect_left(times, moment)
                held = [origin for time in times[start:until] for origin in origins[time]]
                if moment in others or any(origin.may_end(held) for origin in contrary[moment]):
                    end, stop = moment, until
                    break
            is_trusted = any(origin.is_trusted for time in times[start:stop] for origin in origins[time])
            found.append(Lifespan(assertion, wording, tuple(times[start:stop]), end, is_own, is_trusted))
            start = stop
    return found


def _origins(sayings: Iterable[Saying]) -> dict[Moment, list[SayingOrigin]]:
    found: defaultdict[Moment, list[SayingOrigin]] = defaultdict(list)
    for saying in sayings:
        found[saying.moment].append(saying.origin)
    return found
