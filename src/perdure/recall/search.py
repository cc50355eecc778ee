"""The candidates of one namespace: its best by words, its nearest by meaning, each with both scores.

Where several namespaces are asked, `counts` are those of all together, so that their scores compare.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.recall.cut import largest, newest
from perdure.recall.fuse import Pool
from perdure.store.port import Scored

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.snapshot import Snapshot
    from perdure.text.bm25 import WordCounts


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
