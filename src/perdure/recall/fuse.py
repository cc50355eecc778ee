"""From two lists of candidates to one ranking. Pure functions; numpy is needed only where there are vectors.

Each signal is brought to 0..1 and weighted; where one is missing, the other has its weight, too. For words 0 is no word
in common. For meaning 0 is what a memory that has nothing to do with the query may reach by chance, estimated from a
sample of all memories: this zero depends neither on which candidates happen to be compared nor on how many memories
there are. 1 is the best of this one answer: scores compare the hits of one answer, never those of two.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.model import Signal
from perdure.recall.recipe import Recipe, Structure

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from perdure.recall.surroundings import Raise, Setting

_DEVIATIONS: Final = 2.0
# Cosines that differ by less than this say the same. It keeps two memories that are equally near from being 0 and 1.
_LEAST_SPREAD: Final = 0.05
# Shares are rounded, so that the last bits of a float never decide between two memories.
_DECIMALS: Final = 6


class Weights(NamedTuple):
    keyword: float
    vector: float

    @property
    def without_vector(self) -> Weights:
        """For a memory whose vector is still to come: words, if they count at all, count for both."""
        return Weights(self.keyword + self.vector if self.keyword else 0.0, 0.0)


class Ranked(NamedTuple):
    """`place` is which of the namespaces asked for."""

    place: int
    number: int
    score: float
    explain: Mapping[str, Signal]


class Word(NamedTuple):
    """A memory found by words alone."""

    place: int
    number: int
    score: float


@dataclass(frozen=True, slots=True)
class Pool:
    """The candidates of all namespaces as columns. Each has both scores; `by_keyword` and `by_vector` say which lists
    it was on, `present` whether it has a vector at all. `chance` is the sample of cosines. `setting` is what stands
    around each, where that is known and counts.
    """

    place: NDArray[np.intp]
    number: NDArray[np.int64]
    keyword: NDArray[np.float32]
    cosine: NDArray[np.float32]
    present: NDArray[np.bool_]
    by_keyword: NDArray[np.bool_]
    by_vector: NDArray[np.bool_]
    chance: NDArray[np.float32]
    setting: Setting | None = None


def weigh(recipe: Recipe, *, keyword: bool, vector: bool) -> Weights:
    """The recipe's weights as shares of 1; a signal that is missing leaves its share to the other."""
    by_words = recipe.keyword_weight if keyword else 0.0
    by_meaning = recipe.vector_weight if vector else 0.0
    total = by_words + by_meaning
    if total <= 0:
        return Weights(float(keyword), float(vector and not keyword))
    return Weights(by_words / total, by_meaning / total)


def rank_words(found: Iterable[Word], limit: int) -> list[Ranked]:
    """The ranking by words alone, where the words' share is the whole score."""
    matched = [word for word in found if word.score > 0]
    top = max((word.score for word in matched), default=0.0)
    shares = [(round(word.score / top, _DECIMALS), word) for word in matched]
    shares.sort(key=lambda one: (-one[0], -one[1].number, one[1].place))
    return [
        Ranked(word.place, word.number, share, {"keyword": Signal(word.score, rank, share, 1.0, share)})
        for rank, (share, word) in enumerate(shares[:limit], 1)
    ]


def rank(pool: Pool, weights: Weights, limit: int, structure: Structure | None = None) -> list[Ranked]:
    """Best first; of equal ones the newer, then the one in the namespace named first."""
    import numpy as np

    by_words = keyword_shares(pool.keyword)
    by_meaning = vector_shares(pool.cosine, pool.present, pool.chance)
    word_weights = np.where(pool.present, weights.keyword, weights.without_vector.keyword)
    score = word_weights * by_words + weights.vector * by_meaning
    raised = None
    if pool.setting is not None and structure:
        from perdure.recall.surroundings import lift

        raised = lift(score, pool.setting, structure)
        score = raised.score
    best = np.lexsort((pool.place, -pool.number, -score))[:limit]
    # No word in common, and no nearer than chance: that is no answer.
    best = best[score[best] > 0]
    shares = zip(by_words[best].tolist(), by_meaning[best].tolist(), strict=True)
    places = _ranks(pool, best)
    ranked = [_explained(pool, weights, *each) for each in zip(best.tolist(), shares, places, strict=True)]
    if raised is None:
        return ranked
    return [_raised(one, raised.signals(row)) for one, row in zip(ranked, best.tolist(), strict=True)]


def keyword_shares(scores: NDArray[np.float32]) -> NDArray[np.float64]:
    top = float(scores.max(initial=0.0))
    return (scores.astype(float) / top if top > 0 else scores.astype(float)).round(_DECIMALS)


def vector_shares(
    cosines: NDArray[np.float32], present: NDArray[np.bool_], chance: NDArray[np.float32]
) -> NDArray[np.float64]:
    import numpy as np

    top = float(np.where(present, cosines, -1.0).max(initial=-1.0))
    floor = min(chance_floor(chance), top - _LEAST_SPREAD)
    shares = np.maximum((cosines.astype(float) - floor) / (top - floor), 0.0).round(_DECIMALS)
    return shares * present


def chance_floor(chance: NDArray[np.float32]) -> float:
    """Below this a cosine says nothing: of memories taken at random about one in forty is farther away."""
    if not len(chance):
        return 1.0
    mean = float(chance.sum()) / len(chance)
    variance = float(chance @ chance) / len(chance) - mean * mean
    return mean - max(_DEVIATIONS * max(variance, 0.0) ** 0.5, _LEAST_SPREAD)


def ranks(pool: Pool) -> list[tuple[int | None, int | None]]:
    """Where each candidate stands on the list by words and on the one by meaning."""
    import numpy as np

    return _ranks(pool, np.arange(len(pool.number)))


def _ranks(pool: Pool, rows: NDArray[np.intp]) -> list[tuple[int | None, int | None]]:
    keyword = _rank_among(pool, pool.keyword, pool.by_keyword, rows)
    return list(zip(keyword, _rank_among(pool, pool.cosine, pool.by_vector, rows), strict=True))


def _rank_among(
    pool: Pool, values: NDArray[np.float32], listed: NDArray[np.bool_], rows: NDArray[np.intp]
) -> Sequence[int | None]:
    import numpy as np

    order = np.lexsort((pool.place, -pool.number, -values, ~listed))
    ranks = np.empty(len(values), np.intp)
    ranks[order] = np.arange(1, len(values) + 1)
    return [place if on_it else None for place, on_it in zip(ranks[rows].tolist(), listed[rows].tolist(), strict=True)]


def _explained(
    pool: Pool, weights: Weights, row: int, shares: tuple[float, float], ranks: tuple[int | None, int | None]
) -> Ranked:
    own = weights if pool.present[row] else weights.without_vector
    raw = (float(pool.keyword[row]), float(pool.cosine[row]))
    explain = {
        name: Signal(raw[which], ranks[which], shares[which], own[which], own[which] * shares[which])
        for which, name in enumerate(("keyword", "vector"))
        if own[which]
    }
    score = sum(signal.contribution for signal in explain.values())
    return Ranked(int(pool.place[row]), int(pool.number[row]), score, explain)


def _raised(one: Ranked, raised: Raise) -> Ranked:
    """With what surroundings add; words and meaning weigh less beside them."""
    own = {
        name: replace(signal, weight=signal.weight * raised.own, contribution=signal.contribution * raised.own)
        for name, signal in one.explain.items()
    }
    explain = {**own, **raised.signals}
    return one._replace(score=sum(signal.contribution for signal in explain.values()), explain=explain)
