"""Candidates where a memory counts for what it is, not only for how it matches: every one that matches at all.

Of more memories than are compared so: the best by words, the nearest by meaning, and the most prominent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import numpy as np

from perdure.recall.candidates import candidates_of, fused
from perdure.recall.cut import largest, newest
from perdure.recall.fuse import Pool
from perdure.recall.prominence import prominences
from perdure.recall.recipe import EXACT_ROWS, Recipe
from perdure.recall.search import together
from perdure.recall.standing import DECIMALS, Candidate
from perdure.recall.weights import PROMINENCE, shared_out

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.merits import Merits, Recalls
    from perdure.recall.question import Question
    from perdure.recall.snapshot import Snapshot
    from perdure.text.bm25 import WordCounts

_SPARE: Final = 5


class Field(NamedTuple):
    """A part of the namespace at `place`, which of its rows may be an answer, and what they are worth. Recalls
    take a while to read, so that is left to whoever needs them.
    """

    place: int
    snapshot: Snapshot
    allowed: NDArray[np.bool_] | None
    merits: Merits
    recalls: Recalls


class _Part(NamedTuple):
    """The candidates of one field; `exact` when they are all there are."""

    pool: Pool
    prominence: NDArray[np.float64]
    kinds: NDArray[np.intp]
    exact: bool


def every(
    question: Question, vector: NDArray[np.float32] | None, fields: Sequence[Field], counts: WordCounts | None
) -> list[Candidate]:
    """Those that can be in the answer, by everything that is known without their records."""
    recipe, keyword = question.recipe, bool(question.terms)
    most = max((field.merits.most_observed for field in fields), default=0)
    parts = [_part(question, field, vector, counts, most) for field in fields]
    if not parts:
        return []
    pool = together([part.pool for part in parts])
    shares = fused(recipe, pool, keyword=keyword, vector=vector is not None)
    weights = shared_out(recipe, keyword=shares.keyword is not None, vector=shares.vector is not None)
    # Prominence grows by what is missing, and keeps its proportions.
    total = np.concatenate([part.prominence for part in parts]) * (_of(weights) / _of(recipe.weights))
    for name, share in (("keyword", shares.keyword), ("vector", shares.vector)):
        if share is not None:
            total += weights[name] * share
    enough = recipe.known_by_columns and all(part.exact for part in parts)
    kinds = np.concatenate([part.kinds for part in parts])
    # Some to spare, for those that are gone when their records are fetched.
    count = question.limit + _SPARE if enough else question.candidates
    rows = _best(recipe, pool, total, kinds, count)
    return candidates_of(pool, shares, rows)


def _of(weights: dict[str, float]) -> float:
    return sum(weight for name, weight in weights.items() if name in PROMINENCE)


def _part(
    question: Question, field: Field, vector: NDArray[np.float32] | None, counts: WordCounts | None, most: int
) -> _Part:
    recipe, snapshot = question.recipe, field.snapshot
    scores = snapshot.lexical.scores(question.terms, counts)
    rows = np.flatnonzero(_possible(field, scores, keyword=bool(question.terms), vector=vector is not None))
    exact = len(rows) <= EXACT_ROWS
    # Of too many, the best are scored with their records, and so with their recalls.
    recalls = field.recalls() if exact else np.zeros_like(field.merits.observations)
    columns = field.merits.columns(snapshot.numbers[rows], recalls, question.fading.now)
    prominence = prominences(recipe, columns, most, recipe.weights, DECIMALS)
    if not exact:
        kept = _some(field, rows, scores, prominence, vector, question.candidates)
        rows, prominence = rows[kept], prominence[kept]
    kinds = field.merits.kinds(snapshot.numbers[rows], recipe.balanced_categories)
    return _Part(_pool(field, rows, scores, vector), prominence, kinds, exact)


def _possible(field: Field, scores: NDArray[np.float32], *, keyword: bool, vector: bool) -> NDArray[np.bool_]:
    """What has a word of the question, or any vector to compare with it; without a question everything."""
    snapshot = field.snapshot
    possible = snapshot.alive if field.allowed is None else field.allowed
    if not keyword and not vector:
        return possible
    return possible & ((scores > 0) | snapshot.vectors.present) if vector else possible & (scores > 0)


def _some(
    field: Field,
    rows: NDArray[np.intp],
    scores: NDArray[np.float32],
    prominence: NDArray[np.float64],
    vector: NDArray[np.float32] | None,
    count: int,
) -> NDArray[np.intp]:
    """Where among the rows the best by each of the three stand."""
    numbers = field.snapshot.numbers[rows]
    lists = [newest(largest(values, count), values, numbers, count) for values in (scores[rows], prominence)]
    if vector is not None:
        near = field.snapshot.vectors.nearest(vector, field.allowed, count)
        lists.append(np.searchsorted(rows, near.rows))
    return np.unique(np.concatenate(lists))


def _pool(
    field: Field, rows: NDArray[np.intp], scores: NDArray[np.float32], vector: NDArray[np.float32] | None
) -> Pool:
    vectors = field.snapshot.vectors
    words = scores[rows]
    present = vectors.present[rows] if vector is not None else np.zeros(len(rows), np.bool_)
    nothing = np.zeros(len(rows), np.float32)
    return Pool(
        place=np.full(len(rows), field.place, np.intp),
        number=field.snapshot.numbers[rows],
        keyword=words,
        cosine=nothing if vector is None else _cosines(field, rows, vector),
        present=present,
        by_keyword=words > 0,
        by_vector=present,
        chance=np.zeros(0, np.float32) if vector is None else vectors.sample(vector),
    )


def _cosines(field: Field, rows: NDArray[np.intp], vector: NDArray[np.float32]) -> NDArray[np.float32]:
    """Gathering most rows of a matrix costs more than comparing all."""
    vectors = field.snapshot.vectors
    many = 2 * len(rows) > len(vectors.matrix)
    return np.vecdot(vectors.matrix, vector)[rows] if many else vectors.cosines(vector, rows)


def _best(recipe: Recipe, pool: Pool, total: NDArray[np.float64], kinds: NDArray[np.intp], count: int) -> list[int]:
    """The first `count`, and of each category that is balanced as many as may be needed."""
    chosen = set(newest(np.arange(len(total)), total, pool.number, count).tolist())
    if recipe.balances and len(total) > count:
        for kind in range(len(recipe.balanced_categories)):
            chosen.update(newest(np.flatnonzero(kinds == kind), total, pool.number, recipe.per_category).tolist())
    return sorted(chosen)
