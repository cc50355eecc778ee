"""Who may give which tier, and when a tier makes a memory expire. Only a person makes a memory constitutional."""

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

# Besides its words, these fields of a constitutional memory are what a person agreed to.
_AGREED: Final = ("tier", "key", "valid_at", "invalid_at", "expires_at")


def apply_tier(
    services: Services, fields: RecordFields, at: datetime, before: Record | None
) -> tuple[RecordFields, tuple[str, ...]]:
    """The fields of a write as they will be stored, and notes for the writer. `before` is the record that they change,
    if there is one. A tier that is named begins its term now, unless the fields say when the memory expires. A model
    may propose a constitutional memory, and change neither its words nor its tier or times.
    """
    is_person = services.context.is_person
    if before and not is_person and before.tier == ONLY_PEOPLE and before.state == "active":
        changed = {name: value for name, value in fields.items() if getattr(before, name, None) != value}
        if before.key is None and "text" in fields and content_hash(fields["text"]) == before.content_hash:
            changed.pop("text", None)
        if changes_content(changed) or any(name in changed for name in _AGREED):
            raise NotAllowed(
                f"Memory #{before.number} is constitutional, and only a person may change it.",
                remedy="Remember your wording as a memory of its own, or ask a person; nothing was changed.",
            )
    if "tier" not in fields:
        return fields, ()
    if fields["tier"] == ONLY_PEOPLE and not is_person:
        demoted = demote_to_proposal(fields, before)
        return demoted, (PROPOSAL,) if tiers.PROPOSED in (demoted.get("metadata") or {}) else ()
    applied = fields if "expires_at" in fields else fields | {"expires_at": tiers.expiry(fields["tier"], at)}
    metadata = _metadata(fields, before)
    if is_person and tiers.PROPOSED in metadata:
        rest = {name: value for name, value in metadata.items() if name != tiers.PROPOSED}
        applied = applied | {"metadata": rest}
    return applied, ()


def demote_to_proposal(fields: RecordFields, before: Record | None = None) -> RecordFields:
    """Pure: what these fields become when the writer may not say `constitutional`."""
    if fields.get("tier") != ONLY_PEOPLE:
        return fields
    rest = fields.copy()
    del rest["tier"]
    if before and before.state == "active" and before.tier == ONLY_PEOPLE:
        return rest
    return rest | {"metadata": {**_metadata(fields, before), tiers.PROPOSED: ONLY_PEOPLE}}


def _metadata(fields: RecordFields, before: Record | None) -> Mapping[str, Json]:
    if "metadata" in fields:
        return fields["metadata"] or {}
    return before.metadata if before else {}
