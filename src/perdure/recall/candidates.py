"""From the pool of what was found to candidates with their ranks and shares. Pure functions on arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from perdure.recall.fuse import Pool, keyword_shares, ranks, vector_shares
from perdure.recall.recipe import Recipe
from perdure.recall.standing import DECIMALS, Candidate, Listing
from perdure.recall.weights import shared_out

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Fused(NamedTuple):
    """The share of each candidate by words and by meaning; None for what is missing, or tells nothing here."""

    keyword: NDArray[np.float64] | None
    vector: NDArray[np.float64] | None
    ranks: Sequence[tuple[int | None, int | None]] | None = None


def fused(recipe: Recipe, pool: Pool, *, keyword: bool, vector: bool) -> Fused:
    """`keyword`, `vector`: whether the question has words, whether it has a meaning."""
    if recipe.fusion == "rank":
        every = ranks(pool)
        words, meaning = _rank_shares(recipe, every)
        return Fused(
            words if keyword and pool.by_keyword.any() else None,
            meaning if vector and pool.by_vector.any() else None,
            every,
        )
    if recipe.fusion == "maximum":
        words = by_maximum(pool.keyword, pool.by_keyword) if keyword else None
        return Fused(words, by_maximum(pool.cosine, pool.present) if vector else None)
    return Fused(
        keyword_shares(pool.keyword) if keyword else None,
        vector_shares(pool.cosine, pool.present, pool.chance) if vector else None,
    )


def by_maximum(values: NDArray[np.float32], listed: NDArray[np.bool_]) -> NDArray[np.float64] | None:
    """Divided by the largest, so that equal ones are all 1; below zero counts as zero. None when none is above it."""
    scores = np.where(listed, values, 0.0).astype(float)
    top = float(scores.max(initial=0.0))
    return (scores.clip(0.0) / top).round(DECIMALS) if top > 0 else None


def candidates_of(pool: Pool, shares: Fused, rows: Sequence[int] | None = None) -> list[Candidate]:
    """These rows of the pool, or all."""
    chosen = list(range(len(pool.number))) if rows is None else list(rows)
    at = np.array(chosen, np.intp)
    if shares.ranks is not None or rows is None:
        every = shares.ranks or ranks(pool)
        words, meaning = [every[row][0] for row in chosen], [every[row][1] for row in chosen]
    else:
        words = _standing_at(pool.keyword, pool.by_keyword, at)
        meaning = _standing_at(pool.cosine, pool.by_vector, at)
    listings = (
        _listings(pool.keyword[at], shares.keyword, at, words),
        _listings(pool.cosine[at], shares.vector, at, meaning),
    )
    return [Candidate(*each) for each in zip(pool.place[at].tolist(), pool.number[at].tolist(), *listings, strict=True)]


def _listings(
    values: NDArray[np.float32],
    shares: NDArray[np.float64] | None,
    rows: NDArray[np.intp],
    ranks: Sequence[int | None],
) -> Sequence[Listing | None]:
    if shares is None:
        return [None] * len(rows)
    return [Listing(*each) for each in zip(values.tolist(), ranks, shares[rows].tolist(), strict=True)]


def leading(recipe: Recipe, pool: Pool, shares: Fused, limit: int) -> list[int] | None:
    """The rows that can be in the answer, where how they match says it; None when more has to be known."""
    if recipe.needs_records:
        return None
    weights = shared_out(recipe, keyword=shares.keyword is not None, vector=shares.vector is not None)
    total = np.zeros(len(pool.number))
    for name, share in (("keyword", shares.keyword), ("vector", shares.vector)):
        if share is not None:
            total += weights[name] * share
    return np.lexsort((pool.place, -pool.number, -total.round(DECIMALS)))[:limit].tolist()


def _rank_shares(
    recipe: Recipe, every: Sequence[tuple[int | None, int | None]]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    constant = recipe.rank_constant
    both = [[0.0 if rank is None else (constant + 1) / (constant + rank) for rank in one] for one in every]
    columns = np.array(both, float).reshape(-1, 2).round(DECIMALS)
    return columns[:, 0], columns[:, 1]


def _standing_at(values: NDArray[np.float32], listed: NDArray[np.bool_], rows: NDArray[np.intp]) -> list[int | None]:
    """The rank of a few of many: how many are better. Equal ones share a rank."""
    possible = values if listed.all() else values[listed]
    better = np.count_nonzero(possible[np.newaxis] > values[rows, np.newaxis], axis=1)
    return [rank + 1 if on_it else None for rank, on_it in zip(better.tolist(), listed[rows].tolist(), strict=True)]
