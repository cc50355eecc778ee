"""Time, injected everywhere, as aware UTC datetimes; stored as whole microseconds since 1970."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TypeAlias

from perdure.errors import InvalidInput, shown

Clock: TypeAlias = Callable[[], datetime]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def system_clock() -> datetime:
    return datetime.now(UTC)


def to_micros(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def from_micros(micros: int) -> datetime:
    return _EPOCH + timedelta(microseconds=micros)


def format_time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat().replace("+00:00", "Z")


def parse_time(value: datetime | str, field: str) -> datetime:
    """ISO 8601 or a datetime; without a zone it is UTC. Anything else is an error that names the field."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return moment.astimezone(UTC)
    except (ValueError, OverflowError, AttributeError, TypeError) as error:
        raise InvalidInput(
            f"{field} is not a time: {shown(value)}.",
            remedy="Write it as 2026-03-14 or 2026-03-14T09:26:53Z; nothing was changed.",
        ) from error
