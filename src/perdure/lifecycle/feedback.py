"""Judging a memory: each judgement moves its confidence, and a memory that was judged well is offered a better tier."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from perdure import tiers
from perdure.errors import Conflict, NotAllowed
from perdure.lifecycle.tier_policy import apply_tier
from perdure.lifecycle.update import require_active
from perdure.lifecycle.write import Plan, apply_change
from perdure.model import Record, Remembered, replace_record
from perdure.remedies import Remedy, Run
from perdure.tiers import ONLY_PEOPLE

if TYPE_CHECKING:
    from perdure.services import Services


def moved(confidence: float, step: float, *, useful: bool) -> float:
    """Pure: the confidence after one judgement, this share of the way to 1 or to 0. It is never rounded."""
    return confidence + step * ((1.0 if useful else 0.0) - confidence)


def validate(services: Services, record: Record, *, useful: bool) -> Remembered:
    def plan(current: Record, _: datetime) -> Plan:
        require_active(current, "judged")
        judged = replace_record(
            current,
            confidence=moved(current.confidence, services.settings.validation_step, useful=useful),
            validation_count=current.validation_count + 1,
        )
        offered = tiers.offered_tier(judged)
        note = f"It may become {offered}, if you agree: perdure promote {judged.number}"
        return Plan(current, judged, "validate", "validated", (note,) if offered else ())

    return apply_change(services, record, plan)


def promote(services: Services, record: Record, tier: str | None = None) -> Remembered:
    """Accept the tier that is on offer, or give another. Constitutional is for a person to give."""

    def plan(current: Record, at: datetime) -> Plan:
        require_active(current, "promoted")
        chosen = tier or tiers.offered_tier(current)
        if chosen is None:
            raise Conflict(
                f"No tier is on offer for memory #{current.number}, which is {current.tier}.",
                remedy=Remedy(
                    "Name one: ",
                    Run("promote", current.number, tier="important"),
                    f". {tiers.PROMOTED_TO.capitalize()} is offered after {tiers.PROMOTION_VALIDATIONS} validations "
                    f"with a confidence of {tiers.PROMOTION_CONFIDENCE} or more.",
                ),
            )
        if chosen == ONLY_PEOPLE and not services.context.is_person:
            raise NotAllowed("Only a person may make a memory constitutional.")
        if chosen == current.tier and tiers.PROPOSED not in current.metadata:
            return Plan(current, current, "promote", "unchanged", (f"It is {chosen} already.",))
        fields, notes = apply_tier(services, {"tier": chosen}, at, current)
        return Plan(current, replace_record(current, **fields), "promote", "promoted", notes)

    return apply_change(services, record, plan)
