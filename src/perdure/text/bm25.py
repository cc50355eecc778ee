"""BM25, once, for the index in memory and for the one on disk. Works on numbers and on numpy arrays alike."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, NamedTuple, overload

from perdure.values import value_class

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

# Memories are short: on short turns .9/.4 beats the usual 1.2/.75 (measured, see docs/design.md).
K1: Final = 0.9
B: Final = 0.4
# A longer text is read in windows of about so many words: how often a word stands in it counts for each of them.
WINDOW_WORDS: Final = 100
# What the parts of a word are worth together at most, of what the whole word is.
PARTS_SHARE: Final = 0.25


@value_class
class WordCounts:
    """What a score depends on beside the memory itself: how many memories there are, how many words they have, and how
    many of them hold each term (by its hash). Scores compare only when they come from the same counts.
    """

    documents: int
    words: int
    containing: Mapping[int, int]

    @classmethod
    def together(cls, counts: Iterable[WordCounts]) -> WordCounts:
        every = list(counts)
        if len(every) == 1:
            return every[0]
        documents, words = 0, 0
        containing: Counter[int] = Counter()
        for each in every:
            documents += each.documents
            words += each.words
            containing.update(each.containing)
        return cls(documents, words, containing)

    @property
    def average(self) -> float:
        # Counts that are kept on disk can be wrong, and then a search is still no error.
        return max(self.words, 1) / max(self.documents, 1)

    def idf(self, term: int, seen: int) -> float:
        """How telling a term is: always positive, larger the fewer memories hold it. At least `seen` memories hold it,
        whatever was counted before.
        """
        containing = max(self.containing.get(term, 0), seen)
        documents = max(self.documents, containing)
        return math.log1p((documents - containing + 0.5) / (containing + 0.5))


class WholeWord(NamedTuple):
    """A word such as `parseFile`, and what each of its parts is worth where it does not stand whole."""

    term: int
    worth: float
    parts: Mapping[int, float]


class TermWorths(NamedTuple):
    """What a memory gets for each term that it holds. Of each of `wholes` it gets what the whole word is worth, or else
    what the parts are, each of which counts once.
    """

    words: Mapping[int, float]
    wholes: Sequence[WholeWord]

    @classmethod
    def of(cls, terms: Iterable[int], parts: Mapping[int, Sequence[int]], idf: Mapping[int, float]) -> TermWorths:
        """`idf`: of the terms that any memory holds. Where none holds a word whole, its parts are words like others."""
        words = {term: idf[term] for term in terms if term in idf and term not in parts}
        wholes: list[WholeWord] = []
        for whole, some in parts.items():
            known = {part: idf[part] for part in some if part in idf}
            if whole not in idf:
                words |= known
                continue
            share = min(1.0, PARTS_SHARE * idf[whole] / sum(known.values())) if known else 0.0
            wholes.append(WholeWord(whole, idf[whole], {part: worth * share for part, worth in known.items()}))
        return cls(words, wholes)


@overload
def length_norm(length: float, average: float) -> float: ...
@overload
def length_norm(length: NDArray[np.float32], average: float) -> NDArray[np.float32]: ...
def length_norm(length: float | NDArray[np.float32], average: float) -> float | NDArray[np.float32]:
    """The part of the formula that depends on the memory alone. Up to a window a longer text counts a little less;
    beyond, it counts less by as much as it is longer, so that it neither drowns short ones nor is buried by them.
    """
    over = (length - WINDOW_WORDS) * (length > WINDOW_WORDS)
    norm = K1 * (1 - B) + (length - over) * (K1 * B / min(average, WINDOW_WORDS))
    return norm * (1 + over / WINDOW_WORDS)


@overload
def saturation(frequency: float, norm: float) -> float: ...
@overload
def saturation(frequency: NDArray[np.float32], norm: NDArray[np.float32]) -> NDArray[np.float32]: ...
def saturation(
    frequency: float | NDArray[np.float32], norm: float | NDArray[np.float32]
) -> float | NDArray[np.float32]:
    """How much the n-th occurrence of a word still adds, in 0..K1+1."""
    return frequency * (K1 + 1) / (frequency + norm)
