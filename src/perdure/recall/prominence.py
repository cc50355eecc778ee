"""How much a memory stands out whatever is asked: often said, sure, fresh, often recalled. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.model import Record
from perdure.recall.recipe import Recipe

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_DAY: Final = timedelta(days=1)


class Shares(NamedTuple):
    """Each from 0 to 1."""

    observations: float
    confidence: float
    recency: float
    recalls: float


class Columns(NamedTuple):
    """Of many memories at once; `days` since each was updated."""

    observations: NDArray[np.int64]
    confidence: NDArray[np.float64]
    days: NDArray[np.float64]
    recalls: NDArray[np.int64]


def days_since_update(record: Record, now: datetime) -> float:
    """A clock may go backwards; nothing is fresher than now."""
    return max(0.0, (now - record.updated_at) / _DAY)


def shares(recipe: Recipe, record: Record, most_observed: int, now: datetime) -> Shares:
    """`most_observed`: how often the most often said memory was said."""
    return Shares(
        min(record.observation_count / most_observed, 1.0) if most_observed > 0 else 0.0,
        min(max(record.confidence, 0.0), 1.0),
        1.0 / (1.0 + days_since_update(record, now) / recipe.recency_days),
        min(record.recall_count / recipe.recall_cap, 1.0),
    )


def prominences(
    recipe: Recipe, columns: Columns, most_observed: int, weights: Mapping[str, float], decimals: int
) -> NDArray[np.float64]:
    """The weighted sum of the same shares, of many memories at once."""
    import numpy as np

    parts = {
        "observations": np.minimum(columns.observations / max(most_observed, 1), 1.0),
        "confidence": columns.confidence.clip(0.0, 1.0),
        "recency": 1.0 / (1.0 + columns.days.clip(0.0) / recipe.recency_days),
        "recalls": np.minimum(columns.recalls / recipe.recall_cap, 1.0),
    }
    total = np.zeros(len(columns.days))
    for name, part in parts.items():
        if weights.get(name):
            total += weights[name] * part.round(decimals)
    return total
