"""Relevance: how likely a memory answers a query, from 0 to 1. It is the one number that people see, that hits are
sorted by and that the floor cuts. It compares between answers, models and stores.

Each signal adds evidence, in log-odds, and relevance is what the sum amounts to. Meaning: how far the cosine is above
what unrelated texts reach. Words: BM25, which counts a word the more, the fewer memories hold it. What is known before
anything is compared: among many memories, or long ones, something is near by chance, and a question of which a large
store does not know the words asks for something else. In a conversation: whether who is meant says it,
whether it only asks, and what the turns around it say, because `Yes, the blue one` shares no word with the question
that it answers.

The weights were fitted on texts of many kinds at once, each kind left out once (bench/recall.md). The functions work on
numbers and on arrays alike, so that a search from disk and one in memory come to the same.
"""

from __future__ import annotations

import math
from functools import lru_cache
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.model import MIN_RELEVANCE
from perdure.recall.signals import DECIMALS

if TYPE_CHECKING:
    from collections.abc import Sequence

    import numpy as np
    from numpy.typing import NDArray

    from perdure.recall.lexical import Lexical
    from perdure.recall.query import ParsedQuery
    from perdure.recall.signals import Values
    from perdure.text.bm25 import WordCounts

# From here on a memory is more likely to answer than not.
ANSWERS: Final = 0.5
# What holds the phrase in quotation marks, or all of the concepts, fits at least so well.
REQUIRED: Final = 0.5
# Where nothing is asked, everything fits.
UNASKED: Final = 1.0
# The evidence with which a memory fits just well enough.
FLOOR: Final = math.log(MIN_RELEVANCE / (1 - MIN_RELEVANCE))

# What a cosine adds that is as far above that of unrelated texts as can be.
MEANING: Final = 3.4
# What a unit of BM25 adds, for each e times as many words as a few pages have, up to a book: in little text every word
# is rare, and to share one says little. Of a long memory so many count at most, so that a few long ones are no book.
_WORDS: Final = 0.025
_WORDS_LEAST: Final = 0.008
_PAGES: Final = 500
_BOOK: Final = 40_000
_COUNTED_OF_EACH: Final = 40
# What it adds to hold a few words that are looked up, if nothing else holds them: who asks for `McDonald` asks for no
# likeness of it. Questions are asked in other words than they are answered, and gain nothing by it.
LOOKED_UP: Final = 1.5
# A prompt says more than one thing and in passing much else: how many times as much its words count as those of a
# question, and what the meaning of its nearest clause adds, as far as it is nearer than one that is said in passing.
PROMPT_WORDS: Final = 2.0
CLAUSE: Final = 0.8
CLAUSE_IN_PASSING: Final = 0.3
# The same of the nearest part of a learning, which tells a rule and a story.
PART: Final = 1.25
# What has to speak for a memory of a notebook that it fits just well enough, and how much more for each e times as many
# memories: among many something is near by chance, and of more than some hundred most are about other things. And
# how much more for each e times as many words as a short sentence has, up to a paragraph: each is one more chance.
# Below a crowd of memories the less so the fewer there are: one long letter is no crowd.
_ENOUGH_IN_NOTEBOOK: Final = 0.25
_NOTEBOOK: Final = 60
_CROWD: Final = 40
_MANY: Final = 500
_SIZE: Final = 0.15
_SHORT: Final = 13
_LONG_TEXT: Final = 64
_LENGTH: Final = 0.36
# How much more, for each e times as many memories as in a notebook, if none of them holds any of the question's words.
# Among few a question asks in other words, among many it asks for something else.
_UNKNOWN: Final = 0.48
# By how much less it says that a memory fits better than that, for each e times as many memories or words: among much
# something always does. From a few sentences to some hundred memories and a long book.
_FEW_OF_BOTH: Final = 10_000
_MANY_WORDS: Final = 60_000
_BY_CHANCE: Final = 0.125
# In a conversation: that who is meant says it, that it is told by an assistant and not asked of it, that it only asks,
# that it is a word or two, that it tells a time where it is asked when.
MEANT: Final = 0.2
# The same of one of several people, by a name that they gave to themselves: what they say does not bear it, so that
# neither words nor meaning tell them from the others.
INTRODUCED: Final = 0.8
ASSISTANT: Final = -1.0
ASKING: Final = -0.2
BRIEF: Final = -0.2
# The same where nothing is asked but who somebody is whose name stands before all that they say: it is near to that.
BRIEF_OF_SPEAKER: Final = -1.0
TELLS_WHEN: Final = 0.3
# How much of what its best neighbour has in advance of it a turn between people gains, and how much if it follows a
# question.
NEIGHBOUR: Final = 0.38
ANSWERING: Final = 0.7
# A turn of fewer words says less than a whole one, and gains less from others.
WHOLE_TURN: Final = 8
# That it is of the time that the question names.
TIME: Final = 2.6
# That what it says holds no more.
OUTDATED: Final = -0.6
# Two statements of one speaker are about the same thing from this cosine on, and answer equally if the evidence for one
# is no more than this below that for the other. Then the newer one counts more by the last digit that is shown.
SAME_THING: Final = 0.75
EQUALLY: Final = 0.2

# The cosine that a question and an unrelated text usually have, with a model that was not measured.
USUALLY_UNRELATED: Final = 0.1
# As many cosines have to be seen before they count as much as what is known of a model, and of a model not known.
_KNOWN_FROM: Final = 32
_UNKNOWN_FROM: Final = 2
# Much farther away than by chance says no more than a little farther does, and does not outweigh the words.
_FARTHEST: Final = -0.1

# By words alone: how much their share counts, and the share with which a memory fits just well enough.
_WORDS_ALONE: Final = 5.0
_ENOUGH: Final = 0.18
# So many memories are imagined beside those of the store. Among few, every word that is there would count as common.
_IMAGINED: Final = 100
# Of a longer question no memory holds all words, and need not.
_LONG: Final = 24
_DOZEN: Final = 12
# So many unknown words are as much as one code. With it a memory fits if no more than five of a thousand hold the code.
_CODES: Final = 2.5
# Of one sentence of the query: how much what it holds counts, and the share with which a memory fits just well enough.
_SENTENCE: Final = 3.2
_OF_SENTENCE: Final = 0.8
_SENTENCE_ENOUGH: Final = 0.25
_SENTENCE_SIZE: Final = 0.04
_SENTENCE_FEW: Final = 10
_DECIMALS: Final = 4

_DOCUMENTS_OF: Final = attrgetter("documents")
_WORDS_OF: Final = attrgetter("words")


class StoreEvidence(NamedTuple):
    """What the size of a store says, beside the number of its memories: `prior` is the evidence for each of them before
    anything is compared, `bm25` what a unit of BM25 adds, `unknown` what it adds that no memory holds any of the
    question's words, and `certainty` how much of the evidence above the floor, or below it, is left.
    """

    memories: int
    prior: float
    bm25: float
    unknown: float
    certainty: float


def unknown_share(counts: WordCounts, query: ParsedQuery) -> float:
    """The share of what the words of a query are worth that no memory holds, not even in parts."""
    holding, parts = counts.containing, query.parts
    unknown = [term for term in query.terms if not (holding.get(term) or any(map(holding.get, parts.get(term, ()))))]
    if not unknown:
        return 0.0
    documents, worths = counts.documents + _IMAGINED, dict[int, float]()
    for term in query.terms:
        containing = holding.get(term, 0)
        worths[term] = math.log1p((documents - containing + 0.5) / (containing + 0.5))
    return round(sum(map(worths.__getitem__, unknown)) / sum(worths.values()), DECIMALS)


def rarity(counts: WordCounts, terms: Sequence[int]) -> float:
    """How rare these words are together: 1 if no memory holds any."""
    documents = counts.documents + _IMAGINED
    held = [counts.containing.get(term, 0) for term in terms]
    worths = [math.log1p((documents - containing + 0.5) / (containing + 0.5)) for containing in held]
    return sum(worths) / (len(worths) * math.log1p(2 * documents + 1))


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


def meaning(cosine: Values, unrelated: float) -> Values:
    """How far a cosine is above that of unrelated texts, from a little below 0 to 1."""
    above = (cosine - unrelated) / max(1.0 - unrelated, 1e-3)
    return (above - _FARTHEST) * (above > _FARTHEST) + _FARTHEST


def store_evidence(places: Sequence[Lexical]) -> StoreEvidence:
    """For the memories of these places together."""
    return _evidence_of(sum(map(_DOCUMENTS_OF, places)), sum(map(_WORDS_OF, places)))


@lru_cache(maxsize=64)
def _evidence_of(memories: int, words: int) -> StoreEvidence:
    length = min(max(words / max(memories, 1), _SHORT), _LONG_TEXT)
    long = min(memories / _CROWD, 1.0) * math.log(length / _SHORT)
    size = math.log(min(max(memories, _NOTEBOOK), _MANY) / _NOTEBOOK)
    counted = min(max(words, 1), _COUNTED_OF_EACH * max(memories, 1), _BOOK)
    both = max(min(memories, _MANY) * min(words, _MANY_WORDS), _FEW_OF_BOTH)
    return StoreEvidence(
        memories=memories,
        prior=FLOOR - _ENOUGH_IN_NOTEBOOK - _SIZE * size - _LENGTH * long,
        bm25=max(_WORDS_LEAST, _WORDS * math.log(counted / _PAGES)),
        unknown=-_UNKNOWN * size,
        certainty=1 / (1 + _BY_CHANCE * math.log(both / _FEW_OF_BOTH)),
    )


def evidence_by_words(coverage: Values) -> Values:
    """For a memory without a vector, or a query without one, which holds this share of what the words are worth."""
    return FLOOR + _WORDS_ALONE * (coverage - _ENOUGH)


def about_the_rest(evidence: Values, coverage: Values) -> Values:
    """How far a memory is about what a question asks beside a time, by its evidence or by its words alone: from 0,
    where it does not fit, to 1, where it is more likely to answer than not.
    """
    more = evidence_by_words(coverage) - evidence
    share = (relevance(evidence + more * (more > 0)) - MIN_RELEVANCE) / (ANSWERS - MIN_RELEVANCE)
    share = share * (share > 0)
    return share + (1.0 - share) * (share > 1)


def evidence_of_sentence(coverage: Values, memories: int) -> Values:
    """For a sentence of the query. That the rest is about something else, or near, says nothing about it."""
    size = _SENTENCE_SIZE * math.log(min(max(memories, 1), _MANY) / _SENTENCE_FEW)
    return FLOOR + _SENTENCE * (_OF_SENTENCE * coverage - size - _SENTENCE_ENOUGH)


def log_odds(share: float) -> float:
    return math.log(share / (1 - share))


def relevance(evidence: Values) -> Values:
    """From evidence to 0..1."""
    # The sign keeps the power from overflowing.
    share = 1 / (1 + math.e ** (-evidence))
    return round(share, _DECIMALS) if isinstance(share, int | float) else share.round(_DECIMALS)
