"""The candidates of one namespace: its best by words, its nearest by meaning, each with both scores.

Where several namespaces are asked, `counts` are those of all together, so that their scores compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.clock import to_micros
from perdure.recall.cut import largest, newest
from perdure.recall.fuse import Pool, ranks
from perdure.recall.standing import Candidate, Listing
from perdure.store.port import Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.question import Lookup, Question
    from perdure.recall.snapshot import Snapshot
    from perdure.text.bm25 import WordCounts


def allowed_rows(snapshot: Snapshot, question: Question, lookup: Lookup) -> NDArray[np.bool_] | None:
    """What the ordinary rules and the filter leave; None when that is everything."""
    scope = question.scope
    allowed = snapshot.within(scope, question.moment)
    if snapshot.timed and question.moment < question.known:
        possible = snapshot.alive if allowed is None else allowed
        ended = possible & (snapshot.valid_until <= to_micros(question.known))
        allowed = possible & ~snapshot.holding(lookup.expired(snapshot.numbers[ended].tolist()))
    if not scope.looks_up:
        return allowed
    chosen = snapshot.chosen(scope)
    if chosen is None:
        wanted, unwanted = scope.wanted, scope.unwanted
        chosen = np.ones_like(snapshot.alive) if wanted is None else snapshot.holding(lookup.matching(wanted))
        if unwanted is not None:
            chosen &= ~snapshot.holding(lookup.matching(unwanted))
        snapshot.choose(scope, chosen)
    return chosen if allowed is None else allowed & chosen


def by_words(
    snapshot: Snapshot,
    terms: Sequence[int],
    allowed: NDArray[np.bool_] | None,
    count: int,
    counts: WordCounts | None,
) -> list[Scored]:
    scores = _scores(snapshot, terms, allowed, counts)
    rows = _best(snapshot, scores, count)
    found = zip(snapshot.numbers[rows].tolist(), scores[rows].tolist(), strict=True)
    return [Scored(number, score) for number, score in found]


def by_both(
    snapshot: Snapshot,
    terms: Sequence[int],
    vector: NDArray[np.float32],
    allowed: NDArray[np.bool_] | None,
    count: int,
    place: int,
    counts: WordCounts | None,
) -> Pool:
    scores = _scores(snapshot, terms, allowed, counts)
    worded = _best(snapshot, scores, count) if terms else np.empty(0, np.intp)
    near = snapshot.vectors.nearest(vector, allowed, count)
    nearest = near.rows[newest(np.arange(len(near.rows)), near.cosines, snapshot.numbers[near.rows], count)]
    rows = _union(worded, nearest)
    return Pool(
        place=np.full(len(rows), place, np.intp),
        number=snapshot.numbers[rows],
        keyword=scores[rows],
        cosine=snapshot.vectors.cosines(vector, rows),
        present=snapshot.vectors.present[rows],
        by_keyword=_among(rows, worded),
        by_vector=_among(rows, nearest),
        chance=snapshot.vectors.sample(vector),
    )


def candidates_of(pool: Pool, *, keyword: bool) -> list[Candidate]:
    """The pool row by row; `keyword` is false when no word was asked for."""
    columns = (pool.place, pool.number, pool.keyword, pool.cosine)
    return [
        Candidate(place, number, Listing(word, by_word) if keyword else None, Listing(cosine, by_meaning))
        for place, number, word, cosine, (by_word, by_meaning) in zip(
            *(column.tolist() for column in columns), ranks(pool), strict=True
        )
    ]


def together(pools: Sequence[Pool]) -> Pool:
    if len(pools) == 1:
        return pools[0]
    return Pool(*(np.concatenate([getattr(pool, name) for pool in pools]) for name in Pool.__dataclass_fields__))


def _scores(
    snapshot: Snapshot, terms: Sequence[int], allowed: NDArray[np.bool_] | None, counts: WordCounts | None
) -> NDArray[np.float32]:
    scores = snapshot.lexical.scores(terms, counts)
    if allowed is not None:
        scores *= allowed
    return scores


def _best(snapshot: Snapshot, scores: NDArray[np.float32], count: int) -> NDArray[np.intp]:
    return newest(largest(scores, count), scores, snapshot.numbers, count)


def _union(some: NDArray[np.intp], others: NDArray[np.intp]) -> NDArray[np.intp]:
    """Both without repetition, in ascending order. numpy's own way takes three times as long on so few."""
    rows = np.concatenate([some, others])
    rows.sort()
    return rows[np.concatenate([rows[1:] != rows[:-1], [True]])] if len(rows) else rows


def _among(rows: NDArray[np.intp], chosen: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Which of the rows, in ascending order, are chosen ones."""
    found = np.zeros(len(rows), np.bool_)
    found[np.searchsorted(rows, chosen)] = True
    return found
