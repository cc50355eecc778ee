"""Near duplicates: the same words of the same speaker about the same day.

The rule is careful: a number, a name or a `not` makes a difference, and what happened twice was said twice.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, TypeVar

from perdure.ids import LEARNED
from perdure.model import Hit, Json, Record
from perdure.text.stopwords import STOPWORDS
from perdure.text.words import searchable, terms

_LOOKED_AT: Final = 4096
_ARTICLES: Final = frozenset({"a", "an", "the"})
_NEGATIONS: Final = frozenset({"no", "not", "never", "none", "nor", "t", "don", "cannot", "without"})
_TOGETHER: Final = 3
_ALIKE: Final = 0.9
# The share of a fact's words by which a message says it.
TOLD: Final = 0.75
_ADDED_DATES: Final = re.compile(r" \([0-9]{4}[^)]*\)")
_Key = TypeVar("_Key")


@dataclass(frozen=True, slots=True)
class Shingles:
    """`speaker_and_day`: who said it, and when it became true."""

    words: tuple[str, ...]
    runs: frozenset[tuple[str, ...]]
    speaker_and_day: tuple[Json, object]

    @classmethod
    def of(cls, record: Record) -> Shingles:
        words = tuple(term for term in terms(searchable(record.text[:_LOOKED_AT])) if term not in _ARTICLES)
        runs = frozenset(words[at : at + _TOGETHER] for at in range(max(1, len(words) - _TOGETHER + 1)))
        speaker = record.metadata.get("speaker")
        day = record.valid_at.date() if record.valid_at else None
        # A text longer than what is looked at is like none but itself.
        rest = record.content_hash if len(record.text) > _LOOKED_AT or not words else ""
        return cls((*words, rest), runs, (speaker if isinstance(speaker, str) else None, day))


def is_near_duplicate(first: Shingles, second: Shingles) -> bool:
    if first.speaker_and_day != second.speaker_and_day or first.words[-1] != second.words[-1]:
        return False
    if first.words == second.words:
        return True
    few, many = sorted((len(first.runs), len(second.runs)))
    if few < _ALIKE * many:
        return False
    shared = len(first.runs & second.runs)
    if shared < _ALIKE * (len(first.runs) + len(second.runs) - shared):
        return False
    ours, theirs = Counter(first.words), Counter(second.words)
    # A negation or a number turns a sentence into another one.
    different = (*(ours - theirs), *(theirs - ours))
    return not any(term in _NEGATIONS or any(map(str.isdigit, term)) for term in different)


def without_repeats(hits: Mapping[_Key, Hit], limit: int) -> dict[_Key, Hit]:
    """The first hits, best first: of a fact and the messages from which it was learned, the one that stands first."""
    kept: dict[_Key, Hit] = {}
    facts: list[LearnedWords] = []
    messages: list[LearnedWords] = []
    for key, hit in hits.items():
        record = hit.record
        own, others = (facts, messages) if record.source == LEARNED else (messages, facts)
        told = LearnedWords.of(record)
        if any(told.says(other) if own is messages else other.says(told) for other in others):
            continue
        own.append(told)
        kept[key] = hit
        if len(kept) == limit:
            break
    return kept


@dataclass(frozen=True, slots=True)
class LearnedWords:
    """What a learned fact says, or a message, without the dates that were added to it."""

    conversation: str | None
    words: frozenset[str]
    denies: bool

    @classmethod
    def of(cls, record: Record) -> LearnedWords:
        speaker = record.metadata.get("speaker")
        text = _ADDED_DATES.sub("", record.text[:_LOOKED_AT])
        words = frozenset(terms(searchable(f"{speaker if isinstance(speaker, str) else ''} {text}")))
        return cls(record.conversation_id, words - STOPWORDS, not words.isdisjoint(_NEGATIONS))

    def says(self, fact: LearnedWords, share: float = TOLD) -> bool:
        """Whether nearly all words of a fact stand here: what was told in the first person has other forms of verbs. A
        message without any `not` does not say that something is not so.
        """
        if self.conversation is None or self.conversation != fact.conversation or (fact.denies and not self.denies):
            return False
        return len(fact.words & self.words) >= share * len(fact.words)
