"""Signals: reasons why a memory counts, besides how well it matches. Each is one function with one weight in a recipe.

A signal gives a raw value, for people, and a share from 0 to 1, for the score. The functions work on the numbers of one
memory and on arrays of many alike, so that a search from disk and one in memory weigh the same. Each asks for a feature
once: of many memories it is gathered when it is asked for. To add a signal, write its function, name it in `SIGNALS`,
and give `Recipe.weights` a weight of that name.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from perdure.model import Record, Signal
from perdure.recall.query import SearchRequest
from perdure.recall.recipe import Recipe
from perdure.text.words import searchable, terms
from perdure.tiers import MAX_BOOST, TIERS, Tier, believed_confidence, believed_observations, last_used
from perdure.values import value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.candidates import ArrayFeatures

# Shares are rounded, so that the last bits of a float never decide between two memories.
DECIMALS: Final = 6
# In days, of a memory whose metadata gives none.
DEFAULT_STABILITY: Final = 1.0

Values: TypeAlias = "float | NDArray[Any]"
# What signals look at, of one memory or of many: both have the same properties.
Features: TypeAlias = "RecordFeatures | ArrayFeatures"

_NUMBERS: Final = (int, float)
_STEPS: Final = 10**DECIMALS
_LONGEST_STABILITY: Final = 1e9
_DAY: Final = timedelta(days=1)
# The forgetting curve of FSRS: after as many days as its stability, 0.9 is left.
_FORGETTING_FACTOR: Final = 19 / 81
_FORGETTING_EXPONENT: Final = -0.5


class SignalColumn(NamedTuple):
    """One signal of one candidate or of many. `rank` is the 1-based rank of a candidate, or tells that of a row; it is
    None where a retriever did not find it. An `optional` signal is left out of an explanation where its share is 0.
    """

    raw: Values
    share: Values
    weight: Values
    rank: Callable[[int], int | None] | int | None = None
    about: str = ""
    optional: bool = False


def observations(features: Features, _: SearchRequest) -> tuple[Values, Values]:
    count = features.observations
    return count, _clip(count / features.most_observed)


def confidence(features: Features, _: SearchRequest) -> tuple[Values, Values]:
    value = features.confidence
    return value, _clip(value)


def recency(features: Features, request: SearchRequest) -> tuple[Values, Values]:
    days = features.update_age
    return days, 1.0 / (1.0 + days / request.recipe.recency_days)


def recalls(features: Features, request: SearchRequest) -> tuple[Values, Values]:
    count = features.recalls
    return count, _clip(count / request.recipe.recall_cap)


def tier(features: Features, _: SearchRequest) -> tuple[Values, Values]:
    boost = features.of_tier(lambda _, tier: tier.boost)
    return boost, boost / MAX_BOOST


def decay(features: Features, request: SearchRequest) -> tuple[Values, Values]:
    """What decay leaves of a memory that is not used. Importance 1 and some tiers make immune."""
    days = features.unused_age
    lost = days * features.of_tier(lambda name, tier: request.decay_rates.get(name, tier.decay_per_day))
    left = _clip(1.0 - lost, features.of_tier(lambda _, tier: max(tier.floor, request.decay_floor)))
    exempt = features.of_tier(lambda name, _: not request.use_decay or name in request.decay_exempt)
    return days, left + ((exempt > 0) | (features.importance >= 1.0)) * (1.0 - left)


def anchor(features: Features, _: SearchRequest) -> tuple[Values, Values]:
    matches = features.anchor_matches
    return matches, matches / max(features.query_words, 1)


SIGNALS: Final[Mapping[str, Callable[[Features, SearchRequest], tuple[Values, Values]]]] = {
    "observations": observations,
    "confidence": confidence,
    "recency": recency,
    "recalls": recalls,
    "tier": tier,
    "decay": decay,
    "anchor": anchor,
}
# What prominence is made of.
PROMINENCE: Final = frozenset({"observations", "confidence", "recency", "recalls"})


def weigh(request: SearchRequest, weights: Mapping[str, float], features: Features) -> dict[str, SignalColumn]:
    """The signals that have one of these weights."""
    columns: dict[str, SignalColumn] = {}
    for name, signal in SIGNALS.items():
        if weights.get(name):
            raw, share = signal(features, request)
            columns[name] = SignalColumn(raw, rounded(share), request.recipe.scale * weights[name])
    return columns


def total_of(columns: Mapping[str, SignalColumn]) -> Values:
    """The score: the weighted sum of the shares."""
    total: Values = 0.0
    for column in columns.values():
        total = total + column.weight * column.share
    return total


def forgotten(total: Values, features: Features, request: SearchRequest) -> SignalColumn:
    """What multiplies a score by retrievability: the share that is forgotten is taken away from it."""
    days = features.unused_age
    lost = rounded(1.0 - retrievability(features.stability, days))
    return SignalColumn(days, lost if request.use_decay else 0.0 * days, 0.0 - total)


def retrievability(stability: Values, days: Values) -> Values:
    """How likely something is still remembered, after so many days without use."""
    return (1.0 + _FORGETTING_FACTOR * days / stability) ** _FORGETTING_EXPONENT


def is_stability(value: object) -> bool:
    """Whether a number can be a stability, in days; anything else in a memory's metadata counts as not given."""
    return not isinstance(value, bool) and isinstance(value, _NUMBERS) and 0 < value <= _LONGEST_STABILITY


def effective_weights(recipe: Recipe, *, keyword: bool, vector: bool) -> dict[str, float]:
    """The weight of each signal when words or meaning are missing; their sum is that of the recipe.

    Fusion by rank makes one signal of words and meaning: what one of them lacks, the other has. Otherwise each is a
    signal of its own, and leaves its share to all others.
    """
    weights = dict(recipe.weights)
    missing = {name for name, given in (("keyword", keyword), ("vector", vector)) if not given}
    if recipe.fusion == "rank" and len(missing) == 1:
        matching = {name: weights.pop(name) for name in ("keyword", "vector")}
        return redistribute(matching, missing) | weights
    return redistribute(weights, missing) if missing else weights


def redistribute(weights: Mapping[str, float], missing: Collection[str]) -> dict[str, float]:
    """Weights without the missing ones, in proportion; evenly when none of those that are left has any."""
    left = {name: weight for name, weight in weights.items() if name not in missing}
    total, remaining = sum(weights.values()), sum(left.values())
    if remaining > 0:
        return {name: weight / remaining * total for name, weight in left.items()}
    return {name: total / len(left) for name in left}


def explain(columns: Mapping[str, SignalColumn], row: int = 0) -> dict[str, Signal]:
    """The signals of one candidate. Those without a weight here are left out."""
    signals: dict[str, Signal] = {}
    for name, column in columns.items():
        raw, share, weight = (values if isinstance(values, _NUMBERS) else values[row].item() for values in column[:3])
        if weight and (share or not column.optional):
            rank = column.rank(row) if callable(column.rank) else column.rank
            # Adding zero makes a negative zero positive.
            signals[name] = Signal(raw, rank, share, weight, weight * share + 0.0, column.about)
    return signals


@value_class
class RecordFeatures:
    """The features of one memory, from its record. Ages are in days, and never below 0: a clock may go backwards.
    `most_observed` is the highest count of observations in the namespaces asked that this one is compared with, at
    least 1; `anchor_matches` counts the words of
    the query that stand in the anchor, `query_words` all of them.
    """

    tier: str
    observations: int
    most_observed: int
    confidence: float
    importance: float
    stability: float
    recalls: int
    update_age: float
    unused_age: float
    anchor_matches: int
    query_words: int

    @classmethod
    def of(cls, record: Record, now: datetime, most_observed: int, query_stems: Collection[str]) -> RecordFeatures:
        stability: Any = record.metadata.get("stability")
        return cls(
            tier=record.tier,
            observations=believed_observations(record),
            most_observed=most_observed,
            confidence=believed_confidence(record),
            importance=record.importance,
            stability=float(stability) if is_stability(stability) else DEFAULT_STABILITY,
            recalls=record.recall_count,
            update_age=max(0.0, (now - record.updated_at) / _DAY),
            unused_age=max(0.0, (now - last_used(record)) / _DAY),
            anchor_matches=anchor_matches(record.anchor_id, query_stems),
            query_words=len(query_stems),
        )

    def of_tier(self, value: Callable[[str, Tier], float]) -> float:
        return value(self.tier, TIERS[self.tier])


def anchor_matches(anchor: str | None, query_stems: Collection[str]) -> int:
    """How many words of the query stand in the anchor."""
    return len(set(terms(searchable(anchor))).intersection(query_stems)) if anchor else 0


def rounded(share: Values) -> Values:
    # Not `round(share, DECIMALS)`, which takes the other way where a share lies in the middle.
    return round(share * _STEPS) / _STEPS if isinstance(share, _NUMBERS) else share.round(DECIMALS)


def _clip(values: Values, low: Values = 0.0) -> Values:
    return min(max(values, low), 1.0) if isinstance(values, _NUMBERS) else values.clip(low, 1.0)
