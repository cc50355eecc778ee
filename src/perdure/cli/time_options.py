"""Times on the command line: options that take one, and how long ago something was."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any, Final

from perdure.clock import format_local, parse_time, system_clock
from perdure.validation import check_period

if TYPE_CHECKING:
    import click

# In seconds: how long each is, and from where on it is said.
_LENGTHS: Final = (
    ("year", 365 * 86400, 365 * 86400), ("month", 30 * 86400, 60 * 86400), ("week", 7 * 86400, 14 * 86400),
    ("day", 86400, 86400), ("hour", 3600, 3600), ("minute", 60, 60),
)  # fmt: skip


def time_option(field: str) -> dict[str, Any]:
    """The attributes of an option that takes a time, as the façade reads it."""

    def convert(ctx: click.Context, _parameter: click.Parameter, value: str | None) -> datetime | None:
        if value is None:
            return None
        if field == "until":
            return check_period(ctx.params.get("since"), value, system_clock)[1]
        return parse_time(value, field, system_clock, ahead=field == "expires_at")

    # An eager option is read first: the end is checked against the beginning.
    return {"metavar": "TIME", "callback": convert, "is_eager": field == "since"}


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


def stamp(time: datetime) -> str:
    """A time for people: to the second, in their zone, and how long ago that is."""
    return f"{format_local(time)} ({age(time)})"
