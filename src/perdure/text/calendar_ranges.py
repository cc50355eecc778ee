"""Days, weeks, months and what else a calendar has, as stretches of time. Pure functions of a moment in its zone.

A stretch is a pair: its beginning, and the beginning of what comes after it. Adding days keeps the time of day, also
where the clock is changed: datetimes of one zone are added and compared by what the clock shows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

Stretch: TypeAlias = tuple[datetime, datetime]

DAY: Final = timedelta(days=1)
WEEK: Final = timedelta(weeks=1)
# The length of the shortest stretch: a single moment.
INSTANT: Final = timedelta(microseconds=1)
WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
# By the month in which each begins, as in the northern half of the world.
SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
PARTS_OF_A_DAY: Final = {
    "morning": (0, 12), "noon": (11, 13), "midday": (11, 13), "afternoon": (12, 18), "evening": (18, 24),
    "night": (18, 24),
}  # fmt: skip
# The month, the day and the length in days; of Easter and Thanksgiving the calendar tells the day.
FEASTS: Final = {
    "christmas": (12, 24, 3), "christmas eve": (12, 24, 1), "christmas day": (12, 25, 1), "new year eve": (12, 31, 1),
    "new year": (1, 1, 1), "new year day": (1, 1, 1), "valentine": (2, 14, 1), "valentine day": (2, 14, 1),
    "halloween": (10, 31, 1), "easter": (0, 0, 4), "thanksgiving": (11, 22, 1),
}  # fmt: skip
LENGTHS: Final = {
    "s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1), "d": DAY, "w": WEEK,
    "fortnight": 2 * WEEK, "mo": timedelta(days=30), "quarter": timedelta(days=91), "y": timedelta(days=365),
}  # fmt: skip
# What a part of a unit is counted in: 1.5 hours are 90 minutes.
_SMALLER: Final = {
    "m": ("s", 60), "h": ("m", 60), "d": ("h", 24), "w": ("d", 7), "fortnight": ("d", 14), "mo": ("d", 30),
    "quarter": ("mo", 3), "y": ("mo", 12),
}  # fmt: skip
_THURSDAY: Final = 3
_SATURDAY: Final = 5
_MONTHS_OF: Final = {"mo": 1, "quarter": 3, "y": 12}


def midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0, fold=0)


def day(moment: datetime) -> Stretch:
    start = midnight(moment)
    return start, start + DAY


def date_of(year: int, month: int, day_of_month: int, now: datetime) -> Stretch:
    return day(now.replace(year=year, month=month, day=day_of_month))


def months(year: int, month: int, count: int, now: datetime) -> Stretch:
    """So many months from this one on; the month may lie outside 1 to 12."""
    first = year * 12 + month - 1
    after = first + count
    start = midnight(now.replace(day=1))
    return (
        start.replace(year=first // 12, month=first % 12 + 1),
        start.replace(year=after // 12, month=after % 12 + 1),
    )


def unit_ago(unit: str, count: float, now: datetime) -> Stretch:
    """The whole day, week, month, quarter or year; of shorter units one around the moment."""
    if count != int(count) and unit in _SMALLER:
        smaller, factor = _SMALLER[unit]
        return unit_ago(smaller, round(count * factor), now)
    count = int(count)
    match unit:
        case "d":
            return day(now - count * DAY)
        case "w" | "fortnight":
            monday = midnight(now - now.weekday() * DAY) - count * LENGTHS[unit]
            return monday, monday + WEEK
        case "mo" | "quarter" | "y":
            size = _MONTHS_OF[unit]
            return months(now.year, (now.month - 1) // size * size + 1 - count * size, size, now)
        case _:
            middle = elapsed(now, -count * LENGTHS[unit])
            return middle - LENGTHS[unit] / 2, middle + LENGTHS[unit] / 2


def elapsed(now: datetime, length: timedelta) -> datetime:
    """So much real time from now, whatever the clocks on the wall did in between."""
    return now.astimezone(UTC) + length


def last(length: timedelta, now: datetime) -> Stretch:
    """The stretch that ends now."""
    return elapsed(now, -length), elapsed(now, INSTANT)


def part_of_day(moment: datetime, part: str) -> Stretch:
    first, after = PARTS_OF_A_DAY[part]
    start = midnight(moment)
    return start + timedelta(hours=first), start + timedelta(hours=after)


def weekend(moment: datetime, weeks_back: int = 0) -> Stretch:
    """Saturday and Sunday of the week of this moment, or of an earlier week."""
    saturday = midnight(moment) + (_SATURDAY - moment.weekday()) * DAY - weeks_back * WEEK
    return saturday, saturday + 2 * DAY


def quarter(year: int, number: int, now: datetime) -> Stretch:
    return months(year, 3 * number - 2, 3, now)


def season(name: str, year: int, now: datetime) -> Stretch:
    """Three months. A winter belongs to the year in which it begins."""
    return months(year, SEASONS[name], 3, now)


def feast(name: str, year: int, now: datetime) -> Stretch:
    month, day_of_month, days = FEASTS[name]
    if name == "easter":
        start = midnight(now.replace(year=year, month=3, day=1)) + (_easter(year) - 2) * DAY  # from Good Friday on
    else:
        start = date_of(year, month, day_of_month, now)[0]
    if name == "thanksgiving":  # the fourth Thursday of November
        start += (_THURSDAY - start.weekday()) % 7 * DAY
    return start, start + days * DAY


def _easter(year: int) -> int:
    """How many days after the first of March Easter Sunday is."""
    century, moon = year // 100, year % 19
    epact = (century - century // 4 - (8 * century + 13) // 25 + 19 * moon + 15) % 30
    epact -= epact // 28 * (1 - epact // 28 * (29 // (epact + 1)) * ((21 - moon) // 11))
    weekday = (year + year // 4 + epact + 2 - century + century // 4) % 7
    return 27 + epact - weekday


def third(stretch: Stretch, number: int) -> Stretch:
    """The first, second or last third of a stretch: four months of a year, one of a quarter or a season. Of June they
    are the days 1 to 10, 11 to 20 and 21 to 30. A part of a day is early or late for two thirds of it: nobody looks at
    the clock.
    """
    start, end = stretch
    if end - start >= DAY or number == 1:
        return _part(stretch, number, 3)
    return (start, end - (end - start) / 3) if number == 0 else (start + (end - start) / 3, end)


def half(stretch: Stretch, number: int) -> Stretch:
    return _part(stretch, number, 2)


def _part(stretch: Stretch, number: int, parts: int) -> Stretch:
    """One of equal parts, in whole months or else in whole days; the last one takes what is left."""
    start, end = stretch
    whole_months = (end.year - start.year) * 12 + end.month - start.month
    if whole_months % parts == 0 and whole_months and start.day == end.day == 1:
        size = whole_months // parts
        return months(start.year, start.month + number * size, size, start)
    length = (end.replace(tzinfo=None) - start.replace(tzinfo=None)) / parts
    length = timedelta(days=length.days) if length >= DAY else length
    return start + number * length, (end if number == parts - 1 else start + (number + 1) * length)


def in_year(stretch_of: Callable[[int], Stretch], now: datetime, *, ahead: bool = False, over: bool = False) -> Stretch:
    """The latest stretch of those that come every year that has begun, or is `over`; or the first that lies `ahead`."""
    for distance in range(9):
        try:
            start, end = stretch_of(now.year + distance if ahead else now.year - distance)
        except ValueError:
            continue  # 29 February
        if (start > now) if ahead else (end <= now if over else start <= now):
            return start, end
    raise ValueError


def in_month(day_of_month: int, now: datetime, *, ahead: bool = False) -> Stretch:
    """The latest day of that number that has come, or the first that lies `ahead`."""
    for distance in range(3):
        start, end = months(now.year, now.month + (distance if ahead else -distance), 1, now)
        date = start + (day_of_month - 1) * DAY
        if start <= date < end and (date > now) == ahead:
            return day(date)
    raise ValueError


def in_this_year(stretch_of: Callable[[int], Stretch], now: datetime) -> Stretch:
    """In February, this winter is the one that began in December."""
    before = stretch_of(now.year - 1)
    return before if before[0] <= now < before[1] else stretch_of(now.year)
