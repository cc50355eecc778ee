"""How well a ranking answers. Pure functions, each with the name that others use for it."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Final

import numpy as np

_RESAMPLES: Final = 2000
_SEED: Final = 20260314


def ndcg(ranking: Sequence[str], gold: Collection[str], k: int = 10) -> float:
    """With the logarithm of 2 from the first rank on, as MTEB has it."""
    gained = sum(1 / math.log2(rank + 2) for rank, name in enumerate(ranking[:k]) if name in gold)
    return gained / sum(1 / math.log2(rank + 2) for rank in range(min(k, len(gold))))


def share_found(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    """R@k: the share of the gold documents among the first k."""
    return len(set(ranking[:k]) & set(gold)) / len(gold)


def any_found(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    return float(bool(set(ranking[:k]) & set(gold)))


def all_found(ranking: Sequence[str], gold: Collection[str], k: int) -> float:
    return float(set(gold) <= set(ranking[:k]))


def reciprocal_rank(ranking: Sequence[str], gold: Collection[str]) -> float:
    return next((1 / rank for rank, name in enumerate(ranking, 1) if name in gold), 0.0)


def interval(values: Sequence[float]) -> tuple[float, float]:
    """95 %, by drawing as many questions with repetition, often."""
    drawn = np.random.default_rng(_SEED).integers(len(values), size=(_RESAMPLES, len(values)))
    means = np.asarray(values)[drawn].mean(axis=1)
    low, high = np.quantile(means, (0.025, 0.975))
    return float(low), float(high)
