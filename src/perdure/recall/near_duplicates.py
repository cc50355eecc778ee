"""Near duplicates: the same words of the same speaker about the same day.

The rule is careful: a number, a name or a `not` makes a difference, and what happened twice was said twice.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Final, NamedTuple

from perdure.model import Json, Record
from perdure.text.words import searchable, terms

_LOOKED_AT: Final = 4096
_ARTICLES: Final = frozenset({"a", "an", "the"})
NEGATIONS: Final = frozenset({"no", "not", "never", "none", "nor", "t", "don", "cannot", "without"})
_TOGETHER: Final = 3
_ALIKE: Final = 0.9
# Cache of texts and the longest text in it: about a megabyte.
_TEXTS_KNOWN: Final = 1024
_SHORT: Final = 512
_known: Final[dict[tuple[int, int], _Runs]] = {}
_NO_WORDS: Final = 0


class _Runs(NamedTuple):
    """The words of a text, and the runs of three in it, as hashes: what is kept of a text must not tell it."""

    words: int
    runs: frozenset[int]

    @classmethod
    def of(cls, text: str) -> _Runs:
        words = _words(text)
        runs = (words[at : at + _TOGETHER] for at in range(max(1, len(words) - _TOGETHER + 1)))
        return cls(hash(words) if words else _NO_WORDS, frozenset(map(hash, runs)))


@dataclass(frozen=True, slots=True)
class Shingles:
    """`origin`: who said it, when it became true, and, of a text longer than what is looked at or without a word, which
    one it is: that is like none but itself.
    """

    text: str
    runs: _Runs
    origin: tuple[Json, object, str]

    @classmethod
    def of(cls, record: Record) -> Shingles:
        text = record.text[:_LOOKED_AT]
        key = (hash(text), len(text))
        if (runs := _known.get(key)) is None:
            runs = _Runs.of(text)
            if len(text) <= _SHORT:
                if len(_known) >= _TEXTS_KNOWN:
                    _known.clear()
                _known[key] = runs
        speaker = record.metadata.get("speaker")
        day = record.valid_at.date() if record.valid_at else None
        itself = record.content_hash if len(record.text) > _LOOKED_AT or runs.words == _NO_WORDS else ""
        return cls(text, runs, (speaker if isinstance(speaker, str) else None, day, itself))


def is_near_duplicate(first: Shingles, second: Shingles) -> bool:
    ours, theirs = first.runs, second.runs
    if first.origin != second.origin:
        return False
    if ours.words == theirs.words:
        return True
    count, others = len(ours.runs), len(theirs.runs)
    if count < _ALIKE * others or others < _ALIKE * count:
        return False
    shared = len(ours.runs & theirs.runs)
    if shared < _ALIKE * (count + others - shared):
        return False
    own, other = Counter(_words(first.text)), Counter(_words(second.text))
    # A negation or a number turns a sentence into another one.
    different = (*(own - other), *(other - own))
    return not any(term in NEGATIONS or any(map(str.isdigit, term)) for term in different)


def _words(text: str) -> tuple[str, ...]:
    return tuple(term for term in terms(searchable(text)) if term not in _ARTICLES)
