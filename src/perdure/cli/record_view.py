"""How a memory is shown: everything about it, or one line that says what was done to it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final, cast

from perdure.cli.render import View
from perdure.cli.terminal import dim, glyphs, note, number_label, safe, width
from perdure.cli.text_layout import clip, wrap
from perdure.cli.time_options import age, stamp
from perdure.clock import system_clock
from perdure.jsonable import to_jsonable
from perdure.model import Record, Remembered
from perdure.text.preview import one_line

# Every field of a record but its text; a test holds this against the record itself.
GROUPS: Final[Mapping[str, tuple[str, ...]]] = {
    "identity": ("id", "number", "namespace", "key", "content_hash", "version", "seq", "state"),
    "content": (
        "title", "abstract", "summary", "reasoning", "category", "context_type", "tags", "keywords", "references",
        "trigger_phrases", "metadata",
    ),
    "origin": (
        "source", "source_project", "conversation_id", "session_id", "channel", "spec_folder", "file_path",
        "anchor_id", "evidence", "supersedes", "merged_from", "trust",
    ),
    "standing": ("tier", "importance", "confidence", "observation_count", "validation_count"),
    "use": ("recall_count", "recalled_at", "access_count", "accessed_at"),
    "time": ("created_at", "updated_at", "valid_at", "invalid_at", "expires_at"),
}  # fmt: skip
_COLUMN: Final = max(len(name) for names in GROUPS.values() for name in names)
# A week that began a moment ago is still a week.
_SLACK: Final = timedelta(minutes=1)


def title_and_text(record: Record) -> str:
    return f"{record.title}: {record.text}" if record.title else record.text


def record_rows(record: Record) -> Iterator[tuple[str, str]]:
    """Each field of a record and its value."""
    for name, value in to_jsonable(record).items():
        plain = value is None or isinstance(value, str)
        yield name, (value or "") if plain else json.dumps(value, ensure_ascii=False)


def record_page(record: Record) -> Iterator[str]:
    yield from wrap(safe(record.text), width())
    empty: list[str] = []
    for group, names in GROUPS.items():
        yield ""
        yield dim(group)
        for name in names:
            value = getattr(record, name)
            if value in (None, (), {}):
                empty.append(name)
                continue
            if isinstance(value, datetime):
                shown = stamp(value)
            elif isinstance(value, Mapping):
                shown = json.dumps(to_jsonable(cast("Mapping[str, object]", value)), ensure_ascii=False)
            else:
                items = cast("tuple[object, ...]", value) if isinstance(value, tuple) else (value,)
                shown = f" {glyphs().dot} ".join(map(str, items))
            for position, line in enumerate(wrap(safe(shown), width() - _COLUMN - 4)):
                yield f"  {name if position == 0 else '':<{_COLUMN}}  {line}"
    yield ""
    yield from map(dim, wrap(f"empty: {', '.join(empty)}", width()))


def confirmation_line(before: str, after: str, record: Record) -> str:
    """For example: Forgot #7  Alice prefers dark mode."""
    room = width() - len(before) - len(after) - 16
    words = f"{before} " if before else ""
    text = dim(safe(clip(record.title or record.text, room, glyphs().more)))
    return f"{words}{number_label(record.number)}{after}  {text}"


def evictions(evicted: Iterable[Record]) -> Iterator[str]:
    return (confirmation_line("Evicted", " to make room", record) for record in evicted)


def contradictions(remembered: Remembered) -> Iterator[str]:
    """For example: Contradicts #5  We use Postgres for orders."""
    for each in remembered.contradicts:
        text = safe(clip(one_line(each.text), width() - 24, glyphs().more))
        yield f"Contradicts {number_label(each.number)}  {dim(text)}"
    if remembered.contradicts:
        yield dim("both stay until you say which one is true: perdure review")


def remembered_line(remembered: Remembered) -> str:
    record = remembered.record
    # A tier may bring an end with it, which nobody wrote down; so it is said.
    ends = record.expires_at
    until = f", expires {age(ends + _SLACK)}" if ends and ends > system_clock() else ""
    words = {
        "inserted": ("Remembered", until),
        "observed": ("Already known as", f", seen {record.observation_count} times"),
        "updated": ("Updated", f", now version {record.version}{until}"),
        "annotated": ("Updated", f", still version {record.version}{until}"),
        "validated": ("Judged", f", confidence now {record.confidence:.2f}"),
        "promoted": ("Made", f" {record.tier}{until}"),
        "unchanged": ("", " unchanged"),
        "repeated": ("Already done, as", ""),
    }
    return confirmation_line(*words[remembered.outcome], record)


def remembered_view(remembered: Remembered) -> View:
    """The answer of every command that writes one memory."""
    return View(
        json=remembered,
        lines=[remembered_line(remembered)],
        after=(*evictions(remembered.evicted), *contradictions(remembered), *map(note, remembered.notes)),
    )
