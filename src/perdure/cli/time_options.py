"""Times on the command line: options that take one, and how long ago something was."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Any

from perdure.clock import age, format_local, parse_time, system_clock
from perdure.validation import check_period

if TYPE_CHECKING:
    import click


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


def stamp(time: datetime) -> str:
    """A time for people: to the second, in their zone, and how long ago that is."""
    return f"{format_local(time)} ({age(time)})"
