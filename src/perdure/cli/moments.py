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


def moment(field: str, *, ahead: bool = False, whole_day: bool = False) -> dict[str, Any]:
    """What makes an option take a time. A span lies in the past, or `ahead`; `whole_day` counts a date to its end."""

    def convert(_ctx: click.Context, _parameter: click.Parameter, value: str | None) -> datetime | None:
        return None if value is None else parse_moment(value, field, ahead=ahead, whole_day=whole_day)

    return {"metavar": "TIME", "callback": convert}


def parse_moment(value: str, field: str, *, ahead: bool = False, whole_day: bool = False) -> datetime:
    text = value.strip()
    try:
        relative = _relative(text.lower(), ahead=ahead, whole_day=whole_day)
    except OverflowError:
        relative = None
    if relative is not None:
        return relative
    exact = parse_time(text, field)
    return exact + _DAY - timedelta(microseconds=1) if whole_day and _DATE.fullmatch(text) else exact


def _relative(text: str, *, ahead: bool, whole_day: bool) -> datetime | None:
    now = system_clock()
    span = _SPAN.fullmatch(text)
    if span:
        distance = timedelta(seconds=int(span[1]) * _SECONDS[span[2]])
        return now + distance if ahead else now - distance
    days = {"yesterday": -1, "today": 0, "tomorrow": 1}.get(text)
    if days is None:
        return now if text == "now" else None
    midnight = now.astimezone().replace(hour=0, minute=0, second=0, microsecond=0)
    return midnight + days * _DAY + (_DAY if whole_day else timedelta(0))


def age(moment: datetime, now: datetime | None = None) -> str:
    """`3 days ago`, `in 2 weeks`, `just now`."""
    seconds = ((now or system_clock()) - moment).total_seconds()
    for word, unit in _UNITS:
        count = int(abs(seconds) // _SECONDS[unit])
        if count:
            some = f"{count} {word}{'' if count == 1 else 's'}"
            return f"{some} ago" if seconds > 0 else f"in {some}"
    return "just now"


def stamp(moment: datetime) -> str:
    """A time for people: to the second, and how long ago that is."""
    return f"{moment:%Y-%m-%d %H:%M:%S} UTC ({age(moment)})"
