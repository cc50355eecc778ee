"""Questions about time, made from LoCoMo's own dates, with the clock five minutes after the last turn.

A question about a time alone is answered by whatever is of that time: measured is the share of the first ten that are,
divided by the most that could be. A question about something *and* a time is one of LoCoMo's, with the date of its
evidence added: measured is nDCG@10.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import count
from pathlib import Path
from statistics import fmean
from typing import Final, TypeAlias

from bench.recall.data import ADVERSARIAL, Collection, Question
from bench.recall.measures import ndcg
from perdure import Memory
from perdure.embed.port import Embedder
from perdure.location import locate
from perdure.settings import Settings

AFTER: Final = timedelta(minutes=5)
WORDINGS: Final = (
    "What did we talk about {}?",
    "What did we discuss {}?",
    "Remind me what came up {}.",
    "Can you summarize our conversation {}?",
    "What happened {}?",
    "What sorts of things did we discuss {}?",
)
_MOST: Final = 4
_NOON: Final = 12
_ORDINALS: Final = (
    "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth", "tenth", "eleventh",
    "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth", "seventeenth", "eighteenth", "nineteenth",
    "twentieth", *(f"twenty-{one}" for one in ("first", "second", "third", "fourth", "fifth")), "twenty-sixth",
    "twenty-seventh", "twenty-eighth", "twenty-ninth", "thirtieth", "thirty-first",
)  # fmt: skip
_NUMBERS: Final = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_HAS_TIME: Final = re.compile(
    r"\d|\b(?:ago|last|week|month|year|when|january|february|march|april|may|june|july|august|september|october"
    r"|november|december|recent\w*|today|yesterday)\b",
    re.IGNORECASE,
)

_Turn: TypeAlias = tuple[datetime, str, str]


@dataclass(frozen=True, slots=True)
class Asked:
    """A question of one kind. `found` are the names of the first ten."""

    kind: str
    text: str
    gold: frozenset[str]
    found: Sequence[str] = ()

    @property
    def share(self) -> float:
        """Of the first ten, those of the time, divided by the most that could be."""
        return len(set(self.found[:10]) & self.gold) / min(10, len(self.gold))


@dataclass(frozen=True, slots=True)
class TimeResults:
    """The questions about a time alone by kind, and nDCG@10 of those about something and a time by kind."""

    alone: Mapping[str, Sequence[Asked]]
    content: Mapping[str, Sequence[Asked]]

    def shares(self) -> dict[str, tuple[int, float]]:
        return {kind: (len(asked), fmean(one.share for one in asked)) for kind, asked in self.alone.items()}

    def ndcgs(self) -> dict[str, tuple[int, float]]:
        return {
            kind: (len(asked), fmean(ndcg(one.found, one.gold) for one in asked))
            for kind, asked in self.content.items()
        }


def measured(collections: Sequence[Collection], embedder: Embedder) -> TimeResults:
    """Each conversation in a namespace of its own, asked five minutes after its last turn."""
    now = datetime.min.replace(tzinfo=UTC)
    alone: dict[str, list[Asked]] = {}
    content: dict[str, list[Asked]] = {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(store=locate(path), cache=Path(folder), actor="bench")
        with Memory(path, embedder=embedder, settings=settings, clock=lambda: now) as memory:
            for collection in collections:
                now = now_of(collection)
                own = memory.namespace(collection.name)
                own.import_(collection.memories)
                own.work()
                for questions, answers in ((about_time(collection), alone), (with_content(collection), content)):
                    for one in questions:
                        found = [str(hit.record.metadata["name"]) for hit in own.recall(one.text, limit=10)]
                        answers.setdefault(one.kind, []).append(Asked(one.kind, one.text, one.gold, found))
    return TimeResults(alone, content)


def now_of(collection: Collection) -> datetime:
    return max(turn[0] for turn in _turns(collection)) + AFTER


def about_time(collection: Collection) -> Iterator[Asked]:
    """Up to four of each kind, in turns in each wording."""
    wording = count()
    for kind, whens in _times(collection).items():
        for when, gold in _spread(whens):
            if gold:
                yield Asked(kind, WORDINGS[next(wording) % len(WORDINGS)].format(when), frozenset(gold))


def with_content(collection: Collection) -> Iterator[Asked]:
    """The questions that name no time, whose evidence is of one day, with that day or its month."""
    dates = {name: moment for moment, _, name in _turns(collection)}
    for question in collection.questions:
        days = {dates[name] for name in question.gold}
        if len(days) != 1 or question.category == ADVERSARIAL or _HAS_TIME.search(question.text):
            continue
        day, text = next(iter(days)), question.text.rstrip("?. ")
        yield from _dated(question, text, day)


def _dated(question: Question, text: str, day: datetime) -> Iterator[Asked]:
    yield Asked("without a time", question.text, question.gold)
    yield Asked("… on 8 May", f"{text} on {day.day} {day:%B}?", question.gold)
    yield Asked("… in May", f"{text} in {day:%B}?", question.gold)


def _times(collection: Collection) -> dict[str, list[tuple[str, list[str]]]]:
    """For each kind the words of a time, and the turns of that time."""
    turns, now = _turns(collection), now_of(collection)
    days = sorted({moment.date() for moment, *_ in turns})
    sessions = list(dict.fromkeys(session for _, session, _ in turns))
    months = sorted({(day.year, day.month) for day in days})
    today = now.date()

    def of_days(first: date, last: date) -> list[str]:
        return [name for moment, _, name in turns if first <= moment.date() <= last]

    def of_sessions(first: int, last: int) -> list[str]:
        return [name for _, session, name in turns if session in sessions[first : last + 1]]

    def of_month(year: int, month: int) -> list[str]:
        return [name for moment, _, name in turns if (moment.year, moment.month) == (year, month)]

    week = [day for day in days if timedelta(0) < today - day <= timedelta(days=7)]
    pairs = list(zip(days, days[3:], strict=False))
    back = [(today.year - year) * 12 + today.month - month for year, month in months]
    return {
        "on 8 May": [(f"on {day.day} {day:%B}", of_days(day, day)) for day in days[:-1]],
        "on May 8th": [(f"on {day:%B} {_nth(day.day)}", of_days(day, day)) for day in days[1:-1]],
        "on July third": [(f"on {day:%B} {_ORDINALS[day.day - 1]}", of_days(day, day)) for day in days[1:-1]],
        "167 days ago": [(f"{(today - day).days} days ago", of_days(day, day)) for day in days[2:-1]],
        "five months ago": [
            (f"{_NUMBERS[ago - 1] if ago <= len(_NUMBERS) else ago} month{'s' * (ago > 1)} ago", of_month(*month))
            for ago, month in zip(back, months, strict=True)
            if ago
        ],
        "last Friday": [(f"last {day:%A}", of_days(day, day)) for day in week],
        "over the last three days": [
            (f"over the last {_NUMBERS[span - 1]} days", [n for m, _, n in turns if m >= now - timedelta(days=span)])
            for span in (2, 3, 5, 7)
        ],
        "earlier today": [("earlier today", of_days(today, today)), ("today", of_days(today, today))],
        "earlier this morning": [("earlier this morning", of_days(today, today))] if now.hour < _NOON else [],
        "in May": [(f"in {datetime(*month, 1, tzinfo=UTC):%B}", of_month(*month)) for month in months],
        "between 8 May and 9 June": [
            (f"between {first.day} {first:%B} and {last.day} {last:%B}", of_days(first, last)) for first, last in pairs
        ],
        "in our first session": [
            *((f"in our {_ORDINALS[which]} session", of_sessions(which, which)) for which in (0, 1, 3)),
            ("the first time we spoke", of_sessions(0, 0)),
        ],
        "three sessions ago": [
            (f"{_NUMBERS[ago - 1]} sessions ago", of_sessions(len(sessions) - 1 - ago, len(sessions) - 1 - ago))
            for ago in (2, 3, 5, 8)
        ],
        "in sessions 2 through 4": [
            (f"in sessions {first} through {first + 2}", of_sessions(first - 1, first + 1)) for first in (1, 2, 6, 9)
        ],
        "in our fourteenth session": [
            (f"in our {_ORDINALS[which]} session", of_sessions(which, which)) for which in (5, 8, 11, 13)
        ],
        "from the third through fifth sessions": [
            (f"from the {_ORDINALS[first]} through {_ORDINALS[first + 2]} sessions", of_sessions(first, first + 2))
            for first in (0, 2, 5, 9)
        ],
        "last time we spoke": [
            (when, of_sessions(len(sessions) - 2, len(sessions) - 2))
            for when in ("last time we spoke", "in our last session", "in the previous conversation")
        ],
    }


def _turns(collection: Collection) -> list[_Turn]:
    """When, in which session, and the name of each turn."""
    return [
        (datetime.fromisoformat(one["valid_at"]), one["session_id"], one["metadata"]["name"])
        for one in collection.memories
    ]


def _spread(whens: Sequence[tuple[str, list[str]]]) -> list[tuple[str, list[str]]]:
    step = max(1, len(whens) / _MOST)
    return [whens[int(place * step)] for place in range(min(_MOST, len(whens)))]


def _nth(day: int) -> str:
    teen = day in {11, 12, 13}
    return f"{day}{'th' if teen else {1: 'st', 2: 'nd', 3: 'rd'}.get(day % 10, 'th')}"
