"""What a memory must hold to be an answer at all: each of the concepts, and each of the exact phrases."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from perdure.model import Record
from perdure.recall.phrases import folded, holds
from perdure.text.entry import columns_of, term_hash
from perdure.text.words import MAX_QUERY_WORDS, all_words, query_words, terms

_NOTHING: Final[Mapping[str, int]] = {}


@dataclass(frozen=True)
class Needs:
    """Both as the caller wrote them. A memory holds a concept when it holds all of its telling words, in whatever form
    and order.
    """

    concepts: tuple[str, ...] = ()
    phrases: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.concepts or self.phrases)

    @cached_property
    def stems(self) -> Mapping[str, tuple[str, ...]]:
        """Of each concept; none for one that no memory can hold, because it is no word."""
        return {concept: stems_of(query_words(concept)) for concept in self.concepts}

    @cached_property
    def words(self) -> tuple[str, ...]:
        """What an index is asked for. A memory that has all of these may still lack something."""
        wanted = [word for concept in self.concepts for word in query_words(concept)]
        wanted += [word for phrase in self.phrases for word in all_words(phrase)]
        return tuple(dict.fromkeys(wanted))[:MAX_QUERY_WORDS]

    @cached_property
    def terms(self) -> tuple[int, ...]:
        """The same words, as an index in memory knows them."""
        return tuple(dict.fromkeys(map(term_hash, stems_of(self.words))))

    @cached_property
    def folded_phrases(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(map(folded, self.phrases)))

    @property
    def impossible(self) -> bool:
        return not all(self.stems.values())

    @property
    def told_by_an_index(self) -> bool:
        """Whether holding all the words is all there is to it."""
        return not self.phrases and len(self.words) < MAX_QUERY_WORDS

    def met_by(self, record: Record) -> bool:
        return holds(record, self.folded_phrases) and all(self.counts(record).values())

    def counts(self, record: Record) -> Mapping[str, int]:
        """How often each concept stands in the memory: as often as its rarest word."""
        if not self.concepts:
            return _NOTHING
        held = Counter(terms("\n".join(columns_of(record))))
        return {concept: min((held[stem] for stem in stems), default=0) for concept, stems in self.stems.items()}


NO_NEEDS: Final = Needs()


def stems_of(words: list[str] | tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(terms(" ".join(words))))
