"""Words of time, and the stretch of time they mean: `yesterday`, `in March`, `3 days ago`, `between … and …`.

Everything is reckoned in UTC from a `now` that the caller gives. Words that have another meaning as well (May, Monday,
2025) count as time only behind a word that says so: `in May`, `since Monday`, `before 2025`.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Final, TypeAlias

_DAY: Final = timedelta(days=1)
_WEEK: Final = timedelta(weeks=1)
# The length of the shortest range: a single moment.
_INSTANT: Final = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True)
class TimeRange:
    """A stretch of time, `since` included, `until` not; None is open. It stands at `start` to `end` in the text."""

    since: datetime | None
    until: datetime | None
    start: int
    end: int
    words: str

    def __contains__(self, moment: datetime) -> bool:
        return (self.since is None or self.since <= moment) and (self.until is None or moment < self.until)

    @property
    def is_named(self) -> bool:
        """Whether a text about that time may have these words: `in March` and `two years ago`, neither `last week` nor
        `before March`.
        """
        return self.since is not None and self.until is not None and _NAMED.search(self.words) is not None

    @property
    def dates(self) -> str:
        """The same in figures: `2026-03-13`, `2026-03-01 to 2026-03-31`, `until 2026-03-14 09:26`."""
        if self.since is None:
            return f"until {_figures(self.until)}" if self.until else "at any time"
        if self.until is None:
            return f"from {_figures(self.since)} on"
        if self.since.time() != datetime.min.time() or self.until.time() != datetime.min.time():
            return f"{_figures(self.since)} to {_figures(self.until)}"
        last = self.until - _DAY
        return f"{self.since:%Y-%m-%d}" if last <= self.since else f"{self.since:%Y-%m-%d} to {last:%Y-%m-%d}"


_Range: TypeAlias = tuple[datetime, datetime]
_Reading: TypeAlias = Callable[[re.Match[str], datetime], _Range]


def find_time_ranges(text: str, now: datetime) -> tuple[TimeRange, ...]:
    """Every range of time that the text names, in the order of the text, none inside another. Never an error."""
    now = now.astimezone(UTC)
    ranges: list[TimeRange] = []
    end = 0
    while word := _WORD.search(text, end):
        start = word.start()
        rules = (rule(text, start, now) for rule in (_between, _bounded, _aged, _simple))
        read = next((range for range in rules if range), None)
        if read is None:
            end = word.end()
            continue
        since, until, end = read
        ranges.append(TimeRange(since, until, start, end, " ".join(text[start:end].split())))
    return tuple(ranges)


def read_time_range(text: str, now: datetime) -> TimeRange | None:
    """The range that a text means, if it holds nothing but words of time; also `March` and `2025` alone."""
    stripped = text.strip()
    for words in (stripped, f"in {stripped}"):
        spans = find_time_ranges(words, now)
        if len(spans) == 1 and (spans[0].start, spans[0].end) == (0, len(words)):
            return spans[0]
    return None


def without_spans(text: str, spans: tuple[TimeRange, ...]) -> str:
    """What is left of the text when its words of time are taken out."""
    parts: list[str] = []
    start = 0
    for span in spans:
        parts.append(text[start : span.start])
        start = span.end
    return " ".join([*parts, text[start:]])


_Open: TypeAlias = tuple[datetime | None, datetime | None, int]


def _between(text: str, start: int, now: datetime) -> _Open | None:
    """Both ends count in full: `between Monday and Wednesday` has three days."""
    opening = _BETWEEN.match(text, start)
    if opening is None:
        return None
    first = _moment(text, opening.end(), now)
    joint = first and _JOINTS[opening[1].lower()].match(text, first[1])
    last = joint and _moment(text, joint.end(), now)
    if first is None or not joint or not last:
        return None
    # `between Friday and Monday` is the Friday before that Monday, not the one before today.
    first = (last[0][0] > first[0][0] and first) or _moment(text, opening.end(), last[0][0], now) or first
    return min(first[0][0], last[0][0]), max(first[0][1], last[0][1]), last[1]


def _bounded(text: str, start: int, now: datetime) -> _Open | None:
    bound = _BOUND.match(text, start)
    moment = bound and _moment(text, bound.end(), now)
    if not bound or not moment:
        return None
    (since, until), end = moment
    match bound[1].lower():
        case "before":
            return None, since, end
        case "since" | "starting":
            return since, None, end
        case "after":
            return until, None, end
        case _:
            return None, until, end


def _aged(text: str, start: int, now: datetime) -> _Open | None:
    """`older than 3 months`, `less than an hour ago`."""
    match = _AGED.match(text, start)
    if match is None or (match[1].lower() in {"more", "less"} and match[4] is None):
        return None
    try:
        moment = now - _count(match[2]) * _LENGTHS[_unit(match[3])]
    except OverflowError:
        return None
    return (None, moment, match.end()) if match[1].lower() in {"older", "more"} else (moment, None, match.end())


def _simple(text: str, start: int, now: datetime) -> _Open | None:
    inside, around = _INSIDE.match(text, start), _AROUND.match(text, start)
    moment = _moment(text, inside.end(), now) if inside else _exact(text, around.end() if around else start, now)
    if moment is None:
        return None
    (since, until), end = moment
    onwards = _ONWARDS.match(text, end) if inside and inside[1].lower() == "from" else None
    return (since, None, onwards.end()) if onwards else (since, until, end)


def _moment(text: str, start: int, now: datetime, real: datetime | None = None) -> tuple[_Range, int] | None:
    """The range that begins at `start` in the text. A name that comes again every week or year means the latest before
    `now`; everything else is reckoned from the `real` now.
    """
    article = _ARTICLE.match(text, start)
    return _exact(text, start, real or now) or _read(_RECURRING, text, article.end() if article else start, now)


def _exact(text: str, start: int, now: datetime) -> tuple[_Range, int] | None:
    article = _ARTICLE.match(text, start)
    return _read(_EXACT, text, article.end() if article else start, now)


def _read(
    readings: tuple[tuple[re.Pattern[str], _Reading], ...], text: str, start: int, now: datetime
) -> tuple[_Range, int] | None:
    for pattern, reading in readings:
        match = pattern.match(text, start)
        if match:
            try:
                since, until = reading(match, now)
            except (ValueError, OverflowError):
                continue  # 31 February, or a year that no calendar has
            return (since, until), match.end()
    return None


def _figures(moment: datetime) -> str:
    return f"{moment:%Y-%m-%d}" if moment.time() == datetime.min.time() else f"{moment:%Y-%m-%d %H:%M}"


# -- calendar ------------------------------------------------------------------------------------------------------


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _day(moment: datetime) -> _Range:
    start = _midnight(moment)
    return start, start + _DAY


def _month(moment: datetime, back: int = 0) -> _Range:
    months = moment.year * 12 + moment.month - 1 - back
    return _month_start(months), _month_start(months + 1)


def _month_start(months: int) -> datetime:
    return datetime(months // 12, months % 12 + 1, 1, tzinfo=UTC)


def _month_named(name: str, year: int) -> _Range:
    return _month(datetime(year, _month_of(name), 1, tzinfo=UTC))


def _year(year: int) -> _Range:
    return datetime(year, 1, 1, tzinfo=UTC), datetime(year + 1, 1, 1, tzinfo=UTC)


def _unit_ago(unit: str, count: int, now: datetime) -> _Range:
    """The whole day, week, month or year; of shorter units one around the moment."""
    match unit:
        case "d":
            return _day(now - count * _DAY)
        case "w":
            monday = _midnight(now - count * _WEEK) - now.weekday() * _DAY
            return monday, monday + _WEEK
        case "mo":
            return _month(now, count)
        case "y":
            return _year(now.year - count)
        case _:
            middle = now - count * _LENGTHS[unit]
            return middle - _LENGTHS[unit] / 2, middle + _LENGTHS[unit] / 2


def _last(unit: str, count: int, now: datetime) -> _Range:
    """The stretch that ends now."""
    return now - count * _LENGTHS[unit], now + _INSTANT


def _part(day: datetime, part: str) -> _Range:
    first, last = _PARTS[part]
    start = _midnight(day)
    return start + timedelta(hours=first), start + timedelta(hours=last)


def _date(year: int, month: int, day: int) -> _Range:
    return _day(datetime(year, month, day, tzinfo=UTC))


def _month_of(name: str) -> int:
    return _MONTHS.index(name[:3].lower()) + 1


def _count(word: str) -> int:
    return int(word) if word[0].isdigit() else _NUMBERS[word.lower()]


def _unit(word: str) -> str:
    lowered = word.lower()
    return "mo" if lowered.startswith("mo") else lowered[0]


# -- readings ------------------------------------------------------------------------------------------------------


def _read_iso(match: re.Match[str], _: datetime) -> _Range:
    year, month, day, time, zone = match.group(1, 2, 3, 4, 5)
    if time is None:
        return _date(int(year), int(month), int(day))
    start = datetime.fromisoformat(f"{year}-{month}-{day}T{time}{zone or '+00:00'}").astimezone(UTC)
    return start, start + timedelta(minutes=1 if time.count(":") == 1 else 1 / 60)


def _read_day_month(match: re.Match[str], now: datetime) -> _Range:
    """Without a year, the latest such day that has come."""
    day, month = int(match["day"]), _month_of(match["month"])
    if match["year"]:
        return _date(int(match["year"]), month, day)
    this = _date(now.year, month, day)
    return this if this[0] <= now else _date(now.year - 1, month, day)


def _read_day_word(match: re.Match[str], now: datetime) -> _Range:
    word, part = match[1].lower(), match[2]
    back = 2 if word.startswith("day") else 1 if word == "yesterday" else 0
    day = now - back * _DAY
    return _part(day, part.lower()) if part else _day(day)


def _read_last_name(match: re.Match[str], now: datetime) -> _Range:
    """`last Monday` and `last March` are over; `this` one is of this week or year."""
    which, name = match[1].lower(), match[2]
    if name[:3].lower() in _WEEKDAYS:
        day = _WEEKDAYS.index(name[:3].lower())
        back = (now.weekday() - day) if which == "this" else ((now.weekday() - day) % 7 or 7)
        return _day(now - back * _DAY)
    return _month_named(name, now.year if which == "this" or _month_of(name) < now.month else now.year - 1)


# -- words ---------------------------------------------------------------------------------------------------------

_MONTHS: Final = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS: Final = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS: Final = {
    "a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8,
    "nine": 9, "ten": 10, "eleven": 11, "twelve": 12,
}  # fmt: skip
_LENGTHS: Final = {
    "s": timedelta(seconds=1), "m": timedelta(minutes=1), "h": timedelta(hours=1), "d": _DAY, "w": _WEEK,
    "mo": timedelta(days=30), "y": timedelta(days=365),
}  # fmt: skip
_PARTS: Final = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 24)}

# Few, so that a text full of blanks costs no more than its length.
_GAP: Final = r"(?u:[\s,]{1,4})"
_END: Final = r"(?u:(?![\w-]))"
_MONTH: Final = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?"
    r"|nov(?:ember)?|dec(?:ember)?)"
)
_WEEKDAY: Final = r"(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day)"
_COUNT: Final = rf"([0-9]{{1,6}}|{'|'.join(sorted(_NUMBERS, key=len, reverse=True))})"
_SHORT: Final = r"(sec(?:ond)?s?|min(?:ute)?s?|h(?:ou)?rs?"
_UNIT: Final = rf"{_SHORT}|days?|weeks?|months?|years?)"
_PART: Final = "(morning|afternoon|evening|night)"
_YEAR: Final = r"(?:19|20)[0-9]{2}"
_NTH: Final = r"(?P<day>[0-9]{1,2})(?:st|nd|rd|th)?"


def _compiled(pattern: str, end: str = _END) -> re.Pattern[str]:
    return re.compile(pattern.replace(" ", _GAP) + end, re.IGNORECASE | re.ASCII)


_EXACT: Final[tuple[tuple[re.Pattern[str], _Reading], ...]] = (
    (_compiled(rf"({_YEAR})-([0-9]{{2}})-([0-9]{{2}})(?:[T\s]([0-9]{{2}}:[0-9]{{2}}(?::[0-9]{{2}})?)"
               r"(Z|[+-][0-9]{2}:[0-9]{2})?)?"), _read_iso),
    (_compiled(rf"({_YEAR})-([0-9]{{2}})"),
     lambda match, _: _month(datetime(int(match[1]), int(match[2]), 1, tzinfo=UTC))),
    (_compiled(rf"{_NTH} (?:of )?(?P<month>{_MONTH})(?: (?P<year>{_YEAR}))?"), _read_day_month),
    (_compiled(rf"(?P<month>{_MONTH}) {_NTH}(?: (?P<year>{_YEAR}))?"), _read_day_month),
    (_compiled(rf"(?P<month>{_MONTH}) (?:of )?(?P<year>{_YEAR})"),
     lambda match, _: _month_named(match["month"], int(match["year"]))),
    (_compiled(rf"(?:earlier )?(today|yesterday|day before yesterday)(?: {_PART})?"), _read_day_word),
    (_compiled("tonight"), lambda _, now: _part(now, "evening")),
    (_compiled("last night"),
     lambda _, now: (_midnight(now) - timedelta(hours=6), _midnight(now) + timedelta(hours=6))),
    (_compiled("this (morning|afternoon|evening)"), lambda match, now: _part(now, match[1].lower())),
    (_compiled("this (week|month|year)"), lambda match, now: _unit_ago(_unit(match[1]), 0, now)),
    (_compiled("(?:last|previous) (week|month|year)(?! of )"), lambda match, now: _unit_ago(_unit(match[1]), 1, now)),
    (_compiled("(?:past|last) (minute|hour|day|week|month|year)(?! of )"),
     lambda match, now: _last(_unit(match[1]), 1, now)),
    (_compiled(rf"(?:last|past|previous) {_COUNT} {_UNIT}(?! of )"),
     lambda match, now: _last(_unit(match[2]), max(1, _count(match[1])), now)),
    (_compiled(rf"{_COUNT} {_UNIT} ago"), lambda match, now: _unit_ago(_unit(match[2]), _count(match[1]), now)),
    (_compiled(rf"(last|this) ({_WEEKDAY}|{_MONTH})"), _read_last_name),
)  # fmt: skip
# The latest one: of weekdays today included, of months this one.
_RECURRING: Final[tuple[tuple[re.Pattern[str], _Reading], ...]] = (
    (_compiled(f"({_WEEKDAY})"),
     lambda match, now: _day(now - ((now.weekday() - _WEEKDAYS.index(match[1][:3].lower())) % 7) * _DAY)),
    (_compiled(f"({_MONTH})"),
     lambda match, now: _month_named(match[1], now.year if _month_of(match[1]) <= now.month else now.year - 1)),
    (_compiled(f"({_YEAR})"), lambda match, _: _year(int(match[1]))),
)  # fmt: skip

_NAMED: Final = re.compile(rf"(?<![a-z])(?:{_MONTH}|{_WEEKDAY})(?![a-z])|{_YEAR}|\bago$", re.IGNORECASE | re.ASCII)
_AGED: Final = _compiled(rf"(older|newer|younger|more|less) than {_COUNT} {_UNIT}(?: (ago|old))?")
_WORD: Final = re.compile(r"(?<![\w-])\w[\w-]*")
_ARTICLE: Final = _compiled("the ", "")
_BETWEEN: Final = _compiled("(between|from) ", "")
_JOINTS: Final = {"between": _compiled(" and ", ""), "from": _compiled(" (?:to|until|till|through) ", "")}
_BOUND: Final = _compiled("(before|since|starting|after|until|till|up to) ", "")
_INSIDE: Final = _compiled("(in|on|during|from) ", "")
_AROUND: Final = _compiled("(?:of|over|within|for|at) ", "")
_ONWARDS: Final = _compiled(" (?:on|onwards?)")
