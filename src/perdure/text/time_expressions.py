"""Words of time, and the stretch of time they mean: `yesterday`, `in March`, `3 days ago`, `between … and …`.

Everything is reckoned from a `now` that the caller gives, by the clock of a zone: local time, unless the caller names
another. Only English is understood. docs/time.md lists what is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Final, NamedTuple, Protocol, TypeAlias

from perdure.clock import LOCAL, zone_name
from perdure.text.calendar_ranges import DAY, INSTANT, SEASONS, WEEK, elapsed, last
from perdure.text.number_words import FiguredText
from perdure.text.time_words import EXACT_STARTS, FEAST_STARTS, NAMES, TimeWords


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time, `since` included, `until` not; None is open. It stands at `start` to `end` in the text. Both
    are in UTC; `zone` is the one that they were reckoned in.
    """

    since: datetime | None
    until: datetime | None
    start: int
    end: int
    words: str
    zone: tzinfo = UTC

    def __contains__(self, moment: datetime) -> bool:
        return (self.since is None or self.since <= moment) and (self.until is None or moment < self.until)

    @property
    def is_named(self) -> bool:
        """Whether a text about that time may have these words: `in March`, `two years ago` and `next week`, neither
        `last week` nor `before March`.
        """
        return self.since is not None and self.until is not None and _NAMED.search(self.words) is not None

    @property
    def dates(self) -> str:
        """The same in figures: `2026-03-13`, `2026-03-01 to 2026-03-31`, `until 2026-03-14 09:26`."""
        since, until = (moment and _in_zone(moment, self.zone) for moment in (self.since, self.until))
        if since is None:
            return f"until {_figures(until)}" if until else "at any time"
        if until is None:
            return f"from {_figures(since)} on"
        if since.time() != datetime.min.time() or until.time() != datetime.min.time():
            return f"{_figures(since)} to {_figures(until)}"
        final = until - DAY
        return f"{since:%Y-%m-%d}" if final <= since else f"{since:%Y-%m-%d} to {final:%Y-%m-%d}"

    @property
    def zone_name(self) -> str:
        """The zone of its dates, as it is called at that time."""
        moment = self.since or self.until
        return zone_name(_in_zone(moment, self.zone)) if moment else ""


_Open: TypeAlias = tuple[datetime | None, datetime | None, int]


class _Run(NamedTuple):
    """Words with nothing but a blank or a comma between them, and where each begins and ends in the text."""

    words: list[str]
    starts: list[int]
    ends: list[int]


class _RangeWords(TimeWords):
    """Words that may name a time with its bounds: `since Monday`, `between … and …`, `older than 3 days`."""

    def range_at(self, at: int) -> _Open | None:
        """The range whose words begin here, in UTC. Never an error, also where the calendar ends."""
        word = self.word(at)
        if word not in _STARTS and not word[0].isdigit():
            return None
        with suppress(ValueError, OverflowError):
            read = self._between(at) or self._bounded(at) or self._aged(at) or self._simple(at)
            if read:
                since, until, end = read
                return since and since.astimezone(UTC), until and until.astimezone(UTC), end
        return None

    def _between(self, at: int) -> _Open | None:
        """Both ends count in full: `between Monday and Wednesday` has three days."""
        joints = _JOINTS.get(self.word(at))
        first = self.moment(at + 1) if joints else None
        if not joints or first is None or self.word(first[1]) not in joints:
            return self._days_of_month(at, joints) if joints else None
        final = self.moment(first[1] + 1)
        if final is None:
            return None
        if final[0][0] <= first[0][0]:
            # `between Friday and Monday` is the Friday before that Monday, not the one before today.
            first = self.moment(at + 1, final[0][0].astimezone(self.now.tzinfo)) or first
        return min(first[0][0], final[0][0]), max(first[0][1], final[0][1]), final[1]

    def _days_of_month(self, at: int, joints: frozenset[str]) -> _Open | None:
        """`from the third to the seventh of July`: the first day is of the month of the last."""
        at += 1 + (self.word(at + 1) == "the")
        number, final = self.ordinal(at), self.moment(at + 2) if self.word(at + 1) in joints else None
        if number is None or final is None or final[0][1] - final[0][0] != DAY:
            return None
        start = final[0][0].astimezone(self.now.tzinfo).replace(day=number)
        return (start, final[0][1], final[1]) if start < final[0][1] else None

    def _bounded(self, at: int) -> _Open | None:
        bound = self.word(at)
        # `what have we been up to this week` asks for the week.
        if bound == "up" and self.word(at + 1) == "to" and self.words[max(0, at - 1)] not in _UP_TO_SOMETHING:
            at += 1
        elif bound not in _BOUNDS:
            return None
        duration = self.duration(at + 1)
        if duration and duration.unit in _CLOCK_UNITS and self.word(duration.end) == "ago":
            since = until = elapsed(self.now, -duration.length)
            end = duration.end + 1
        else:
            found = self.moment(at + 1)
            if found is None:
                return None
            (since, until), end = found
        match bound:
            case "before":
                return None, since, end
            case "since" | "starting":
                return since, None, end
            case "after":
                return until, None, end
            case _:
                return None, until, end

    def _aged(self, at: int) -> _Open | None:
        """`older than 3 months`, `less than an hour ago`."""
        word = self.word(at)
        duration = self.duration(at + 2) if word in _AGES and self.word(at + 1) == "than" else None
        if duration is None:
            return None
        end = duration.end + (self.word(duration.end) in {"ago", "old"})
        if word in {"more", "less"} and end == duration.end:
            return None
        moment = elapsed(self.now, -duration.length)
        return (None, moment, end) if word in {"older", "more"} else (moment, None, end)

    def _simple(self, at: int) -> _Open | None:
        word = self.word(at)
        behind = self.word(at + 1 + (self.word(at + 1) == "the"))
        whole = behind == "weekend" or (behind in FEAST_STARTS and word in {"at", "over"})
        whole = whole or (behind in SEASONS and word == "over")
        if word in _INSIDE or word in _ABOUT or (word in _DURING and whole):
            found = self.moment(at + 1)
        else:
            found = self.exact(at + 1 if word in _DURING else at)
        if found is None:
            return None
        (since, until), end = found
        if word in _ABOUT:
            wider = min(until - since, WEEK)
            return since - wider, until + wider, end
        onwards = word == "from" and self.word(end) in {"on", "onward", "onwards"}
        return (since, None, end + 1) if onwards else (since, until, end)


def find_time_ranges(text: str, now: datetime, zone: tzinfo = LOCAL) -> tuple[TimeRange, ...]:
    """Every range of time that the text names, in the order of the text, none inside another. Never an error."""
    now = _in_zone(now, zone)
    ranges: list[TimeRange] = []
    figured = FiguredText(text)
    for run in _runs(figured.text):
        at = 0
        words = _RangeWords(run.words, now)
        while at < len(run.words):
            read = words.range_at(at)
            if read is None:
                at += 1
                continue
            since, until, after = read
            start, end = figured.original(run.starts[at]), figured.original(run.ends[after - 1])
            ranges.append(TimeRange(since, until, start, end, " ".join(text[start:end].split()), zone))
            at = after
    return tuple(ranges)


def read_time_range(text: str, now: datetime, zone: tzinfo = LOCAL, *, ahead: bool = False) -> TimeRange | None:
    """The range that a text means, if it holds nothing but words of time; also `March`, `2025`, and `24h`, which is the
    time since then. `ahead`: `Friday` is the following one, `24h` are the next ones.
    """
    now, stripped = _in_zone(now, zone), text.strip()
    for phrase in (stripped, f"in {stripped}", f"on {stripped.title()}", f"from {stripped}"):
        figured = FiguredText(phrase).text
        runs = [*_runs(figured)]
        if len(runs) != 1 or runs[0].starts[0] != 0 or runs[0].ends[-1] != len(figured):
            continue
        words = _RangeWords(runs[0].words, now, ahead=ahead)
        read = words.range_at(0)
        if read and read[2] == len(words.words):
            return TimeRange(*read[:2], 0, len(phrase), " ".join(phrase.split()), zone)
        duration = words.duration(0)
        if duration and duration.end == len(words.words) and duration.high:
            with suppress(OverflowError):
                since, until = last(duration.length, now)
                if ahead:
                    since, until = elapsed(now, INSTANT), elapsed(now, duration.length)
                return TimeRange(since, until, 0, len(phrase), stripped, zone)
    return None


def read_moment(
    text: str, now: datetime, zone: tzinfo = LOCAL, *, until: bool = False, ahead: bool = False
) -> datetime | None:
    """The moment that a text means: of a day, a week or a month its beginning, for `until` its end. `3d`, `3 days` and
    `2 hours ago` count from now to the second; a span lies in the past, or `ahead`, as `in 3 days` does. `ahead`, the
    end of a month is its end.
    """
    now = _in_zone(now, zone)
    if text.strip().lower() == "now":
        return now.astimezone(UTC)
    counted = _counted(FiguredText(text.strip()).text, now, ahead=ahead)
    if counted is not None:
        return counted
    range = read_time_range(text, now, zone, ahead=ahead)
    if range is None:
        return None
    # A time of day is a moment.
    exact = range.since and range.until and range.until - range.since <= _MINUTE
    # What expires at the end of March does so when March is over.
    to_the_end = until or (ahead and _AT_THE_END.match(text.strip()))
    return range.until if to_the_end and not exact else range.since


class Mention(Protocol):
    """Words that stand at `start` to `end` in a text."""

    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...


def without_mentions(text: str, mentions: Iterable[Mention]) -> str:
    """What is left of the text when these are taken out."""
    parts: list[str] = []
    start = 0
    for span in sorted(mentions, key=lambda mention: mention.start):
        parts.append(text[start : span.start])
        start = span.end
    return " ".join([*parts, text[start:]])


def _counted(text: str, now: datetime, *, ahead: bool) -> datetime | None:
    runs = [*_runs(text)]
    if len(runs) != 1 or len(text) != runs[0].ends[-1] - runs[0].starts[0]:
        return None
    words = TimeWords(runs[0].words, now)
    inside = words.word(0) == "in"
    duration = words.duration(int(inside))
    if duration is None or duration.low != duration.high:
        return None
    rest = " ".join(words.words[duration.end :])
    if rest == "ago" and duration.unit not in _CLOCK_UNITS:
        return None
    directions = {"": 1 if ahead or inside else -1, "ago": -1, "from now": 1, "hence": 1}
    if rest not in directions or (inside and rest):
        return None
    try:
        return elapsed(now, directions[rest] * duration.length)
    except OverflowError:
        return None


def _in_zone(moment: datetime, zone: tzinfo) -> datetime:
    """In UTC where the calendar ends: the year 1 has no evening before it."""
    try:
        return moment.astimezone(zone)
    except OverflowError:
        return moment.astimezone(UTC)


def _runs(text: str) -> Iterator[_Run]:
    """Numbers and dates stay whole: no reader sees a part of `1.5`."""
    run = _Run([], [], [])
    for match in _TOKEN.finditer(text):
        start, token = match.start(), match[0]
        if run.words and not _GAP.fullmatch(text, run.ends[-1], min(start, run.ends[-1] + _WIDEST_GAP + 1)):
            yield run
            run = _Run([], [], [])
        for part in _parts(token):
            run.words.append(part)
            run.starts.append(start)
            run.ends.append(start + len(part))
            start += len(part) + 1
    if run.words:
        yield run


def _parts(token: str) -> list[str]:
    """`mid-June` is two words; `march-hare` is one."""
    first, _, rest = token.partition("-")
    return [first, rest] if rest and first.lower() in _BEFORE_HYPHEN else [token]


def _figures(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}" if moment.time() == datetime.min.time() else f"{moment:%Y-%m-%d %H:%M}"


_MINUTE: Final = timedelta(minutes=1)
_AT_THE_END: Final = re.compile(r"(?:the\s+)?end\s+of\b", re.IGNORECASE)
_CLOCK_UNITS: Final = frozenset("smh")
_BEFORE_HYPHEN: Final = frozenset(("early", "mid", "late"))
_JOINTS: Final = {"between": frozenset(("and",)), "from": frozenset(("to", "until", "till", "through"))}
_BOUNDS: Final = frozenset("before since starting after until till".split())
_UP_TO_SOMETHING: Final = frozenset("been get getting got i we you".split())
_AGES: Final = frozenset("older newer younger more less".split())
_INSIDE: Final = frozenset("in on during from toward towards".split())
_DURING: Final = frozenset("of over within for at".split())
_ABOUT: Final = frozenset("around roughly approximately".split())
_STARTS: Final = frozenset(("the", "up", *_JOINTS, *_BOUNDS, *_AGES, *_INSIDE, *_DURING, *_ABOUT, *EXACT_STARTS))

# Signs inside a number or a date belong to it, and so do hyphens between words.
_TOKEN: Final = re.compile(r"(?<!['’])\b\w+(?:(?:-|(?<=[0-9])[.,:/+](?=[0-9]))\w+)*")  # noqa: RUF001
_WIDEST_GAP: Final = 6
_GAP: Final = re.compile(r"(?:['’]s)?[\s,]{1,4}")  # noqa: RUF001 - `New Year's Eve`, as it is written
_NAMED: Final = re.compile(
    rf"\b(?:{'|'.join(NAMES)}|tomorrow|next|q[1-4]|(?:19|20)[0-9]{{2}})\b|(?:19|20)[0-9]{{2}}-|\bago$|\bfrom now$",
    re.IGNORECASE,
)
