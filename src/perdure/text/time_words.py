"""One time by its name: `yesterday`, `March 2025`, `3 days ago`, `the end of last year`, `14.03.2026`.

Words that have another meaning as well (May, Monday, spring, 2025) are `recurring`: they are a time only where
something else says so, such as `in` or `since` before them. Everything else is `exact`: a time wherever it stands.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final, NamedTuple, TypeAlias

from perdure.text.calendar_ranges import (
    DAY,
    FEASTS,
    LENGTHS,
    PARTS_OF_A_DAY,
    SEASONS,
    WEEK,
    WEEKDAYS,
    Stretch,
    date_of,
    day,
    elapsed,
    feast,
    half,
    in_month,
    in_this_year,
    in_year,
    last,
    midnight,
    months,
    part_of_day,
    quarter,
    season,
    third,
    unit_ago,
    weekend,
)
from perdure.text.date_figures import read_date
from perdure.text.number_words import ARTICLES, VAGUE_NUMBERS, Quantity, cuts_a_number, read_quantity

Found: TypeAlias = tuple[Stretch, int]


class Duration(NamedTuple):
    """So many of a unit, from `low` to `high` where the words are vague. It ends before the word number `end`."""

    low: float
    high: float
    unit: str
    end: int

    @property
    def length(self) -> timedelta:
        return self.high * LENGTHS[self.unit]


class TimeWords:
    """Words that stand next to each other, and the times that they name, reckoned from `now` in its zone. `spelled` are
    the words with their capitals. A name that comes again means the latest one, or the following one if `ahead`.
    """

    def __init__(self, spelled: Sequence[str], now: datetime, *, ahead: bool = False) -> None:
        self.words = [word.lower() for word in spelled]
        self.spelled = spelled
        self.now = now
        self.ahead = ahead
        self._composing = False

    def word(self, at: int) -> str:
        return self.words[at] if at < len(self.words) else ""

    def exact(self, at: int) -> Found | None:
        """The time whose name begins here. Never an error: no calendar has a 31 February."""
        at += self.word(at) == "the"
        word = self.word(at)
        read = _READERS.get(word) or (TimeWords.read_figures if word and word[0] in _DIGITS else None)
        if read is None:
            return None
        try:
            found = read(self, at)
            return found and self._part_behind(found)
        except (ValueError, OverflowError):
            return None

    def moment(self, at: int, now: datetime | None = None, *, sure: bool = True) -> Found | None:
        """An exact time, or a recurring one, which is reckoned from another `now` if that is given. `sure` says that
        `may` and `march` are months here, not verbs.
        """
        found = self.exact(at)
        if found:
            return found
        at += self.word(at) == "the"
        try:
            return self.read_recurring(at, now or self.now, sure=sure)
        except (ValueError, OverflowError):
            return None

    def duration(self, at: int) -> Duration | None:
        """`3 days`, `24h`, `an hour and a half`, `two or three weeks`, `a few months`. Never a part of a number."""
        if at >= len(self.words) or cuts_a_number(self.words, at):
            return None
        if glued := _GLUED.fullmatch(self.words[at]):
            unit = _SHORT_UNITS.get(glued[2]) or _UNITS.get(glued[2])
            return Duration(float(glued[1]), float(glued[1]), unit, at + 1) if unit else None
        if (two := _FROM_TO.fullmatch(self.words[at])) and (unit := _UNITS.get(self.word(at + 1))):
            return Duration(float(two[1]), float(two[2]), unit, at + 2)
        quantity = read_quantity(self.words, at)
        if quantity is None:
            return None
        low, high, end = quantity
        if self.word(end) in {"to", "or"} and (second := self._number(end + 1)):
            high, end = second.high, second.end
        figures = self.words[at][0] in _DIGITS
        unit = _UNITS.get(self.word(end)) or (_SHORT_UNITS.get(self.word(end)) if figures else None)
        if unit is None:
            return None
        end += 1
        if self.words[end : end + 3] == ["and", "a", "half"]:
            low, high, end = low + 0.5, high + 0.5, end + 3
        elif self.word(end) == "or" and (second := self._number(end + 1)) and self.word(second.end) == "ago":
            high, end = second.high, second.end
        return Duration(min(low, high), max(low, high), unit, end)

    def _number(self, at: int) -> Quantity | None:
        return read_quantity(self.words, at) if at < len(self.words) else None

    def day_of_month(self, at: int) -> int | None:
        match = _NTH.fullmatch(self.word(at))
        return int(match[1]) if match else None

    def ordinal(self, at: int) -> int | None:
        """`3rd`, but not `3`."""
        return None if self.word(at).isdigit() else self.day_of_month(at)

    def year(self, at: int) -> int | None:
        return int(self.word(at)) if _YEAR.fullmatch(self.word(at)) else None

    def year_after(self, at: int) -> tuple[int, int] | None:
        """A year that follows, with or without `of`, and where it ends: `2025`, `last year`."""
        at += self.word(at) == "of"
        year = self.year(at)
        if year is None and self.word(at) in _YEARS_AWAY and self.word(at + 1) == "year":
            return self.now.year + _YEARS_AWAY[self.word(at)], at + 2
        return None if year is None else (year, at + 1)

    def weekday(self, at: int) -> int | None:
        """Which day of the week. Short names that are words too must be spelled like names: `Sun`, `Sat`."""
        word = self.word(at)
        if word in _WEEKDAY_NAMES and word not in _SHORT_WEEKDAYS:
            return _WEEKDAY_NAMES[word]
        if word not in _SHORT_WEEKDAYS:
            return None
        following = self.spelled[at + 1] if at + 1 < len(self.spelled) else ""
        # `Sun Microsystems` is no day.
        named = following[:1].isupper() and following.lower() not in PARTS_OF_A_DAY
        sure = self.spelled[at][0].isupper() or word not in _VERBS_TOO
        return _WEEKDAY_NAMES[word] if sure and not named else None

    def _with_part(self, found: datetime, end: int) -> Found:
        """A day, or the part or the time of it that is named behind it: `evening`, `at 15:00`, `3pm`."""
        time = end + (self.word(end) == "at" or 2 * (self.words[end : end + 2] == ["in", "the"]))
        if self.word(time) in PARTS_OF_A_DAY:
            return part_of_day(found, self.word(time)), time + 1
        match = _TIME_BEHIND.fullmatch(self.word(time))
        noon = match[3] or (self.word(time + 1) if self.word(time + 1) in {"am", "pm"} else "") if match else ""
        if match is None or not (noon or match[2]):
            return day(found), end
        hour = int(match[1]) % 12 + 12 * (noon == "pm") if noon else int(match[1])
        start = midnight(found) + timedelta(hours=hour, minutes=int(match[2] or 0))
        if start >= midnight(found) + DAY:
            return day(found), end
        return (start, start + timedelta(minutes=1)), time + 1 + (bool(noon) and not match[3])

    def _of_something(self, at: int) -> bool:
        """`the last week of school` is not last week."""
        return self.word(at) == "of"

    # -- words -----------------------------------------------------------------------------------------------------

    def read_day_word(self, at: int) -> Found | None:
        return self._with_part(self.now + _DAY_WORDS[self.word(at)] * DAY, at + 1)

    def read_day_beyond(self, at: int) -> Found | None:
        days = {("before", "yesterday"): -2, ("after", "tomorrow"): 2}.get((self.word(at + 1), self.word(at + 2)))
        return None if days is None else self._with_part(self.now + days * DAY, at + 3)

    def _part_behind(self, found: Found) -> Found:
        """A week or a year, or what is named of it behind it: `last week on Tuesday`, `last year in August`."""
        (start, end), after = found
        if self.word(after) == "in" and (start, end) == months(start.year, 1, 12, start):
            return self.read_of_year(after + 1, lambda stretch_of: stretch_of(start.year)) or found
        day = after + (self.word(after) == "on")
        weekday = self.weekday(day)
        if weekday is None or end - start != WEEK or start.weekday():
            return found
        return self._with_part(start + weekday * DAY, day + 1)

    def read_tonight(self, at: int) -> Found | None:
        return part_of_day(self.now, "evening"), at + 1

    def read_part_of_day(self, at: int) -> Found | None:
        """`the evening of March 12`, `the night before last`."""
        if self.words[at : at + 3] == ["night", "before", "last"]:
            return self._night(self.now - DAY), at + 3
        found = self._named_behind(at + 1)
        if found is None or found[0][1] - found[0][0] > DAY:
            return None
        return part_of_day(found[0][0].astimezone(self.now.tzinfo), self.word(at)), found[1]

    def _night(self, moment: datetime) -> Stretch:
        """The one that ends on that day."""
        return midnight(moment) - timedelta(hours=6), midnight(moment) + timedelta(hours=6)

    def read_last(self, at: int) -> Found | None:
        """`last night`, `last weekend`, `last Monday`, `last March`, `last summer` are over."""
        which, word, now = self.word(at), self.word(at + 1), self.now
        found = self.read_last_stretch(at)
        if found or (which == "past" and word != "weekend" and self.weekday(at + 1) is None):
            return found
        if word == "weekend":
            return weekend(now, 1), at + 2
        if word in {"night", "evening"} and which == "last":
            return (self._night(now) if word == "night" else part_of_day(now - DAY, word)), at + 2
        weekday = self.weekday(at + 1)
        if weekday is not None:
            return self._with_part(now - (_days_back(weekday, now) or 7) * DAY, at + 2)
        return self.read_of_year(at + 1, lambda stretch_of: in_year(stretch_of, now, over=True))

    def read_last_stretch(self, at: int) -> Found | None:
        """`last week` is the one on the calendar, `the past week` and `the last 7 days` end now."""
        word, now = self.word(at + 1), self.now
        if word in _ONE and not self._of_something(at + 2):
            unit = _UNITS[word]
            on_calendar = self.word(at) != "past" and unit in _CALENDAR_UNITS
            return unit_ago(unit, 1, now) if on_calendar else last(LENGTHS[unit], now), at + 2
        if word == "week":
            return self._week_of(at + 1, -1)
        duration = None if word in ARTICLES else self.duration(at + 1)
        if duration is None or self._of_something(duration.end):
            return self._end_of(at + 1, -1)
        return last(duration.length or LENGTHS[duration.unit], now), duration.end

    def read_this(self, at: int) -> Found | None:
        word, now = self.word(at + 1), self.now
        if word == "past":
            return self.read_last(at + 1)
        if word in PARTS_OF_A_DAY and word != "night":
            return part_of_day(now, word), at + 2
        if word == "weekend":
            return weekend(now), at + 2
        if word in _ONE and _UNITS[word] in _CALENDAR_UNITS:
            return unit_ago(_UNITS[word], 0, now), at + 2
        weekday = self.weekday(at + 1)
        if weekday is not None:
            return self._with_part(now + (weekday - now.weekday()) * DAY, at + 2)
        return self.read_of_year(at + 1, lambda stretch_of: in_this_year(stretch_of, now))

    def read_next(self, at: int) -> Found | None:
        word, now = self.word(at + 1), self.now
        if word == "weekend":
            return weekend(now, -1), at + 2
        if word in _ONE and _UNITS[word] in _CALENDAR_UNITS and not self._of_something(at + 2):
            return unit_ago(_UNITS[word], -1, now), at + 2
        duration = self.duration(at + 1)
        if duration and duration.low and not self._of_something(duration.end):
            return (elapsed(now, timedelta(0)), elapsed(now, duration.length)), duration.end
        weekday = self.weekday(at + 1)
        if weekday is not None:
            return self._with_part(now + (7 - _days_back(weekday, now)) * DAY, at + 2)
        return self.read_of_year(at + 1, lambda stretch_of: in_year(stretch_of, now, ahead=True))

    def read_of_year(self, at: int, which: Callable[[Callable[[int], Stretch]], Stretch]) -> Found | None:
        """A month or a season, of the year that `which` chooses."""
        name, now = self.word(at), self.now
        if name in SEASONS and not self._of_something(at + 1):
            return which(lambda year: season(name, year, now)), at + 1
        month = _MONTH_NAMES.get(name)
        return None if month is None else (which(lambda year: months(year, month, 1, now)), at + 1)

    def read_earlier(self, at: int) -> Found | None:
        """`earlier this week` is what has passed of it."""
        if self.word(at + 1) in _DAY_WORDS:
            return self.read_day_word(at + 1)
        found = self.read_this(at + 1) if self.word(at + 1) == "this" else None
        if found is None or found[0][0] > self.now:
            return None
        (start, end), after = found
        return (start, min(end, elapsed(self.now, timedelta(microseconds=1)))), after

    def read_recently(self, at: int) -> Found | None:
        return last(2 * WEEK, self.now), at + 1

    def read_other_day(self, at: int) -> Found | None:
        """`the other day`: two to seven days ago."""
        if self.word(at + 1) != "day" or self.words[max(0, at - 1)] == "every":
            return None
        return (unit_ago("d", 7, self.now)[0], unit_ago("d", 2, self.now)[1]), at + 2

    def read_unit(self, at: int) -> Found | None:
        """`the week before last`, `the week of 14 March`."""
        word = self.word(at)
        if (self.word(at + 1), self.word(at + 2)) == ("before", "last"):
            return (weekend(self.now, 2) if word == "weekend" else unit_ago(_UNITS[word], 2, self.now)), at + 3
        if word == "week":
            found = self._named_behind(at + 1)
            if found and found[0][1] - found[0][0] <= DAY:
                return unit_ago("w", 0, found[0][0].astimezone(self.now.tzinfo)), found[1]
        return None

    def read_weekday_of_week(self, at: int) -> Found | None:
        """`Monday last week`, `Friday of this week`, `the Friday before last`. A weekday alone is recurring."""
        weekday = self.weekday(at)
        if weekday is not None and self.words[at + 1 : at + 3] == ["before", "last"]:
            return self._with_part(self.now - WEEK - (_days_back(weekday, self.now) or 7) * DAY, at + 3)
        which = at + 1 + self._of_something(at + 1)
        weeks_back = {"last": 1, "previous": 1, "this": 0, "next": -1}.get(self.word(which))
        if weekday is None or weeks_back is None or self.word(which + 1) != "week":
            return None
        return self._with_part(unit_ago("w", weeks_back, self.now)[0] + weekday * DAY, which + 2)

    def read_ordinal(self, at: int) -> Found | None:
        """`the first week of June`, `the second half of 2023`, `the third quarter of 2025`, `the first Monday in May`,
        `the first ten days of January`.
        """
        number, word, weekday = self.ordinal(at) or 0, self.word(at + 1), self.weekday(at + 1)
        if word == "week" or weekday is not None:
            return self._week_of(at + 1, number - 1, weekday)
        if number == 1 and (found := self._end_of(at + 1, 0)):
            return found
        if word != "half" or not 1 <= number <= _HALVES:
            return self.read_quarter(at)
        found = self._named_behind(at + 2)
        return (half(found[0], number - 1), found[1]) if found else None

    def _week_of(self, at: int, number: int, weekday: int | None = None) -> Found | None:
        """Of a month or a longer time the days 1 to 7, 8 to 14 and so on, or the weekday among them; -1 are the last
        seven days.
        """
        found = self._named_behind(at + 1)
        if found is None or found[0][1] - found[0][0] < 4 * WEEK:
            return None
        start = found[0][1] - WEEK if number < 0 else found[0][0] + number * WEEK
        if weekday is None:
            return (start, start + WEEK), found[1]
        return day(start + (weekday - start.weekday()) % 7 * DAY), found[1]

    def _end_of(self, at: int, which: int) -> Found | None:
        """`ten days of January`, `days of February`, `day of March`: at the beginning of it or, for -1, at its end."""
        duration = self.duration(at)
        found = self._named_behind(duration.end if duration else at + 1)
        if found is None or (duration is None and self.word(at) not in {"day", "days"}):
            return None
        (start, end), after = found
        if self.word(at) == "day":
            return day(start if which == 0 else end - DAY), after
        if duration is None:
            return third((start, end), which % 3), after
        return ((start, start + duration.length) if which == 0 else (end - duration.length, end)), after

    def _named_behind(self, of: int) -> Found | None:
        return self._not_composed(of + 1) if self.word(of) in {"of", "in"} else None

    def _not_composed(self, at: int, *, sure: bool = True) -> Found | None:
        """A time whose name does not hold the name of another, so that reading stays short: no `end of the end of`."""
        if self._composing:
            return None
        self._composing = True
        found = self.moment(at, sure=sure)
        self._composing = False
        return found

    def read_third(self, at: int) -> Found | None:
        """`early June`, `mid 2024`, `the end of last year`: a third of it."""
        word, of = self.word(at), self._of_something(at + 1)
        if not of and word not in _THIRDS_WITHOUT_OF:
            return None
        start = at + 1 + (of or self.word(at + 1) in {"in", "on"})
        found = self._not_composed(start, sure=start > at + 1)
        if found is None and (self.ahead or _THIRDS[word] == 0):
            found = self._this_unit(start)
        return (third(found[0], _THIRDS[word]), found[1]) if found else None

    def _this_unit(self, at: int) -> Found | None:
        """`the month` in `the end of the month`. Of the past, nobody knows whose end is meant."""
        unit = _UNITS.get(self.word(at + 1), "") if self.word(at) == "the" else ""
        return (unit_ago(unit, 0, self.now), at + 2) if unit in _CALENDAR_UNITS else None

    def read_season(self, at: int) -> Found | None:
        year = self.year_after(at + 1)
        return (season(self.word(at), year[0], self.now), year[1]) if year else None

    def read_quarter(self, at: int) -> Found | None:
        found = self._quarter_number(at)
        year = self.year_after(found[1]) if found else None
        return (quarter(year[0], found[0], self.now), year[1]) if found and year else None

    def _quarter_number(self, at: int) -> tuple[int, int] | None:
        """`Q3`, `third quarter`, and where it ends."""
        if self.word(at) in _QUARTERS:
            return _QUARTERS[self.word(at)], at + 1
        number = self.ordinal(at) or 0
        return (number, at + 2) if 1 <= number <= len(_QUARTERS) and self.word(at + 1) == "quarter" else None

    def read_month(self, at: int, *, sure: bool = False) -> Found | None:
        """`March 14th, 2025`, `March the 14th`, `March 2025`. `march 3 miles` is no date, unless it is `sure`."""
        month, now = _MONTH_NAMES[self.word(at)], self.now
        number = at + 1 + (self.word(at + 1) == "the" and self.ordinal(at + 2) is not None)
        day_of_month = self.day_of_month(number)
        if day_of_month is None:
            year = self.year_after(at + 1)
            return (months(year[0], month, 1, now), year[1]) if year else None
        year = self.year_after(number + 1)
        if year is not None:
            return date_of(year[0], month, day_of_month, now), year[1]
        named = self.spelled[at][0].isupper() or self.word(at) not in _VERBS_TOO
        if not (sure or named or not self.word(number).isdigit()):
            return None
        return in_year(lambda year: date_of(year, month, day_of_month, now), now, ahead=self.ahead), number + 1

    def read_duration(self, at: int) -> Found | None:
        """`3 days ago`, `half an hour ago`, `2 weeks from now`; `in 3 days` only where the time lies `ahead`."""
        duration = self.duration(at)
        if duration is None:
            return self._read_names_ago(at)
        low, high, unit, end = duration
        if self.word(end) == "ago":
            return (unit_ago(unit, high, self.now)[0], unit_ago(unit, low, self.now)[1]), end + 1
        if self.word(end) == "hence" or (self.word(end), self.word(end + 1)) == ("from", "now"):
            after = end + 1 if self.word(end) == "hence" else end + 2
            return (unit_ago(unit, -low, self.now)[0], unit_ago(unit, -high, self.now)[1]), after
        return None

    def _read_names_ago(self, at: int) -> Found | None:
        """`two weekends ago`, `three Fridays ago`."""
        quantity = None if cuts_a_number(self.words, at) else self._number(at)
        if quantity is None or self.word(quantity.end + 1) != "ago" or not 1 <= quantity.low == int(quantity.high):
            return None
        name, count = self.word(quantity.end).removesuffix("s"), int(quantity.low)
        if name == "weekend":
            return weekend(self.now, count), quantity.end + 2
        if name not in _WEEKDAY_NAMES or name in _SHORT_WEEKDAYS:
            return None
        back = _days_back(_WEEKDAY_NAMES[name], self.now) or 7
        return day(self.now - (back + 7 * (count - 1)) * DAY), quantity.end + 2

    # -- figures ---------------------------------------------------------------------------------------------------

    def read_figures(self, at: int) -> Found | None:
        written = read_date(self.words, at, self.now)
        if written:
            return written
        year = self.year(at)
        if year is not None and self.word(at + 1) in _QUARTERS:
            return quarter(year, _QUARTERS[self.word(at + 1)], self.now), at + 2
        read = self.read_duration if self.ordinal(at) is None else self.read_ordinal
        return self.read_day_of_month(at) or read(at)

    def read_day_of_month(self, at: int) -> Found | None:
        """`14 March`, `the 14th of March, 2025`, `the 14th of last month`. Without a year, the latest such day that has
        come.
        """
        day_of_month = self.day_of_month(at)
        if day_of_month is None or cuts_a_number(self.words, at):
            return None
        name = at + 1 + self._of_something(at + 1)
        month = _MONTH_NAMES.get(self.word(name))
        if month is None:
            found = self._named_behind(at + 1) if self.ordinal(at) and self._of_something(at + 1) else None
            if found is None or found[0][1] - found[0][0] > _LONGEST_MONTH:
                return None
            date = found[0][0] + (day_of_month - 1) * DAY
            return (day(date), found[1]) if date < found[0][1] else None
        year, now = self.year_after(name + 1), self.now
        if year is not None:
            return date_of(year[0], month, day_of_month, now), year[1]
        return in_year(lambda year: date_of(year, month, day_of_month, now), now, ahead=self.ahead), name + 1

    # -- names that come again -------------------------------------------------------------------------------------

    def read_recurring(self, at: int, now: datetime, *, sure: bool) -> Found | None:
        word, ahead = self.word(at), self.ahead
        weekday, year = self.weekday(at), self.year(at)
        if weekday is not None:
            back = _days_back(weekday, now)
            return self._with_part(now + (7 - back if ahead else -back) * DAY, at + 1)
        if year is not None:
            return months(year, 1, 12, now), at + 1
        if word == "weekend":
            this = weekend(now)
            return (this if (this[0] > now) == ahead else weekend(now, -1 if ahead else 1)), at + 1
        number = self._quarter_number(at)
        if number:
            return in_year(lambda year: quarter(year, number[0], now), now, ahead=ahead), number[1]
        is_verb = word in _VERBS_TOO and not sure and not self.spelled[at][0].isupper()
        # `in the May report`, `at the Christmas party`
        if is_verb or (at and self.words[at - 1] == "the" and (word in _MONTH_NAMES or word in FEAST_STARTS)):
            return None
        found = self.read_month(at, sure=True) if word in _MONTH_NAMES else None
        found = found or self.read_of_year(at, lambda stretch_of: in_year(stretch_of, now, ahead=ahead))
        return found or self._read_feast(at, now) or self._read_day_of_some_month(at, now)

    def _read_feast(self, at: int, now: datetime) -> Found | None:
        """The longest name that stands here: `New Year Eve` is not `New Year`."""
        ends = range(min(at + _LONGEST_FEAST, len(self.words)), at, -1)
        end = next((end for end in ends if " ".join(self.words[at:end]) in FEASTS), at)
        name = " ".join(self.words[at:end])
        if name and (year := self.year_after(end)):
            return feast(name, year[0], now), year[1]
        return (in_year(lambda year: feast(name, year, now), now, ahead=self.ahead), end) if name else None

    def _read_day_of_some_month(self, at: int, now: datetime) -> Found | None:
        """`on the tenth`, where nothing follows: `on the tenth floor` is no time."""
        number, ends = self.ordinal(at), at + 1 == len(self.words)
        if number is None or not ends or self.words[max(0, at - 2)] not in _ON_THE or self.words[at - 1] != "the":
            return None
        return in_month(number, now, ahead=self.ahead), at + 1


def _days_back(weekday: int, now: datetime) -> int:
    return (now.weekday() - weekday) % 7


# -- tables --------------------------------------------------------------------------------------------------------

_DIGITS: Final = frozenset("0123456789")
_HALVES: Final = 2
_UNITS: Final = {
    name: unit
    for unit, names in {
        "s": "sec secs second seconds", "m": "min mins minute minutes", "h": "hr hrs hour hours", "d": "day days",
        "w": "week weeks wk wks", "fortnight": "fortnight fortnights", "mo": "month months",
        "quarter": "quarter quarters", "y": "year years yr yrs",
    }.items()
    for name in names.split()
}  # fmt: skip
_SHORT_UNITS: Final = {"s": "s", "m": "m", "h": "h", "d": "d", "w": "w", "mo": "mo", "y": "y"}
_CALENDAR_UNITS: Final = frozenset(("w", "mo", "quarter", "y"))
_YEARS_AWAY: Final = {"last": -1, "this": 0, "next": 1}
_ONE: Final = frozenset("minute hour day week fortnight month quarter year".split())
_MONTH_NAMES: Final = {
    name: number
    for number, names in enumerate(
        (
            "jan january", "feb february", "mar march", "apr april", "may", "jun june", "jul july", "aug august",
            "sep sept september", "oct october", "nov november", "dec december",
        ),
        1,
    )
    for name in names.split()
}  # fmt: skip
_SHORT_WEEKDAYS: Final = frozenset("mon tue tues wed weds thu thur thurs fri sat sun".split())
_WEEKDAY_NAMES: Final = {
    name: WEEKDAYS.index(name[:3])
    for name in (*_SHORT_WEEKDAYS, *"monday tuesday wednesday thursday friday saturday sunday".split())
}
# Names that are other words in lower case.
_VERBS_TOO: Final = frozenset("may march mar mon wed sat sun".split())
_DAY_WORDS: Final = {"today": 0, "yesterday": -1, "tomorrow": 1}
_THIRDS: Final = {
    "early": 0, "beginning": 0, "start": 0, "mid": 1, "middle": 1, "late": 2, "end": 2,
}  # fmt: skip
_THIRDS_WITHOUT_OF: Final = frozenset(("early", "mid", "late"))
_QUARTERS: Final = {"q1": 1, "q2": 2, "q3": 3, "q4": 4}
_LONGEST_MONTH: Final = timedelta(days=31)
_ON_THE: Final = frozenset("on before since after until till".split())
FEAST_STARTS: Final = frozenset(name.split()[0] for name in FEASTS)
_LONGEST_FEAST: Final = max(len(name.split()) for name in FEASTS)

_YEAR: Final = re.compile(r"(?:19|20)[0-9]{2}")
_NTH: Final = re.compile(r"([0-9]{1,2})(?:st|nd|rd|th)?")
# 24h, 3days
_GLUED: Final = re.compile(r"([0-9]{1,6}(?:\.[0-9]{1,3})?)([a-z]+)")
_FROM_TO: Final = re.compile(r"([0-9]{1,6})-([0-9]{1,6})")
_TIME_BEHIND: Final = re.compile(r"([0-9]{1,2})(?::([0-9]{2}))?(am|pm)?")
_READERS: Final[Mapping[str, Callable[[TimeWords, int], Found | None]]] = {
    **dict.fromkeys((*ARTICLES, "one", *VAGUE_NUMBERS, "half", "quarter"), TimeWords.read_duration),
    **dict.fromkeys(_MONTH_NAMES, TimeWords.read_month),
    **dict.fromkeys(SEASONS, TimeWords.read_season),
    **dict.fromkeys(_QUARTERS, TimeWords.read_quarter),
    **dict.fromkeys(PARTS_OF_A_DAY, TimeWords.read_part_of_day),
    **dict.fromkeys(_WEEKDAY_NAMES, TimeWords.read_weekday_of_week),
    **dict.fromkeys(_THIRDS, TimeWords.read_third),
    **dict.fromkeys(_DAY_WORDS, TimeWords.read_day_word),
    **dict.fromkeys(("last", "past", "previous"), TimeWords.read_last),
    **dict.fromkeys(("week", "weekend", "month", "year"), TimeWords.read_unit),
    **dict.fromkeys(("recently", "lately"), TimeWords.read_recently),
    "this": TimeWords.read_this,
    "next": TimeWords.read_next,
    "earlier": TimeWords.read_earlier,
    "day": TimeWords.read_day_beyond,
    "other": TimeWords.read_other_day,
    "tonight": TimeWords.read_tonight,
}
EXACT_STARTS: Final = frozenset(_READERS)
# Names of times that a text about them may have.
NAMES: Final = (*_MONTH_NAMES, *_WEEKDAY_NAMES, *SEASONS, *FEASTS)
