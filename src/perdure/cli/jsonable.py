"""The JSON shapes of everything a command answers. Times are ISO 8601 in UTC."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from typing import Any, Final, cast

from perdure.clock import format_time
from perdure.model import Finding, Hit, Imported, Page, Recall, Record, Remembered, Revision, Worked
from perdure.store.port import NamespaceStats, StoreStats

# `json` escapes C0 only; DEL, C1 and direction marks could still steer a terminal.
_UNSAFE: Final = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]")


def jsonable(value: object) -> Any:
    """Values of `perdure.model` as JSON: a dataclass is an object of all its fields, in their order."""
    if isinstance(value, datetime):
        return format_time(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: jsonable(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, Mapping):
        return {str(name): jsonable(item) for name, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, tuple | list):
        return [jsonable(item) for item in cast("list[object]", value)]
    return value


def record_json(record: Record) -> dict[str, Any]:
    return jsonable(record)


def remembered_json(remembered: Remembered) -> dict[str, Any]:
    return {
        "outcome": remembered.outcome,
        "batch": remembered.batch,
        "pending": remembered.pending,
        "notes": list(remembered.notes),
        "record": record_json(remembered.record),
    }


def hit_json(hit: Hit) -> dict[str, Any]:
    return {"score": hit.score, "explain": jsonable(hit.explain), "record": record_json(hit.record)}


def recall_json(recall: Recall) -> dict[str, Any]:
    return {"mode": recall.mode, "notes": list(recall.notes), "hits": [hit_json(hit) for hit in recall.hits]}


def page_json(page: Page) -> dict[str, Any]:
    return {"records": [record_json(record) for record in page.records], "next": page.next}


def revision_json(revision: Revision) -> dict[str, Any]:
    """Flat: the change's own fields stand beside the revision's. `record` is null once its payload was erased."""
    flat = jsonable(revision)
    return {**{name: flat[name] for name in flat if name not in {"change", "record"}}, **flat["change"],
            "record": flat["record"]}  # fmt: skip


def finding_json(finding: Finding) -> dict[str, Any]:
    return jsonable(finding)


def stats_json(stats: StoreStats | NamespaceStats) -> dict[str, Any]:
    return jsonable(stats)


def worked_json(worked: Worked) -> dict[str, Any]:
    return jsonable(worked)


def imported_json(imported: Imported) -> dict[str, Any]:
    return jsonable(imported)


def document(value: object) -> str:
    """One JSON document, safe on any terminal and complete on any encoding."""
    utf8 = (getattr(sys.stdout, "encoding", None) or "ascii").lower().replace("-", "") == "utf8"
    text = json.dumps(value, ensure_ascii=not utf8, indent=2)
    return _UNSAFE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)
