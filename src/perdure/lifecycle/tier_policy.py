"""What naming a tier brings with it: the day it expires, and that only a person makes a memory constitutional."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final

from perdure import tiers
from perdure.errors import NotAllowed
from perdure.ids import content_hash
from perdure.model import Json, Record
from perdure.validation import RecordFields, changes_content

if TYPE_CHECKING:
    from perdure.services import Services

ONLY_PEOPLE: Final = "constitutional"
PROPOSAL: Final = "A model only proposes a constitutional memory: a person accepts it with `perdure promote`."

_PLACE: Final = ("tier", "key", "valid_at", "invalid_at", "expires_at")


def chosen(
    services: Services, clean: RecordFields, at: datetime, before: Record | None
) -> tuple[RecordFields, tuple[str, ...]]:
    """The fields of a write as they will be stored, and what to tell the writer. `before` is what they change, if it is
    there already. A tier that is named begins its term now, unless the call says when the memory expires.
    """
    if before and not services.context.is_person:
        _require_leave(before, clean)
    if "tier" not in clean:
        return clean, ()
    if clean["tier"] == ONLY_PEOPLE and not services.context.is_person:
        return _proposed(clean, before)
    done = {"expires_at": tiers.expiry(clean["tier"], at)} | clean
    metadata = _metadata(clean, before)
    if tiers.PROPOSED in metadata and services.context.is_person:
        done["metadata"] = without_proposal(metadata)
    return done, ()


def without_proposal(metadata: Mapping[str, Json]) -> dict[str, Json]:
    return {name: value for name, value in metadata.items() if name != tiers.PROPOSED}


def only_proposed(clean: RecordFields, before: Record | None = None) -> RecordFields:
    """Pure: what these fields become when whoever says them may not say `constitutional`."""
    if clean.get("tier") != ONLY_PEOPLE:
        return clean
    rest = {name: value for name, value in clean.items() if name != "tier"}
    if before and before.state == "active" and before.tier == ONLY_PEOPLE:
        return rest
    return rest | {"metadata": {**_metadata(clean, before), tiers.PROPOSED: ONLY_PEOPLE}}


def _proposed(clean: RecordFields, before: Record | None) -> tuple[RecordFields, tuple[str, ...]]:
    fields = only_proposed(clean, before)
    return fields, (PROPOSAL,) if tiers.PROPOSED in _metadata(fields, None) else ()


def _metadata(clean: RecordFields, before: Record | None) -> Mapping[str, Json]:
    if "metadata" in clean:
        return clean["metadata"] or {}
    return before.metadata if before else {}


def _require_leave(before: Record, clean: RecordFields) -> None:
    """What is always surfaced says what a person agreed to, so no model changes its words, its tier or its times."""
    if before.tier != ONLY_PEOPLE or before.state != "active":
        return
    changed = {name: value for name, value in clean.items() if getattr(before, name, None) != value}
    if before.key is None and "text" in changed and content_hash(changed["text"]) == before.content_hash:
        del changed["text"]
    if changes_content(changed) or any(name in changed for name in _PLACE):
        raise NotAllowed(
            f"Memory #{before.number} is constitutional, and only a person may change it.",
            remedy="Remember your wording as a memory of its own, or ask a person; nothing was changed.",
        )
