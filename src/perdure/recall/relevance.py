"""Relevance: how well a memory fits a query, from 0 to 1. It compares between answers, models and stores, and does not
depend on the recipe.

Three kinds of evidence are added. Meaning: how far the cosine is above what unrelated texts reach. Words: the share of
the query's words that the memory holds, where rare words count more and a word that no memory holds counts most, such
as the name of somebody unknown. And whether the query names who says it. The same evidence says less among many
memories, where something is always near by chance. What stands in the same conversation as a better match is lent a
part of that match: `Yes, the blue one` shares no word with the question that it answers.

The functions work on numbers and on arrays alike, so that a search from disk and one in memory come to the same. The
constants were chosen on LoCoMo; docs/design.md has the figures.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final

from perdure.model import MIN_RELEVANCE

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.recall.query import ParsedQuery
    from perdure.recall.signals import Values
    from perdure.text.bm25 import WordCounts

# What holds the phrase in quotation marks, or all of the concepts, fits at least so well.
REQUIRED: Final = 0.5
# Where nothing is asked, everything fits.
UNASKED: Final = 1.0
# So many of the best by words, and of the best by meaning, lend to others of their conversation, at most this much.
LENDING: Final = 8
LENT: Final = 0.5

# The cosine that a question and an unrelated text usually have, with a model that was not measured.
USUALLY_UNRELATED: Final = 0.1
# As many cosines have to be seen before they count as much as what is known of a model, and of a model not known.
_KNOWN_FROM: Final = 32
_UNKNOWN_FROM: Final = 2

_FARTHEST: Final = -0.1
_WORDS: Final = 0.8
_NAMED: Final = 0.1
# Among more memories than a few something is near by chance, among fewer nothing is. Above many, most of them are about
# other things.
_SIZE: Final = 0.04
_FEW: Final = 10
_MANY: Final = 1000
# Of a memory without a vector: with a share of 0.18 of the words it fits just well enough.
_WORDS_ALONE: Final = 0.07
# So many memories are imagined beside those of the store. Among few, every word that is there would count as common.
_IMAGINED: Final = 100
# Of a longer question no memory holds all words, and need not.
_LONG: Final = 24
_DOZEN: Final = 12
_ENOUGH: Final = 0.25
# So many unknown words are as much as one code. With it a memory fits if no more than five of a thousand hold the code.
_CODES: Final = 2.5
_STEEPNESS: Final = 5.0
_DECIMALS: Final = 4


def word_worths(counts: WordCounts, query: ParsedQuery) -> list[list[float]]:
    """What each term of a query is worth of all that is asked, of each of its sentences, and of its codes; together at
    most 1.

    Of a long query no memory holds all words: a dozen of them make 1. A sentence is worth two unknown words at least,
    because one word is easily held by chance. A code such as `E1042` counts twice, and few memories that hold it fit
    for that alone: who names it means it. A word made of several parts that no memory holds whole is as common as the
    rarest of its parts.
    """
    documents, terms = counts.documents + _IMAGINED, query.terms
    unknown, worths = math.log1p(2 * documents + 1), dict[int, float]()
    for term in terms:
        containing = counts.containing.get(term, 0)
        if not containing and term in query.parts:
            containing = min(counts.containing.get(part, 0) for part in query.parts[term])
        worths[term] = math.log1p((documents - containing + 0.5) / (containing + 0.5))
    worths |= {term: 2 * worths[term] for term in query.codes}
    every = [*worths.values(), *[unknown] * (query.word_count - len(terms))]
    total = math.fsum(every if len(every) <= _LONG else sorted(every)[-_DOZEN:])
    shares = [[worth / total for worth in worths.values()]]
    for sentence in query.sentences:
        total = max(2 * unknown, math.fsum(worths.get(term, unknown) for term in sentence))
        shares.append([worths[term] / total if term in sentence else 0.0 for term in terms])
    if query.codes:
        total = _CODES * unknown * len(query.codes)
        shares.append([worths[term] / total if term in query.codes else 0.0 for term in terms])
    return shares


def unrelated_cosine(known: float | None, pairs: NDArray[np.float32], chance: NDArray[np.float32]) -> float:
    """The cosine that a query has with memories that have nothing to do with it. `known` is what is usual for the
    model; where that is not known, `pairs`, the cosines of memories with each other, tell it. `chance` are the cosines
    of the query with memories taken at random: the more there are, the more their median counts. One of them may be
    related, and does not count.
    """
    import numpy as np

    cosine = USUALLY_UNRELATED if known is None else known
    for seen, enough in ((pairs, _UNKNOWN_FROM), (chance, _UNKNOWN_FROM if known is None else _KNOWN_FROM)):
        others = len(seen) - 1
        if others > 0:
            median = float(np.partition(seen, others // 2)[others // 2])
            cosine += (median - cosine) * others / (others + enough)
    return cosine


def evidence(cosine: Values, unrelated: float, coverage: Values, named: Values, memories: int) -> Values:
    """For a memory with a vector. `coverage` is the worth of the terms that it holds, `memories` are all that were
    searched.
    """
    meaning = (cosine - unrelated) / max(1.0 - unrelated, 1e-3)
    # Much farther away than by chance says no more than a little farther does, and does not outweigh the words.
    meaning = (meaning - _FARTHEST) * (meaning > _FARTHEST) + _FARTHEST
    size = _SIZE * math.log(min(max(memories, 1), _MANY) / _FEW)
    return meaning + _WORDS * coverage + _NAMED * named - size


def evidence_by_words(coverage: Values) -> Values:
    """For a memory without a vector, or a query without one."""
    return (_WORDS_ALONE + coverage) * (coverage > 0) - _ENOUGH * (coverage <= 0)


def evidence_of_sentence(coverage: Values, memories: int) -> Values:
    """For a sentence of the query. That the rest is about something else, or near, says nothing about it."""
    return evidence(0.0, 0.0, coverage, 0.0, memories)


def relevance(evidence: Values) -> Values:
    """From evidence to 0..1. Where the evidence is just enough, this is `MIN_RELEVANCE`."""
    odds = MIN_RELEVANCE / (1 - MIN_RELEVANCE) * math.e ** (_STEEPNESS * (evidence - _ENOUGH))
    share = odds / (1 + odds)
    return round(share, _DECIMALS) if isinstance(share, int | float) else share.round(_DECIMALS)
