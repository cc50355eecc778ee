"""What a model may not do to what people wrote, and may not say of what it writes itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from perdure.errors import NotAllowed
from perdure.ids import BY_HAND, CAPTURED, LEARNED, MemoryId, Reference, content_hash
from perdure.lifecycle.write_context import CHOSEN_BY, is_by_person
from perdure.model import TRUSTS, Operation, Record, Revision
from perdure.store.port import Reader
from perdure.text.phrases import fold
from perdure.tiers import TIERS
from perdure.validation import RecordFields, changes_content

# How much a memory counts, by the field that says it.
_STANDING: Final = ("tier", "importance")
# These are not decisions: they come of a date that has passed, or of a write that needed room.
_NOBODY_S: Final[frozenset[Operation]] = frozenset({"expire", "evict"})
_HIGHEST: Final = TRUSTS[0]
_NORMAL: Final = TRUSTS[1]


def as_model_s(fields: RecordFields, before: Record | None) -> RecordFields:
    """Pure: the fields of a model's write, with an origin that shows whose it is. `before` is the record that they
    change, if there is one. What a model says in its own words is never trusted more than usual.
    """
    source = _bare(fields.get("source", ""))
    if source == BY_HAND:
        raise NotAllowed(
            f"A model cannot give a memory the source {BY_HAND!r}, which stands for what a person wrote.",
            remedy="Leave the source out, or say where it comes from; nothing was changed.",
        )
    if source == LEARNED:
        raise NotAllowed(
            f"A model cannot give a memory the source {LEARNED!r}, which stands for what was learned.",
            remedy="Leave the source out, or add what was said as a message; nothing was changed.",
        )
    if fields.get("trust") == _HIGHEST:
        raise NotAllowed(
            f"A model cannot give a memory the trust {_HIGHEST!r}.",
            remedy="Leave the trust out, or ask a person; nothing was changed.",
        )
    if before is None:
        return fields if "source" in fields else fields | {"source": CAPTURED}
    is_reworded = before.state != "active" or changes_content(changed_fields(fields, before))
    if not is_reworded and fields.get("trust", before.trust) != before.trust:
        raise NotAllowed(f"Only a person may change the trust of memory #{before.number}, which is {before.trust}.")
    if is_reworded and before.trust == _HIGHEST and "trust" not in fields:
        return fields | {"trust": _NORMAL}
    return fields


def is_manual(source: str) -> bool:
    """Pure: whether a source looks like that of people: `Manual` does, and so does the word with a sign that nobody
    sees.
    """
    return _bare(source) == BY_HAND


def _bare(source: str) -> str:
    return "".join(filter(str.isalnum, fold(source)))


def changed_fields(fields: RecordFields, before: Record) -> dict[str, Any]:
    """Pure: those that say something else than the record does. Without a key, case and white space do not count."""
    changed = {name: value for name, value in fields.items() if getattr(before, name, None) != value}
    if before.key is None and "text" in fields and content_hash(fields["text"]) == before.content_hash:
        changed.pop("text", None)
    return changed


def lowered(fields: Mapping[str, Any], before: Record) -> list[str]:
    """Pure: of the tier and the importance, those that would be lower than they are."""
    given: dict[str, Any] = {name: fields[name] for name in _STANDING if name in fields}
    return [name for name, value in given.items() if _rank(value) < _rank(getattr(before, name))]


def ends_earlier(fields: Mapping[str, Any], before: Record) -> bool:
    """Pure: whether it would expire, or expire earlier than it does."""
    end: datetime | None = fields.get("expires_at")
    return end is not None and (before.expires_at is None or end < before.expires_at)


def require_standing(reader: Reader, before: Record, fields: Mapping[str, Any]) -> None:
    """A model never lowers the tier or the importance that a person gave last, whatever models gave it since; nor does
    it let what a person wrote expire, as a lower tier would.
    """
    lines = reader.revisions(before.number)
    if before.state != "active" and lines and is_by_person(lines[-1].change):
        # A person forgot it, so saying it again is a new statement.
        return
    if ends_earlier(fields, before) and is_of_person(lines):
        raise NotAllowed(
            f"A person wrote or changed memory #{before.number}, and a model may not let it expire.",
            remedy="Leave the expires_at out, or ask a person; nothing was changed.",
        )
    for name in lowered(fields, before):
        given = given_by_people(reader, before.number, name)
        if given is None or _rank(fields[name]) >= _rank(given):
            continue
        made = f"made memory #{before.number} {given}"
        if name == "importance":
            made = f"gave memory #{before.number} an importance of {given:g}"
        raise NotAllowed(
            f"A person {made}, and a model may not lower that.",
            remedy=f"Leave the {name} out, or ask a person; nothing was changed.",
        )


def given_by_people(reader: Reader, number: int, field: str) -> Any:
    """The tier or the importance that a person gave this memory last; if none did, the highest of those that people
    gave the memories that it was merged from. None where no person gave any.
    """
    waiting, seen, given = [number], set[int](), list[Any]()
    while waiting:
        number = waiting.pop()
        if number in seen:
            continue
        seen.add(number)
        lines = reader.revisions(number)
        value = last_given(lines, field)
        if value is not None:
            given.append(value)
        elif lines and (record := lines[-1].record):
            sources = (reader.find(Reference(id, id=MemoryId(id))) for id in record.merged_from)
            waiting += [source.number for found in sources for source in found]
    return max(given, key=_rank, default=None)


def last_given(lines: Sequence[Revision], field: str) -> Any:
    """The value of this field that a person gave last, of the lines of one memory; None if no person did. Behind lines
    whose payload is gone nobody knows who gave what is there: a person did.
    """
    given = before = None
    is_known = True
    for line in lines:
        if line.record is None:
            is_known = False
            continue
        value = getattr(line.record, field)
        if not is_known or (value != before and is_by_person(line.change)):
            given = value
        before, is_known = value, True
    return given


def require_no_person(lines: Sequence[Revision], number: int, since: int) -> None:
    """A model takes back what models wrote: none of the lines behind this position may be a person's."""
    if any(line.seq > since and is_decision_of_person(line) for line in lines):
        raise NotAllowed(f"A person wrote or changed memory #{number}, and a model takes back only what models did.")


def is_of_person(lines: Sequence[Revision]) -> bool:
    """Whether a person wrote or changed the memory of these lines."""
    return any(map(is_decision_of_person, lines))


def is_decision_of_person(line: Revision) -> bool:
    """Whether a person decided it; keywords that Perdure chose are not a decision."""
    change = line.change
    return is_by_person(change) and change.operation not in _NOBODY_S and CHOSEN_BY not in change.provenance


def _rank(value: str | float) -> float:
    return TIERS[value].boost if isinstance(value, str) else value
