"""Dates in figures: `2026-03-14`, `2026-03-14 09:26 UTC`, `14.03.2026`, `2026-Q1`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

from perdure.text.calendar_ranges import Stretch, date_of, day, months, quarter

_MONTHS_A_YEAR: Final = 12
_ISO: Final = re.compile(r"((?:19|20)[0-9]{2}-[0-9]{2}-[0-9]{2})(?:t([0-9]{2}:[0-9.:z+-]+))?")
_TIME_OF_DAY: Final = re.compile(r"[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]{1,6})?)?(?:z|[+-][0-9]{2}:?[0-9]{2})?")
_DATES: Final = (
    re.compile(r"(?P<year>(?:19|20)[0-9]{2})/(?P<month>[0-9]{1,2})/(?P<day>[0-9]{1,2})"),
    re.compile(r"(?P<day>[0-9]{1,2})\.(?P<month>[0-9]{1,2})\.(?P<year>(?:19|20)[0-9]{2})"),
)
_EITHER_WAY: Final = re.compile(r"([0-9]{1,2})[/-]([0-9]{1,2})[/-]((?:19|20)[0-9]{2})")
_YEAR_AND_MONTH: Final = re.compile(r"((?:19|20)[0-9]{2})-([0-9]{2})")
_YEAR_AND_QUARTER: Final = re.compile(r"((?:19|20)[0-9]{2})-q([1-4])")


def read_date(words: Sequence[str], at: int, now: datetime) -> tuple[Stretch, int] | None:
    """The date that is this word, with a time of day behind it, and where it ends. `words` are in lower case."""
    iso = _ISO.fullmatch(words[at])
    if iso is None:
        written = _read_written_date(words[at], now)
        return (written, at + 1) if written else None
    date, time, end = iso[1], iso[2] or "", at + 1
    if not time and words[end : end + 1] and _TIME_OF_DAY.fullmatch(words[end]):
        time, end = words[end], end + 1
        if words[end : end + 1] and words[end] in {"utc", "gmt", "z"}:
            time, end = f"{time}z", end + 1
    moment = datetime.fromisoformat(f"{date}t{time}".upper() if time else date)
    moment = moment.replace(tzinfo=now.tzinfo) if moment.tzinfo is None else moment
    if not time:
        return day(moment), end
    start = moment.astimezone(UTC)
    return (start, start + timedelta(minutes=1 if re.split("[z+-]", time)[0].count(":") == 1 else 1 / 60)), end


def _read_written_date(word: str, now: datetime) -> Stretch | None:
    """`2026/03/14`, `14.03.2026`, `03/14/2026`, `2026-03`, `2026-Q1`."""
    for pattern in _DATES:
        if match := pattern.fullmatch(word):
            return date_of(int(match["year"]), int(match["month"]), int(match["day"]), now)
    if match := _EITHER_WAY.fullmatch(word):
        first, second = sorted((int(match[1]), int(match[2])))
        # 03/04/2026 is a day in March or in April, depending on who writes it.
        return None if first != second <= _MONTHS_A_YEAR else date_of(int(match[3]), first, second, now)
    if match := _YEAR_AND_MONTH.fullmatch(word):
        return months(int(match[1]), int(match[2]), 1, now) if 1 <= int(match[2]) <= _MONTHS_A_YEAR else None
    match = _YEAR_AND_QUARTER.fullmatch(word)
    return quarter(int(match[1]), int(match[2]), now) if match else None
