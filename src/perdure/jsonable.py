"""The values of `perdure.model` as plain data, for JSON: every surface shows the same names and the same times.

`to_jsonable` turns any value. The functions below it make the documents that hold more than one value; a key has one
meaning and one type in all of them, and docs/reference/json.md lists every key.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from types import NoneType
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, cast

from perdure.clock import format_time
from perdure.model import Context, Finding, Page, Recall, Remembered, RevertResult, Revision

if TYPE_CHECKING:
    from perdure.auth.authorise import AccessToken
    from perdure.llm.port import Parked
    from perdure.model import Egress, Exported
    from perdure.store.stats import StoreStats

ListName: TypeAlias = Literal[
    "revisions",
    "versions",
    "checkpoints",
    "triggered",
    "remembered",
    "conversations",
    "proposals",
    "sessions",
    "facts",
    "details",
    "imports",
    "bank_entries",
]


_PLAIN: Final = frozenset({str, int, float, bool, NoneType})


def to_jsonable(value: object) -> Any:
    """A dataclass or a named tuple is an object of all its fields, in their order; a time is ISO 8601 in UTC."""
    # Most values are plain, and an answer has hundreds.
    if type(value) in _PLAIN:
        return value
    if isinstance(value, datetime):
        return format_time(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_jsonable(getattr(value, field.name)) for field in fields(value)}
    if hasattr(value, "_asdict"):
        value = cast("Any", value)._asdict()
    if isinstance(value, Mapping):
        return {str(name): to_jsonable(item) for name, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple | list):
        return [to_jsonable(item) for item in cast("list[object]", value)]
    return value


def past_document(
    answer: Recall | Context | Page | Mapping[str, Any],
    *,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
) -> dict[str, Any]:
    """An answer about the past names the time it is about; one about now is the answer alone."""
    times = {"as_of": as_of, "known_at": known_at}
    return {**to_jsonable({name: time for name, time in times.items() if time}), **to_jsonable(answer)}


def brief_document(recall: Recall) -> dict[str, Any]:
    """One line of about 20 tokens for each memory that was found."""
    from perdure.text.preview import one_line_preview

    found = [(record, one_line_preview(record)) for record in recall.constitutional]
    found += ((hit.record, hit.line) for hit in recall)
    return {"lines": [{"number": record.number, "namespace": record.namespace, "line": line} for record, line in found]}


def list_document(name: ListName, values: Iterable[object]) -> dict[str, Any]:
    """A list is an object with one key, so that the answer can grow."""
    return {name: to_jsonable(list(values))}


def log_document(revisions: Sequence[Revision], limit: int) -> dict[str, Any]:
    """A page of the log; `next` is the `before` of the following page, or None at the end."""
    more = len(revisions) == limit and revisions[-1].seq > 1
    return {"revisions": to_jsonable(list(revisions)), "next": revisions[-1].seq if more else None}


def revert_document(result: RevertResult) -> dict[str, Any]:
    return {**to_jsonable(result), "done": result.batch is not None}


def restore_document(restored: Sequence[Remembered]) -> dict[str, Any]:
    """The memories that one call brought back, in one batch."""
    return {
        "restored": [to_jsonable(done.record) for done in restored],
        "evicted": [to_jsonable(record) for done in restored for record in done.evicted],
        "batch": next((done.batch for done in restored), None),
        "notes": list(dict.fromkeys(note for done in restored for note in done.notes)),
    }


def export_document(exported: Exported, path: str) -> dict[str, Any]:
    return {**to_jsonable(exported), "path": path}


def doctor_document(findings: Sequence[Finding]) -> dict[str, Any]:
    return {"ok": all(each.level != "problem" for each in findings), "findings": to_jsonable(list(findings))}


def egress_document(egress: Egress) -> dict[str, Any]:
    calls = [
        {"texts" if name == "items" else name: value for name, value in to_jsonable(call).items()}
        for call in egress.calls
    ]
    return {**to_jsonable(egress), "calls": calls}


def parked_document(parked: Iterable[Parked]) -> dict[str, Any]:
    """`number` is that of the memory it was asked about."""
    names = {"id": "parked_id", "memory": "number"}
    return {"parked": [{names.get(name, name): value for name, value in to_jsonable(each).items()} for each in parked]}


def token_document(token: AccessToken) -> dict[str, Any]:
    """`granted_namespaces` is null where it is good for all."""
    shown: dict[str, Any] = to_jsonable(token)
    return {"token_id": shown.pop("id"), "granted_namespaces": shown.pop("namespaces"), **shown}


def stats_document(stats: StoreStats, namespaces: Sequence[str] = ()) -> dict[str, Any]:
    """`namespaces` are the ones to show; none means all."""
    shown = [each for each in stats.namespaces if not namespaces or each.name in namespaces]
    models = [
        {
            "embedder": each.generation.label,
            "dimensions": each.generation.dimensions,
            "vectors": each.vectors,
            "bytes": each.bytes,
            "serving": each.serving,
        }
        for each in stats.generations
    ]
    counted = to_jsonable(stats)
    # Clients know the address by the name of what it was at first.
    return {"path": counted.pop("address"), **counted, "namespaces": to_jsonable(shown), "generations": models}
