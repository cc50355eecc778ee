"""Who may give which tier, importance, trust and source, and when a tier makes a memory expire. Only a person makes a
memory constitutional.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Final, cast

from perdure import tiers
from perdure.errors import NotAllowed
from perdure.ids import content_hash
from perdure.lifecycle.model_rights import (
    as_model_s,
    changed_fields,
    ends_earlier,
    is_of_person,
    lowered,
    require_standing,
)
from perdure.model import TRUSTS, Json, Record
from perdure.tiers import ONLY_PEOPLE
from perdure.validation import RecordFields, changes_content

if TYPE_CHECKING:
    from perdure.services import Services

NO_PROPOSAL: Final = (
    f"The metadata entry {tiers.PROPOSED} was left out: only Perdure writes it, and `promote` settles it."
)
PROPOSAL: Final = "A model only proposes a constitutional memory: a person accepts it with `perdure promote`."

# Besides its words, these fields of a constitutional memory are what a person agreed to.
_AGREED: Final = ("tier", "key", "valid_at", "invalid_at", "expires_at")


def apply_tier(
    services: Services, fields: RecordFields, at: datetime, before: Record | None
) -> tuple[RecordFields, tuple[str, ...]]:
    """The fields of a write as they will be stored, and notes for the writer. `before` is the record that they change,
    if there is one. A tier that is named begins its term now, unless the fields say when the memory expires. A model
    may propose a constitutional memory, and change neither its words nor its tier or times; it may give any other tier
    and importance, and lowers none that a person gave.
    """
    is_person = services.context.is_person
    notes: tuple[str, ...] = ()
    if before is None:
        settings = services.settings
        # What is the same for every store need not be said.
        defaults = (
            ("tier", settings.default_tier, "normal"),
            ("context_type", settings.default_context_type, "general"),
        )
        missing = {name: value for name, value, usual in defaults if value != usual and name not in fields}
        fields = fields | cast("RecordFields", missing) if missing else fields
    if "metadata" in fields:
        fields, notes = keep_proposal(fields, before)
    if before:
        fields, kept = keep_trust(fields, before, is_person=is_person)
        notes += kept
    if not is_person:
        fields = as_model_s(fields, before)
    if before and not is_person and before.tier == ONLY_PEOPLE and before.state == "active":
        changed = changed_fields(fields, before)
        if changes_content(changed) or any(name in changed for name in _AGREED):
            raise NotAllowed(
                f"Memory #{before.number} is constitutional, and only a person may change it.",
                remedy="Remember your wording as a memory of its own, or ask a person; nothing was changed.",
            )
    if before and not is_person and (lowered(fields, before) or ends_earlier(fields, before)):
        with services.store.read(before.namespace) as reader:
            require_standing(reader, before, fields)
    if "tier" not in fields:
        return fields, notes
    if fields["tier"] == ONLY_PEOPLE and not is_person:
        demoted = demote_to_proposal(fields, before)
        return demoted, (*notes, PROPOSAL) if tiers.PROPOSED in (demoted.get("metadata") or {}) else notes
    applied = fields if "expires_at" in fields else begin_term(services, fields, fields["tier"], at, before)
    metadata = _metadata(fields, before)
    if is_person and tiers.PROPOSED in metadata:
        rest = {name: value for name, value in metadata.items() if name != tiers.PROPOSED}
        applied = applied | {"metadata": rest}
    return applied, notes


def begin_term(
    services: Services, fields: RecordFields, tier: str, at: datetime, before: Record | None
) -> RecordFields:
    """The fields with the end of the term that their tier begins. A model that says `normal` again lets nothing expire
    that a person keeps.
    """
    begun: RecordFields = fields | {"expires_at": tiers.expiry(tier, at)}
    if before is None or services.context.is_person or not ends_earlier(begun, before):
        return begun
    with services.store.read(before.namespace) as reader:
        is_kept = is_of_person(reader.revisions(before.number))
    return begun | {"expires_at": before.expires_at} if is_kept else begun


def keep_proposal(fields: RecordFields, before: Record | None) -> tuple[RecordFields, tuple[str, ...]]:
    """Pure: the fields with the proposal that is stored already. A caller cannot give or change a proposal."""
    given = fields.get("metadata")
    there = before.metadata.get(tiers.PROPOSED) if before else None
    if given is None or given.get(tiers.PROPOSED) == there:
        return fields, ()
    rest = {name: value for name, value in given.items() if name != tiers.PROPOSED}
    kept = fields | {"metadata": rest if there is None else {**rest, tiers.PROPOSED: there}}
    return kept, (NO_PROPOSAL,) if tiers.PROPOSED in given else ()


def keep_trust(fields: RecordFields, before: Record, *, is_person: bool) -> tuple[RecordFields, tuple[str, ...]]:
    """Pure: the fields without a trust that is higher than that of a memory with the same words. Otherwise a text of a
    stranger would be trusted as soon as somebody repeats it. A person may trust it less.
    """
    if before.state != "active" or "trust" not in fields or "text" not in fields:
        return fields, ()
    given, own = TRUSTS.index(fields["trust"]), TRUSTS.index(before.trust)
    is_kept = given != own and (given < own or not is_person)
    if not is_kept or content_hash(fields["text"]) != before.content_hash:
        return fields, ()
    rest = fields.copy()
    del rest["trust"]
    update = f"`perdure update {before.number} --trust {fields['trust']}` changes that"
    return rest, (f"Its trust stays {before.trust}, because repeating it does not change that: {update}.",)


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
