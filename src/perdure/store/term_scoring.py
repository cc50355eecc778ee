"""What a memory's own words are worth for a query, by the packed terms of its index entry. BM25 over words that may be
made of several.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from perdure.text.bm25 import TermWorths, WordCounts, length_norm, saturation
from perdure.text.entry import TERM_BYTES, term_hash, terms_length
from perdure.text.words import QueryStems, all_words, query_stems


class QueryTerms:
    """The stems of a query, each with one word for it. `terms` are the hashes of the stems, `parts` those of the parts
    of a stem that is made of several, and `words` has a word for each stem and each part.
    """

    def __init__(self, words: Sequence[str]) -> None:
        # A store is asked for single words, whatever the caller took for words.
        self.stems: QueryStems = query_stems([word for text in words for word in all_words(text)])
        self.terms = list(map(term_hash, self.stems.words))
        self.parts = {term_hash(stem): tuple(map(term_hash, parts)) for stem, parts in self.stems.parts.items()}

    @property
    def words(self) -> Mapping[str, str]:
        return self.stems.words | {stem: part for parts in self.stems.parts.values() for stem, part in parts.items()}


class TermScorer:
    """`own` is how many memories of the namespace hold each term; `counts` are those of all that are searched."""

    def __init__(self, query: QueryTerms, counts: WordCounts, own: Mapping[int, int]) -> None:
        self._average = counts.average
        idf = {term: counts.idf(term, own.get(term, 0)) for term, held in {**counts.containing, **own}.items() if held}
        worths = TermWorths.of(query.terms, query.parts, idf)
        self._worths = [(pack_term(term), worth) for term, worth in worths.words.items()]
        self._wholes = [
            (pack_term(whole.term), whole.worth, [(pack_term(part), worth) for part, worth in whole.parts.items()])
            for whole in worths.wholes
        ]
        # Of a memory that holds a word both whole and in parts, the sum says more than it gets.
        self.worth = Counter(worths.words)
        for whole in worths.wholes:
            self.worth.update({whole.term: whole.worth, **whole.parts})

    def scored(self, rows: Iterable[tuple[int, bytes]]) -> Iterator[tuple[int, float, bytes]]:
        """Of rows with a number and the packed terms, those that have a score, with it in between."""
        average = self._average
        for number, packed in rows:
            norm = length_norm(float(terms_length(packed)), average)
            score = 0.0
            for term, worth in self._worths:
                # Asked here first: most memories hold few of the terms.
                if (at := packed.find(term)) >= 0 and (times := _frequency(packed, term, at)):
                    score += worth * saturation(float(times), norm)
            for whole, worth, parts in self._wholes:
                if times := _frequency(packed, whole):
                    score += worth * saturation(float(times), norm)
                else:
                    held = sum(part_worth for part, part_worth in parts if _frequency(packed, part))
                    score += held * saturation(1.0, norm)
            if score:
                yield number, score, packed


def pack_term(term: int) -> bytes:
    """As it begins in packed terms, at a multiple of `TERM_BYTES`."""
    return term.to_bytes(4, "little")


def _frequency(packed: bytes, term: bytes, at: int = 0) -> int:
    """How often a term stands in packed terms, of which the bytes before `at` do not hold it."""
    at = packed.find(term, at)
    while at >= 0 and at % TERM_BYTES:
        at = packed.find(term, at + 1)
    return packed[at + 4] if at >= 0 else 0
