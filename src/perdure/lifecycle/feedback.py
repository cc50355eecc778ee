"""Judging a memory: each judgement moves its confidence, and a good record is offered a better tier."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from perdure import tiers
from perdure.errors import Conflict, NotAllowed
from perdure.lifecycle.remember import Plan
from perdure.lifecycle.tier_policy import chosen
from perdure.lifecycle.update import carry_out
from perdure.model import Record, Remembered, replace_record

if TYPE_CHECKING:
    from perdure.services import Services


def moved(confidence: float, step: float, *, useful: bool) -> float:
    """Pure: this share of the way to 1, or to 0."""
    return confidence + step * ((1.0 if useful else 0.0) - confidence)


def validate(services: Services, found: Record, *, useful: bool) -> Remembered:
    def plan(record: Record, _: datetime) -> Plan:
        _require_active(record, "judged")
        judged = replace_record(
            record,
            confidence=moved(record.confidence, services.settings.validation_step, useful=useful),
            validation_count=record.validation_count + 1,
        )
        return Plan(record, judged, "validate", "validated", _offer(judged))

    return carry_out(services, found, plan)


def promote(services: Services, found: Record, tier: str | None = None) -> Remembered:
    """Accept the tier that is on offer, or give another; a person does this, never a model by itself."""
    if not services.context.is_person:
        raise NotAllowed("Promoting a memory is for a person to do.")

    def plan(record: Record, at: datetime) -> Plan:
        _require_active(record, "promoted")
        wanted = tier or tiers.offered_tier(record)
        if wanted is None:
            raise _nothing_offered(record)
        if wanted == record.tier and tiers.PROPOSED not in record.metadata:
            return Plan(record, record, "promote", "unchanged", (f"It is {wanted} already.",))
        fields, notes = chosen(services, {"tier": wanted}, at, record)
        return Plan(record, replace_record(record, **fields), "promote", "promoted", notes)

    return carry_out(services, found, plan)


def _offer(record: Record) -> tuple[str, ...]:
    offered = tiers.offered_tier(record)
    if offered is None:
        return ()
    return (f"It may become {offered}, if you agree: perdure promote {record.number}",)


def _nothing_offered(record: Record) -> Conflict:
    return Conflict(
        f"No tier is on offer for memory #{record.number}, which is {record.tier}.",
        remedy=f"Name one: perdure promote {record.number} --tier important. {tiers.PROMOTED_TO.capitalize()} is "
        f"offered after {tiers.PROMOTION_VALIDATIONS} validations with a confidence of "
        f"{tiers.PROMOTION_CONFIDENCE} or more.",
    )


def _require_active(record: Record, verb: str) -> None:
    if record.state != "active":
        raise Conflict(
            f"Memory #{record.number} is {record.state} and cannot be {verb}.",
            remedy=f"Bring it back first: perdure restore {record.number}",
        )
