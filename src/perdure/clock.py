"""Time, injected everywhere, as aware UTC datetimes; stored as whole microseconds since 1970.

People say and read times in the zone of the process, `LOCAL`: a time without a zone is local time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, timedelta, tzinfo
from typing import Final, TypeAlias

from perdure.errors import InvalidInput, shown
from perdure.text.patterns import pattern

Clock: TypeAlias = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)
# A zone's own short name, such as CET. Some systems have long names, or figures, instead.
_LONGEST_ZONE_NAME: Final = 5
_TIMES_UNDERSTOOD: Final = (
    "Use words such as 'yesterday', 'last week', '3 days ago' or 'March 2025', a span such as 3d or 24h, or a date "
    "such as 2026-03-14 or 2026-03-14T09:26:53Z. Nothing was changed."
)
# In seconds: how long each is, and from where on it is said.
_LENGTHS: Final = (
    ("year", 365 * 86400, 365 * 86400), ("month", 30 * 86400, 60 * 86400), ("week", 7 * 86400, 14 * 86400),
    ("day", 86400, 86400), ("hour", 3600, 3600), ("minute", 60, 60),
)  # fmt: skip
_EITHER_DAY: Final = pattern(r"([0-9]{1,2})[/-]([0-9]{1,2})[/-]([0-9]{4})")


class _LocalZone(tzinfo):
    """The zone of the process, with the rules that the system has for each date."""

    def utcoffset(self, dt: datetime | None, /) -> timedelta | None:
        return None if dt is None else _on_this_system(dt).utcoffset()

    def tzname(self, dt: datetime | None, /) -> str | None:
        return None if dt is None else _on_this_system(dt).tzname()

    def dst(self, dt: datetime | None, /) -> timedelta | None:
        del dt  # the system does not say which part of the offset is summer time

    def fromutc(self, dt: datetime, /) -> datetime:
        there = _by_the_system(dt.replace(tzinfo=UTC))
        here = there.replace(tzinfo=self)
        # The hour that a clock shows twice: the later one of the two.
        return here if here.utcoffset() == there.utcoffset() else here.replace(fold=1)


def _by_the_system(moment: datetime) -> datetime:
    """An aware moment in the zone of the process. At the ends of the calendar, where the system has none, as it is."""
    try:
        return moment.astimezone()
    except (ValueError, OverflowError, OSError):
        return moment


def _on_this_system(moment: datetime) -> datetime:
    """The same time of day with the system's offset. At the ends of the calendar, where the system has none, UTC."""
    try:
        return moment.replace(tzinfo=None).astimezone()
    except (ValueError, OverflowError, OSError):
        return moment.replace(tzinfo=UTC)


LOCAL: Final[tzinfo] = _LocalZone()


def system_clock() -> datetime:
    return datetime.now(UTC)


def aware(clock: Clock) -> datetime:
    """The time by a clock of the caller's. One without a zone cannot be compared with those that are stored."""
    moment = clock()
    if moment.tzinfo is None:
        raise InvalidInput("The clock gives a time without a zone.", remedy="Use `datetime.now(UTC)`.")
    return moment


def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + micros * _MICROSECOND


def format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def zone_name(moment: datetime) -> str:
    """The zone of an aware moment, for people: `CET`, `UTC`, `UTC+13:45`."""
    name = moment.tzname() or ""
    if name.isalpha() and len(name) <= _LONGEST_ZONE_NAME:
        return name
    offset = f"{moment:%z}"
    return f"UTC{offset[:3]}:{offset[3:5]}"


def format_local(moment: datetime, pattern: str = "%Y-%m-%d %H:%M:%S") -> str:
    """A moment for people, in their own time, with the zone: `2026-03-14 09:26:53 CET`."""
    here = moment.astimezone(LOCAL)
    return f"{here:{pattern}} {zone_name(here)}"


def local_day(moment: datetime) -> str:
    """The day of an aware moment in the zone of the process; at the ends of the calendar, as it is."""
    try:
        return date.fromtimestamp(moment.timestamp()).isoformat()  # noqa: DTZ012 - in the zone of the process
    except (ValueError, OverflowError, OSError):
        return moment.date().isoformat()


def age(time: datetime, now: datetime | None = None) -> str:
    """`3 days ago`, `in 2 weeks`, `just now`."""
    seconds = ((now or system_clock()) - time).total_seconds()
    # What is to be in 90 days is said a moment later. What was a moment ago is no minute yet.
    distance = int(abs(seconds)) if abs(seconds) < 60 else int(abs(seconds) + 30) // 60 * 60  # noqa: PLR2004
    for word, length, least in _LENGTHS:
        if distance >= least:
            count = (distance + length // 2) // length
            told = f"{count} {word}{'' if count == 1 else 's'}"
            return f"{told} ago" if seconds > 0 else f"in {told}"
    return "just now"


def parse_time(
    value: datetime | str, field: str, now: datetime | Clock | None = None, *, until: bool = False, ahead: bool = False
) -> datetime:
    """A datetime, ISO 8601, or a time in words, reckoned from `now`, which may be a clock. Without a zone it is local
    time. Of a day, a week or a month the beginning counts, for `until` the end. A span such as 3d lies in the past, or
    `ahead`. Anything else is an error that names the field.
    """
    try:
        moment = parse_iso_time(value, until=until) if isinstance(value, str) else value
        if moment is None and now is not None and isinstance(value, str):
            from perdure.text.time_expressions import read_moment

            moment = read_moment(value, now() if callable(now) else now, until=until, ahead=ahead)
        if moment is not None:
            return (moment.replace(tzinfo=LOCAL) if moment.tzinfo is None else moment).astimezone(UTC)
        cause = None
    except (ValueError, OverflowError, AttributeError, TypeError) as error:
        cause = error
    either = _EITHER_DAY.fullmatch(value.strip()) if isinstance(value, str) else None
    remedy = _TIMES_UNDERSTOOD
    if either:
        # Which number is the month depends on who writes it.
        first, second, year = either[1].zfill(2), either[2].zfill(2), either[3]
        remedy = f"Write {year}-{first}-{second} or {year}-{second}-{first}. Nothing was changed."
    raise InvalidInput(f"{field} is not a time that is understood: {shown(value)}.", remedy=remedy) from cause


def parse_iso_time(text: str, *, until: bool) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text.strip())
    except ValueError:
        return None
    with suppress(ValueError):
        # Without a time of day it is the whole day.
        date.fromisoformat(text.strip())
        return moment + timedelta(days=1) if until else moment
    return moment
