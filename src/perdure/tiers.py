"""The six tiers of a memory: how much each counts, how fast it fades, when it expires. Pure functions of values."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final

from perdure.model import CONFIDENCE_LABELS, Record
from perdure.values import value_class


@value_class
class Tier:
    """`expires_after` counts in days from the moment the tier is chosen; None: never by itself."""

    boost: float
    decay_per_day: float
    floor: float
    expires_after: int | None = None


# Only a person may give a memory this tier, or take it away.
ONLY_PEOPLE: Final = "constitutional"

TIERS: Final[Mapping[str, Tier]] = {
    "constitutional": Tier(3.0, 0.0, 1.0),
    "critical": Tier(2.0, 0.001, 0.5),
    "important": Tier(1.5, 0.005, 0.3),
    "normal": Tier(1.0, 0.01, 0.1, expires_after=90),
    "temporary": Tier(0.5, 0.05, 0.1, expires_after=7),
    # A deprecated memory leaves ordinary results at once; an expiry date would hide it from every question.
    "deprecated": Tier(0.25, 0.1, 0.05),
}
MAX_BOOST: Final = 3.0

# What a memory of low trust may say about itself: more is not believed.
MOST_BELIEVED_OBSERVATIONS: Final = 10
MOST_BELIEVED_CONFIDENCE: Final = CONFIDENCE_LABELS["medium"]

# A memory that was judged this often, and this confidently, may become critical; somebody has to say so.
PROMOTION_VALIDATIONS: Final = 5
PROMOTION_CONFIDENCE: Final = 0.9
PROMOTED_TO: Final = "critical"
# In a memory's metadata: the tier a model would give it, if a person agreed.
PROPOSED: Final = "proposed_tier"


def believed_observations(record: Record) -> int:
    count = record.observation_count
    return min(count, MOST_BELIEVED_OBSERVATIONS) if record.trust == "low" else count


def believed_confidence(record: Record) -> float:
    return min(record.confidence, MOST_BELIEVED_CONFIDENCE) if record.trust == "low" else record.confidence


def last_used(record: Record) -> datetime:
    """The latest of access, recall and change."""
    used = (record.accessed_at, record.recalled_at)
    return max((record.updated_at, *(moment for moment in used if moment)))


def expiry(tier: str, chosen_at: datetime) -> datetime | None:
    days = TIERS[tier].expires_after
    return None if days is None else chosen_at + timedelta(days=days)


def offered_tier(record: Record) -> str | None:
    """The tier that `promote` would give this memory without being told: what a model proposed, or what it earned. It
    is higher than the one it has.
    """
    proposed = record.metadata.get(PROPOSED)
    if isinstance(proposed, str) and proposed in TIERS and TIERS[proposed].boost > TIERS[record.tier].boost:
        return proposed
    earned = record.validation_count >= PROMOTION_VALIDATIONS and record.confidence >= PROMOTION_CONFIDENCE
    return PROMOTED_TO if earned and TIERS[record.tier].boost < TIERS[PROMOTED_TO].boost else None
