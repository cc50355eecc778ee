"""Everything about one record, laid out for a person or for a pipe."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, cast

from perdure.cli.layout import wrap
from perdure.cli.moments import stamp
from perdure.cli.screen import dim, fancy, field, glyphs, safe, say, width
from perdure.jsonable import to_jsonable
from perdure.model import Record

# Every field of a record but its text; a test holds this against the record itself.
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "identity": ("id", "number", "namespace", "key", "content_hash", "version", "seq", "state"),
    "content": (
        "title", "abstract", "summary", "reasoning", "category", "context_type", "tags", "keywords", "references",
        "trigger_phrases", "metadata",
    ),
    "origin": (
        "source", "source_project", "conversation_id", "session_id", "channel", "spec_folder", "file_path",
        "anchor_id", "evidence", "trust",
    ),
    "standing": ("tier", "importance", "confidence", "observation_count", "validation_count"),
    "use": ("recall_count", "recalled_at", "access_count", "accessed_at"),
    "time": ("created_at", "updated_at", "valid_at", "invalid_at", "expires_at"),
}  # fmt: skip
_COLUMN: Final = max(len(name) for names in GROUPS.values() for name in names)


def present(record: Record) -> None:
    if fancy():
        _page(record)
    else:
        for name, value in to_jsonable(record).items():
            say(f"{name}\t{_plain(value)}")


def _plain(value: Any) -> str:
    if value is None:
        return ""
    return field(value if isinstance(value, str) else json.dumps(value, ensure_ascii=False))


def _page(record: Record) -> None:
    for line in wrap(safe(record.text), width()):
        say(line)
    empty: list[str] = []
    for group, names in GROUPS.items():
        say()
        say(dim(group))
        for name in names:
            value = getattr(record, name)
            if value in (None, (), {}):
                empty.append(name)
            else:
                _entry(name, _readable(value))
    say()
    for line in wrap(f"empty: {', '.join(empty)}", width()):
        say(dim(line))


def _entry(name: str, value: str) -> None:
    for position, line in enumerate(wrap(safe(value), width() - _COLUMN - 4)):
        say(f"  {name if position == 0 else '':<{_COLUMN}}  {line}")


def _readable(value: object) -> str:
    if isinstance(value, datetime):
        return stamp(value)
    if isinstance(value, tuple):
        return f" {glyphs().dot} ".join(map(str, cast("tuple[object, ...]", value)))
    if isinstance(value, Mapping):
        return json.dumps(to_jsonable(cast("Mapping[str, object]", value)), ensure_ascii=False)
    return str(value)
