"""Times on the command line: `2026-03-14`, `3d`, `yesterday`; and how long ago something was."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from perdure.clock import parse_time, system_clock

if TYPE_CHECKING:
    import click

_SPAN: Final = re.compile(r"(\d{1,5})\s*(m|h|d|w|mo|y)")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_SECONDS: Final = {"m": 60, "h": 3600, "d": 86400, "w": 7 * 86400, "mo": 30 * 86400, "y": 365 * 86400}
_UNITS: Final = (("year", "y"), ("month", "mo"), ("week", "w"), ("day", "d"), ("hour", "h"), ("minute", "m"))
_DAY: Final = timedelta(days=1)
_DAYS: Final = {"yesterday": -1, "today": 0, "tomorrow": 1}


def time_option(field: str, *, ahead: bool = False, whole_day: bool = False) -> dict[str, Any]:
    """The attributes of an option that takes a time. A span such as 3d lies in the past, or `ahead`; `whole_day`
    counts a date to its end.
    """

    def convert(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> datetime | None:
        return None if value is None else parse_time_option(value, field, ahead=ahead, whole_day=whole_day)

    return {"metavar": "TIME", "callback": convert}


def parse_time_option(value: str, field: str, *, ahead: bool = False, whole_day: bool = False) -> datetime:
    text, now = value.strip(), system_clock()
    word, span = text.lower(), _SPAN.fullmatch(text.lower())
    if word == "now":
        return now
    if span:
        distance = timedelta(seconds=int(span[1]) * _SECONDS[span[2]])
        try:
            return now + distance if ahead else now - distance
        except OverflowError:
            pass
    if word in _DAYS:
        midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
        return midnight + _DAYS[word] * _DAY + (_DAY if whole_day else timedelta(0))
    exact = parse_time(text, field)
    return exact + _DAY - timedelta(microseconds=1) if whole_day and _DATE.fullmatch(text) else exact


def age(time: datetime, now: datetime | None = None) -> str:
    """`3 days ago`, `in 2 weeks`, `just now`."""
    seconds = ((now or system_clock()) - time).total_seconds()
    for word, unit in _UNITS:
        count = int(abs(seconds) // _SECONDS[unit])
        if count:
            distance = f"{count} {word}{'' if count == 1 else 's'}"
            return f"{distance} ago" if seconds > 0 else f"in {distance}"
    return "just now"


def stamp(time: datetime) -> str:
    """A time for people: to the second, and how long ago that is."""
    return f"{time:%Y-%m-%d %H:%M:%S} UTC ({age(time)})"
