"""Near duplicates: the same words of the same speaker about the same day.

The rule is careful: a number, a name or a `not` makes a difference, and what happened twice was said twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final

from perdure.model import Json, Record
from perdure.text.words import searchable, terms

_LOOKED_AT: Final = 4096
_ARTICLES: Final = frozenset({"a", "an", "the"})
_NEGATIONS: Final = frozenset({"no", "not", "never", "none", "nor", "t", "don", "cannot", "without"})
_TOGETHER: Final = 3
_ALIKE: Final = 0.9


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
