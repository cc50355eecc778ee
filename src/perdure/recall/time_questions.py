"""What a question says about time: times of the calendar, sessions of a conversation, events that memories tell of.

A question that asks for a time and nothing else is answered by what is of that time. Pure functions.
"""

from __future__ import annotations

import re
from calendar import month_name
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

from perdure.clock import LOCAL, from_micros
from perdure.model import Hit, Record
from perdure.recall.timeline import Span
from perdure.text.calendar_ranges import INSTANT, day
from perdure.text.discourse import asks_what_was_said, content_words
from perdure.text.entry import columns_of
from perdure.text.event_expressions import EventMention, find_event
from perdure.text.preview import when
from perdure.text.session_expressions import SessionRange, find_session_ranges
from perdure.text.time_expressions import TimeRange, find_time_ranges, without_mentions
from perdure.text.words import all_words, terms

NO_SESSION: Final = "There is no such session: {}. There are {}."
NO_EVENT: Final = "No memory tells when this was: {}. It did not count as a time."
READ_AS: Final = "“{}” was read as {}."

_MONTHS: Final = frozenset(name.lower() for name in month_name if name)
_ASKS_FOR_PLANS: Final = re.compile(
    r"(?!.*\b(?:did|was|were|had|happened|discussed|said|told|mentioned)\b).*\b(?:am|is|are|do|does|will|shall|going)\b",
    re.IGNORECASE | re.DOTALL,
)
_SHORTEST_MONTH: Final = timedelta(days=27)
_VAGUE: Final = re.compile("(?:recently|lately)$", re.IGNORECASE)
# Nobody said which session this is: whoever spoke so lately is still speaking.
_GOING_ON: Final = timedelta(minutes=30)
# A memory tells of what was lately; a date further away from its own is more likely a plan, or another year.
_LATELY: Final = timedelta(days=60)
_SHORT_TEXT: Final = 500
# A memory tells of an event when it holds more than half of its words, or is so near to it in meaning.
_MOST_WORDS: Final = 0.5
_NEAR: Final = 0.5
# Matches more than 7 days apart are different events; a second match with 0.7 of the best score makes the event
# ambiguous.
_SAME_TIME: Final = timedelta(days=7)
_RIVAL: Final = 0.7


@dataclass(frozen=True, slots=True)
class TimeQuestion:
    """`ranges` are the times that the question names by the calendar; which times `sessions` and `event` are, only
    memories can tell. `other_words` are the words that ask for something beside the time, `rest` is the question
    without the words of time that no memory of that time would hold.
    """

    ranges: tuple[TimeRange, ...]
    sessions: tuple[SessionRange, ...]
    event: EventMention | None
    other_words: tuple[str, ...]
    rest: str
    text: str

    @property
    def of_what_was_said(self) -> bool:
        """Whether it asks what was said then: that is of that time alone, where what happened is often told later."""
        return asks_what_was_said(self.text)

    @property
    def content(self) -> str:
        """The question without any words of time."""
        return without_mentions(self.text, [*self.ranges, *self.sessions, *([self.event] if self.event else ())])


def read_time_question(text: str, now: datetime) -> TimeQuestion | None:
    """None where it says nothing about time. Never an error, whatever the text."""
    every_range = find_time_ranges(text, now)
    # `What did she buy recently?` asks for something and for what is new of it, which is no time.
    asks_more = bool(every_range and content_words(without_mentions(text, every_range)))
    ranges = tuple(span for span in every_range if not (asks_more and _VAGUE.search(span.words)))
    taken = [(span.start, span.end) for span in ranges]
    sessions = tuple(
        found
        for found in find_session_ranges(text)
        if not any(found.start < end and start < found.end for start, end in taken)
    )
    taken += ((found.start, found.end) for found in sessions)
    event = find_event(text, tuple(taken))
    if not taken and event is None:
        return None
    # `yesterday` is no word of a memory of that day; `March` may be.
    rest = without_mentions(text, [*sessions, *(span for span in ranges if not span.is_named)])
    asked = TimeQuestion(ranges, sessions, event, (), rest, text)
    words = content_words(asked.content)
    if not words and ranges and all(month_of(span) for span in ranges) and _ASKS_FOR_PLANS.search(text):
        # `What are we doing in August?` asks for what was told of August, and not for all that was told then.
        words = tuple(all_words(asked.content))
    return replace(asked, other_words=words)


def month_of(span: TimeRange) -> str | None:
    """The name of the month that a time is called by, if it is one month."""
    named = [word for word in all_words(span.words) if word in _MONTHS]
    is_whole = bool(span.since and span.until and span.until - span.since >= _SHORTEST_MONTH)
    return named[0] if len(named) == 1 and is_whole else None


def session_time(asked: SessionRange, sessions: Sequence[Span], now: datetime, session: str | None) -> TimeRange | None:
    """The time of the sessions that are asked for, of all in their order; None when there are not so many. `session`
    is the one in which it is asked, if it is known: `the last session` is then the one before.
    """
    first, last = asked.first - 1, asked.last - 1
    if asked.back:
        lately = bool(sessions) and from_micros(sessions[-1].last) >= now - _GOING_ON
        going_on = bool(sessions) and sessions[-1].session == session if session else lately
        newest = len(sessions) - 1 if going_on else len(sessions)
        first, last = newest - asked.last, newest - asked.first
        # Nothing is going on: the latest is what comes nearest to it.
        first, last = min(first, len(sessions) - 1), min(last, len(sessions) - 1)
    meant = sessions[max(first, 0) : last + 1] if last >= 0 else ()
    if not meant:
        return None
    since, until = from_micros(meant[0].first), from_micros(max(span.last for span in meant)) + INSTANT
    return _bounded(asked.bound, since, until, asked)


def tells_of(hit: Hit, asked: EventMention) -> bool:
    """Whether a memory tells of the event, and not only of something like it."""
    stems = set(terms(" ".join(content_words(asked.event))))
    held = stems.intersection(terms("\n".join(columns_of(hit.record))))
    meaning = hit.explain.get("vector")
    return len(held) > _MOST_WORDS * len(stems) or (meaning is not None and meaning.raw >= _NEAR)


def memory_of_event(hits: Iterable[Hit], asked: EventMention, *, alone: bool) -> Record | None:
    """The memory that says when the event was. Where more is asked than its time, it must be the only one: `the walk`
    of which several memories tell has no time.
    """
    tellers = [hit for hit in hits if tells_of(hit, asked)]
    if not tellers:
        return None
    best = tellers[0]
    rivals = [hit for hit in tellers if abs(when(hit.record) - when(best.record)) > _SAME_TIME]
    unclear = any(hit.score >= _RIVAL * best.score for hit in rivals)
    return None if unclear and not alone else best.record


def event_time(asked: EventMention, memory: Record) -> TimeRange:
    """The time of an event, from the memory that tells of it: the time that this one names, else its own day."""
    said = when(memory)
    its_day = day_of(said)
    since, until = its_day.since or said, its_day.until or said
    named = find_time_ranges(memory.text, said) if len(memory.text) <= _SHORT_TEXT else ()
    if len(named) == 1 and named[0].since and named[0].until:
        exact = str(named[0].since.year) in named[0].words
        if exact or (said - _LATELY <= named[0].since and named[0].since <= said):
            since, until = named[0].since, named[0].until
    # What was told on the same day may be of before as well as of after.
    if asked.relation == "before":
        since = until
    elif asked.relation == "after":
        until = since
    elif asked.relation == "when":
        with suppress(OverflowError):
            since, until = since - _SAME_TIME, until + _SAME_TIME
    return _bounded(asked.relation, since, until, asked, f" (memory #{memory.number})")


def day_of(moment: datetime) -> TimeRange:
    """The whole day of a moment, in local time."""
    try:
        since, until = day(moment.astimezone(LOCAL))
        return TimeRange(since.astimezone(UTC), until.astimezone(UTC), 0, 0, "", LOCAL)
    except OverflowError:  # the first or the last day of the calendar
        return TimeRange(moment, moment + INSTANT, 0, 0, "", LOCAL)


def _bounded(
    bound: str, since: datetime, until: datetime, asked: SessionRange | EventMention, source: str = ""
) -> TimeRange:
    ends: dict[str, tuple[datetime | None, datetime | None]] = {
        "before": (None, since),
        "since": (since, None),
        "after": (until, None),
        "until": (None, until),
    }
    first, last = ends.get(bound, (since, until))
    return TimeRange(first, last, asked.start, asked.end, asked.words + source, LOCAL)
