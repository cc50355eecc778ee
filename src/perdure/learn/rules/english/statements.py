"""From what somebody says in a conversation to statements, by rules alone.

A statement is a sentence that stands by itself: told in the third person, in the words that were said, with dates for
words such as `yesterday`. Only English is understood; a text in another language gives none.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from datetime import UTC, datetime
from math import prod
from typing import Final

from perdure.learn.rules.english.chat_spelling import plain_spelling
from perdure.learn.rules.english.clause_heads import THIRD, WORD
from perdure.learn.rules.english.guidelines import read_guideline, read_request
from perdure.learn.rules.english.kin import find_kin
from perdure.learn.rules.english.moods import MOODS
from perdure.learn.rules.english.slots import Reading
from perdure.learn.rules.english.speech_acts import clauses
from perdure.learn.rules.english.subjects import SubjectReader, Told
from perdure.learn.rules.english.substance import is_brief
from perdure.learn.rules.english.verbs import BASE, is_past
from perdure.learn.rules.languages import Statement
from perdure.text.calendar_ranges import DAY
from perdure.text.english import is_common
from perdure.text.keyword_terms import language_of
from perdure.text.keyword_words import FUNCTION_WORDS
from perdure.text.time_expressions import TimeRange, find_time_ranges, read_time_range


def statements(text: str, speaker: str, at: datetime, *, listener: str = "assistant") -> list[Statement]:
    """What the speaker tells in one message, in order. `at` is when it was said. Instructions become guidelines only
    where the listener is a role, as `assistant` is, and no person.
    """
    speaker, listener = _name(speaker, "user"), _name(listener, "assistant")
    at = at if at.tzinfo else at.replace(tzinfo=UTC)
    reader = SubjectReader(speaker, listener)
    found: list[Statement] = []
    certain = True
    for clause in clauses(text, listener):
        is_role = listener[0].islower()
        guideline = read_guideline(clause.spoken, speaker, listener) if is_role and not clause.asks else None
        if guideline:
            fact, reading = guideline
            found.append(_statement(Told(fact, listener, reading, 0.9), frozenset(), speaker, at))
        asked = (
            read_request(clause.spoken, speaker, listener) if is_role and not guideline and not clause.asks else None
        )
        if asked:
            found.append(_statement(Told(asked, speaker, Reading(), 0.7), frozenset(), speaker, at))
        words = [match[0].lower() for match in WORD.finditer(clause.text)]
        english = sum(word.partition("'")[0] in _ENGLISH for word in words)
        if not words and not guideline:
            reader.hear(clause.spoken, find_kin(clause.spoken, speaker))
        reads = english >= _SOME_ENGLISH * len(words) or _is_english(words)
        if guideline or not words or not reads or (is_role and _OF_YOU.match(clause.text)):
            continue
        certain = certain and english >= _MUCH_ENGLISH * len(words)
        kin = find_kin(clause.text, speaker)
        facts = [Told(one.fact, speaker, Reading("relationship", one.slot, one.name), 0.8) for one in kin if one.name]
        told = reader.read(clause, kin)
        if told and _tells(told, speaker) and not any(one.only for one in kin):
            facts.append(told)
        found += (_statement(one, frozenset(words), speaker, at) for one in facts)
    return found if certain or is_english(text) else []


def is_english(text: str) -> bool:
    """False for a text in another language, of which rules can tell nothing. What is too short to tell is English."""
    text = plain_spelling(text)
    return (text.isascii() or _is_latin(text)) and language_of(text) == "en"


def _is_latin(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    latin = sum(letter.isascii() or letter < _LAST_LATIN for letter in letters)
    return len(letters) <= 1 or latin * 2 > len(letters)


def _is_english(words: Sequence[str]) -> bool:
    """Whether enough of the words are English ones, also in a short sentence: `Choir practice starts at seven`."""
    known = sum(
        word.partition("'")[0] in _ENGLISH or word in BASE or word in THIRD or is_past(word) or is_common(word)
        for word in words
    )
    return known >= _SOME_ENGLISH * sum(not word[0].isdigit() for word in words)


def _name(name: str, role: str) -> str:
    return " ".join(name.split())[:_LONGEST_NAME].strip() or role


def _tells(told: Told, speaker: str) -> bool:
    """Whether it says something in particular: who somebody is, a value that is no mood, or at least two words."""
    category, slot, value, _ = told.reading
    if slot and category == "identity":
        return True
    own = {match[0].lower() for match in WORD.finditer(speaker)}
    words, values = (
        {match[0].lower().partition("'")[0] for match in WORD.finditer(text)} - own for text in (told.text, value)
    )
    if slot and category != "goal" and values:
        return bool(values - _ENGLISH - MOODS)
    content = words - _ENGLISH - MOODS
    return len(content) > 1 or (bool(content) and is_brief(told.text))


def _statement(told: Told, words: AbstractSet[str], speaker: str, at: datetime) -> Statement:
    """`words` are those of the clause, in lower case, which may make it doubtful, or say when."""
    category, slot, value, affirmed = told.reading
    doubts = (share for marks, share in _DOUBTS if not words.isdisjoint(marks))
    timeless = slot in _TIMELESS or (words.isdisjoint(_TIME_WORDS) and not any(map(str.isdigit, told.text)))
    fact, times = (told.text, []) if timeless else _dated(told, at)
    return Statement(
        fact=fact,
        category=category,
        subject=told.subject,
        slot=slot,
        value=value,
        affirmed=affirmed,
        valid_at=at if category == "goal" else min([*times, at]),
        dated=bool(times),
        confidence=round(prod(doubts, start=told.confidence), 2),
        speaker=speaker,
    )


def _dated(told: Told, at: datetime) -> tuple[str, list[datetime]]:
    """The text with dates behind words such as `yesterday`, and when the times begin that it names. `In May` is the
    last one or the next, as the tense has it, and every one of a habit.
    """
    text, zone = told.text, at.tzinfo or UTC
    times: list[datetime] = []
    parts: list[str] = []
    end = 0
    for found in find_time_ranges(text, at, zone):
        one: TimeRange | None = found
        if told.habit and not _ONE_TIME.search(found.words):
            continue
        if not told.past and found.until and found.until <= at and not _BACKWARD.search(found.words):
            one = read_time_range(found.words, at, zone, ahead=True)
        dates = one and _dates(one)
        if one is None or one.since is None or not dates or _REPEATS.search(text, 0, found.start):
            continue
        times.append(one.since)
        if not _YEAR.search(found.words) and text[found.end : found.end + 1] != "'":
            parts += [text[end : found.end], f" ({dates})"]
            end = found.end
    return "".join((*parts, text[end:])), times


def _dates(time: TimeRange) -> str:
    """In figures: `2023` for a whole year, `2023-03` for a whole month, a day also for an hour of it; empty for
    `recently`, which is from hour to hour and longer.
    """
    if ":" in time.dates:
        is_short = time.since and time.until and time.until - time.since <= DAY
        return f"{time.since.astimezone(time.zone):%Y-%m-%d}" if time.since and is_short else ""
    whole = _WHOLE.fullmatch(time.dates)
    if whole is None:
        return time.dates
    year, month, last_year, last_month, last_day = whole.groups()
    if month == "01" and last_month == "12":
        return year if year == last_year else f"{year} to {last_year}"
    is_month = (year, month) == (last_year, last_month) and int(last_day) >= _SHORTEST_MONTH
    return f"{year}-{month}" if is_month else time.dates


_LONGEST_NAME: Final = 64
_LAST_LATIN: Final = "\u0250"
_ENGLISH: Final = FUNCTION_WORDS["en"]
_SOME_ENGLISH: Final = 0.25
_MUCH_ENGLISH: Final = 0.33
# Hedged, reported, said to somebody.
_DOUBTS: Final = (
    (
        frozenset(
            """
            apparently believe could guess kinda likely maybe might perhaps possibly probably seem seems should someday
            sorta suppose supposed supposedly think would
            """.split()
        ),
        0.6,
    ),
    (frozenset("according claim claimed claims hear heard reportedly said says told".split()), 0.8),
    (frozenset(("you",)), 0.7),
)
# Where there is none of these and no figure, no time is named.
_TIME_WORDS: Final = frozenset(
    """
    ago apr april aug august autumn century christmas day days dec decade december easter evening fall feb february
    fri friday hour hours jan january jul july jun june mar march may midnight minute minutes mon monday month
    months morning night noon nov november oct october sat saturday season second seconds sep sept september spring
    summer sun sunday thu thurs thursday today tomorrow tonight tue tues tuesday wed wednesday week weekend
    weekends weeks winter year years yesterday
    """.split()
)
_TIMELESS: Final = frozenset(("birthday", "born"))
# `I love you`, `I need you to book a table`: said to an assistant, it tells nothing that lasts.
_OF_YOU: Final = re.compile(
    r"(?:[\w']+ ){1,5}?(?:adore|dislike|enjoy|hate|like|love|miss|need|prefer|trust|want) you\b", re.IGNORECASE
)
_YEAR: Final = re.compile(r"\b(?:19|20)\d\d\b")
_WHOLE: Final = re.compile(r"(\d{4})-(\d\d)-01 to (\d{4})-(\d\d)-(\d\d)")
_SHORTEST_MONTH: Final = 28
_BACKWARD: Final = re.compile(
    r"\b(?:ago|earlier|last|past|previous|since|today|yesterday|(?:19|20)\d\d)\b", re.IGNORECASE
)
_ONE_TIME: Final = re.compile(r"\d|\b(?:this|next|last|today|tomorrow|tonight|yesterday|since|ago)\b", re.IGNORECASE)
_REPEATS: Final = re.compile(r"\b(?:every|each|most|per) (?:\w+ )?$", re.IGNORECASE)
