"""What a search finds and nobody looks for: the question itself, as it was asked before, and messages of few words."""

from __future__ import annotations

from typing import Final

from perdure.ids import MESSAGE
from perdure.model import Hit, Record
from perdure.text.patterns import pattern
from perdure.visibility import kind_of

# Fewer words of a message (`yes`, `who am I?`) answer nothing.
_FEWEST_WORDS: Final = 5
_WORD: Final = pattern(r"[^\W_]+")


def is_short_message(record: Record) -> bool:
    return kind_of(record.key or "") == MESSAGE and len(_WORD.findall(record.text)) < _FEWEST_WORDS


def without_same_question(hits: tuple[Hit, ...], question: str) -> tuple[Hit, ...]:
    """The hits without messages that ask the same, word for word."""
    asked = _WORD.findall(question.casefold())
    return tuple(
        hit
        for hit in hits
        if kind_of(hit.record.key or "") != MESSAGE or _WORD.findall(hit.record.text.casefold()) != asked
    )
