"""Databases of other memory tools, taken over: S1's learnings (`memory.db`) and S3's memory index
(`memory-index.sqlite`, of every version). Every column becomes a field, or is kept in the metadata; the source is only
read, and taking over again writes what is new.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import sha256
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from perdure.bank.memory_files import KIND, read_inside
from perdure.bank.sections import UNTRUSTED, ImportOptions, ImportReport, Unread, key_of_section, name_in_keys
from perdure.clock import format_time, parse_time
from perdure.errors import ImportFailed, NotFound, PerdureError, shown
from perdure.model import NOTHING, STATES
from perdure.project_settings import read_project_settings
from perdure.validation import MAX_ITEMS, MAX_KEYWORDS, check_fields, check_int, check_text

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.store.sqlite.foreign.reading import ForeignDatabase, Row

# The type of the key of the memory that says what was taken over, and when.
TAKEOVER: Final = "takeover"
SURFACE: Final = "takeover"
LEARNINGS_FILE: Final = ".claude/iflow/memory/memory.db"
# In the metadata: the number or hash that the other tool had for it, what its fields were before, and columns that a
# memory here has no field for.
FOREIGN_ID: Final = "foreign_id"
HISTORY: Final = "foreign_history"
_COLUMNS: Final = "foreign_columns"
_MOST_OF_HISTORY: Final = 32 << 10
_MOST_OF_A_COLUMN: Final = 2 << 10
_MILLISECONDS: Final = 1e11
_TIMES: Final = ("created_at", "updated_at", "recalled_at", "accessed_at")
_COUNTS: Final = ("observation_count", "recall_count", "access_count", "validation_count")

# For each field the column that it comes from.
_LEARNING: Final = {
    "text": "description", "title": "name", "reasoning": "reasoning", "category": "category", "keywords": "keywords",
    "references": "references", "observation_count": "observation_count", "confidence": "confidence",
    "recall_count": "recall_count", "recalled_at": "last_recalled_at", "created_at": "created_at",
    "updated_at": "updated_at", "source": "source", "source_project": "source_project",
}  # fmt: skip
_MEMORY: Final = {
    "text": "content", "title": "title", "spec_folder": "spec_folder", "file_path": "file_path",
    "anchor_id": "anchor_id", "created_at": "created_at", "updated_at": "updated_at", "importance": "importance_weight",
    "tier": "importance_tier", "context_type": "context_type", "channel": "channel", "session_id": "session_id",
    "access_count": "access_count", "accessed_at": "last_accessed", "validation_count": "validation_count",
    "confidence": "confidence_score", "trigger_phrases": "trigger_phrases",
}  # fmt: skip
_LISTS: Final = {"keywords": MAX_KEYWORDS, "references": MAX_ITEMS, "trigger_phrases": MAX_ITEMS}


def take_over(memory: Memory, path: Path, project: Path | None, options: ImportOptions = UNTRUSTED) -> ImportReport:
    """Import the memories of one database as one batch, and write down that it was done."""
    from perdure.store.sqlite.foreign.reading import read_foreign

    return store_foreign(memory, path, read_foreign(path), project, options)


def store_foreign(
    memory: Memory, path: Path, found: ForeignDatabase, project: Path | None, options: ImportOptions
) -> ImportReport:
    from perdure.store.sqlite.foreign.reading import state_of

    records, unread = records_of(found, project, options.project_name)
    notes = notes_on(found)
    # The learnings are those of the user's own home; an index comes with its project.
    untrusted = replace(options, project=project).fields() if found.kind == "memory index" else {}
    if untrusted:
        records = [{**each, **untrusted, "metadata": each["metadata"] | untrusted["metadata"]} for each in records]
    report = ImportReport(found.kind, str(path), unread=tuple(unread), notes=tuple(notes))
    if options.dry_run:
        known = sum(is_known(memory, record) for record in records)
        return replace(report, inserted=len(records) - known, present=known)
    writing = memory.writing_as(writer="person" if options.trusted else "model", surface=SURFACE)
    with writing.batch() as batch:
        if options.begun and records:
            options.begun(batch)
        done = writing.import_(records, trusted=True, progress=options.progress)
        if found.kind == "memory index" and done.inserted:
            notes += proposals_note(records, trusted=options.trusted)
        report = replace(
            report, inserted=done.inserted, updated=done.updated, present=done.present,
            kept_forgotten=done.skipped_deleted, notes=(*notes, *done.notes), batch=batch,
        )  # fmt: skip
        state = ".".join(map(str, state_of(path)))
        about = marker(state, found, options.project_name)
        if untrusted:
            about |= {**untrusted, "metadata": about["metadata"] | untrusted["metadata"]}
        writing.upsert(key_of_takeover(path), told(report, found), **about)
    return report


def take_over_known(memory: Memory, project: Path | None, name: str | None, home: Path | None) -> list[ImportReport]:
    """Take over the databases that stand where their tools put them, unless that was done and they are as they were.
    What is wrong with one is in its report, and is tried again the next time.
    """
    from perdure.store.sqlite.foreign.reading import read_foreign, state_of

    reports: list[ImportReport] = []
    for path in known_databases(project, home):
        try:
            state = ".".join(map(str, state_of(path)))
            done = memory.list(key_type=TAKEOVER, states=STATES, limit=1000)
            # Also one that was taken back: it stays so until there is something new.
            known = next((record.metadata for record in done if record.key == key_of_takeover(path)), NOTHING)
            if known.get("state") == state:
                continue
            found = read_foreign(path)
            if known.get("rows") != digest_of(found):
                reports.append(store_foreign(memory, path, found, project, ImportOptions(name)))
        except (PerdureError, OSError) as error:
            sentence = error.sentence if isinstance(error, PerdureError) else str(error)
            reports.append(ImportReport("database", str(path), unread=(Unread(str(path), sentence),)))
    return reports


def known_databases(project: Path | None, home: Path | None) -> list[Path]:
    """The user's own learnings, and the index of the project. A project cannot name a file outside of itself."""
    candidates = [] if home is None else [home / LEARNINGS_FILE]
    if project is not None:
        with suppress(PerdureError):
            index = read_project_settings(project).index_path
            if index.resolve().is_relative_to(project.resolve()):
                candidates.append(index)
    return [path for path in candidates if path.is_file() and path.stat().st_size]


def digest_of(found: ForeignDatabase) -> str:
    """Of what a tool changes when it changes a memory: it counts recalls all the time."""
    rows = [(row.get("id"), row.get("updated_at"), row.get("created_at")) for row in found.rows]
    return sha256(repr(rows).encode("utf-8", "surrogatepass")).hexdigest()[:16]


def key_of_takeover(path: Path) -> str:
    return key_of_section(TAKEOVER, str(path.absolute()).lstrip("/"))


def is_known(memory: Memory, record: Mapping[str, Any]) -> bool:
    from perdure.ids import content_hash

    try:
        memory.get(record.get("key") or content_hash(record["text"]))
    except NotFound:
        return False
    return True


# -- from their columns to our fields ----------------------------------------------------------------------------------


def records_of(
    found: ForeignDatabase, project: Path | None, name: str | None
) -> tuple[list[dict[str, Any]], list[Unread]]:
    """The memories as records that can be imported, and those that cannot."""
    history: dict[Any, list[Row]] = {}
    for change in found.history:
        history.setdefault(change.get("memory_id"), []).append(change)
    records: list[dict[str, Any]] = []
    unread = [Unread("damaged rows", f"{found.unreadable:,} cannot be read.")] if found.unreadable else []
    for row in found.rows:
        try:
            if found.kind == "learnings":
                records.append(checked_record(row, _LEARNING, {}))
            else:
                records.append(memory_record(row, history.get(row.get("id"), []), project, name))
        except PerdureError as error:
            unread.append(Unread(f"id {shown(row.get('id'))}", error.sentence))
    return records, unread


def memory_record(row: Row, history: Sequence[Row], project: Path | None, name: str | None) -> dict[str, Any]:
    """A row of the memory index. Its key is that of its file, so that a scan of the file finds it."""
    extra: dict[str, Any] = {HISTORY: recent_history(history)} if history else {}
    row = dict(row)
    epoch = row.pop("created_at_epoch", None)
    row["created_at"] = row.get("created_at") or epoch
    path = row.get("file_path")
    if isinstance(path, str) and project is not None and Path(path).is_absolute():
        with suppress(ValueError):
            row["file_path"] = Path(path).relative_to(project).as_posix()
            extra["foreign_path"] = path
    if not row.get("content") and isinstance(path, str) and project is not None:
        # Earlier versions kept the text in the file alone.
        with suppress(ImportFailed):
            row["content"] = read_inside(project, Path(path))[1]
    row["content"] = row.get("content") or row.get("title")
    record = checked_record(row, _MEMORY, extra)
    record |= {"source": "import", **({"source_project": name} if name else {})}
    where = record.get("file_path")
    if where:
        record["key"] = key_of_section(KIND, name_in_keys(project, name), where, anchor=record.get("anchor_id"))
    return record


def checked_record(row: Row, columns: Mapping[str, str], extra: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that hold what a memory may say; every other value is kept in the metadata as it was."""
    record: dict[str, Any] = {"text": check_text(row.get(columns["text"]))}
    kept: dict[str, Any] = {}
    for field, column in columns.items():
        value = row.get(column)
        if field == "text" or value is None or value == "":
            continue
        try:
            record[field] = field_value(field, value, kept)
        except (PerdureError, ValueError, TypeError, OverflowError, OSError):
            kept[column] = value
    kept |= {column: value for column, value in row.items() if column not in {*columns.values(), "id"} and value}
    columns_kept = {column[:64]: plain(value) for column, value in kept.items() if value is not None}
    metadata = {FOREIGN_ID: plain(row.get("id")), **extra, **({_COLUMNS: columns_kept} if columns_kept else {})}
    kept_metadata = {name: value for name, value in metadata.items() if value is not None}
    record["metadata"] = check_fields({"metadata": kept_metadata}).get("metadata")
    record.setdefault("updated_at", record.get("created_at"))
    return {name: value for name, value in record.items() if value is not None}


def field_value(field: str, value: Any, kept: dict[str, Any]) -> Any:
    """A value as the field of a record has it; what a list has too much goes into `kept`."""
    if field in _TIMES:
        return format_time(parse_time(moment(value), field))
    if field in _COUNTS:
        return check_int(max(0, int(value)), field, 0, 2**31)
    if field in _LISTS:
        items: Any = json.loads(value) if isinstance(value, str) else value
        listed = cast("list[Any]", items) if isinstance(items, list) else [items]
        texts = [text for text in map(str, listed) if text.strip()]
        if len(texts) > _LISTS[field]:
            kept[field] = texts[_LISTS[field] :]
        value = texts[: _LISTS[field]]
    if field == "importance":
        value = min(max(float(value), 0.0), 1.0)
    checked = cast("dict[str, Any]", check_fields({field: value}))
    return checked[field]


def moment(value: Any) -> datetime:
    """A time of another tool: seconds or milliseconds since 1970, or ISO 8601, which without a zone is UTC, as SQLite
    writes it.
    """
    if isinstance(value, int | float):
        return datetime.fromtimestamp(value / 1000 if value > _MILLISECONDS else value, UTC)
    at = datetime.fromisoformat(str(value).strip())
    return at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)


def plain(value: Any) -> Any:
    """A value that metadata can hold."""
    if isinstance(value, bytes):
        return f"{len(value):,} bytes"
    if value is None or (isinstance(value, int | float) and isfinite(value)):
        return value
    return str(value).replace("\0", "\ufffd").encode("utf-8", "replace").decode()[:_MOST_OF_A_COLUMN]


def recent_history(changes: Iterable[Row]) -> list[dict[str, Any]]:
    """What the tool wrote about changes, the newest as far as there is room."""
    names = {"field_changed": "field", "old_value": "old", "new_value": "new", "changed_at": "at"}
    listed = [{names[name]: plain(value) for name, value in change.items() if name in names} for change in changes]
    room = _MOST_OF_HISTORY
    kept: list[dict[str, Any]] = []
    for change in reversed(listed):
        room -= len(json.dumps(change).encode())
        if room < 0:
            break
        kept.append(change)
    return kept[::-1]


# -- what is said about it ---------------------------------------------------------------------------------------------


def notes_on(found: ForeignDatabase) -> list[str]:
    notes: list[str] = []
    if found.vectors:
        model = found.metadata.get("embedding_model", "another model")
        notes.append(f"Its {found.vectors:,} vectors are of {model}: `perdure work` computes those of your own.")
    if found.checkpoints:
        names = ", ".join(shown(row.get("name")) for row in found.checkpoints[:5])
        notes.append(f"Its checkpoints ({names}) are kept by name; they cannot be restored here.")
    return notes


def proposals_note(records: Iterable[Mapping[str, Any]], *, trusted: bool) -> list[str]:
    proposed = sum(record.get("tier") == "constitutional" for record in records)
    if trusted or not proposed:
        return []
    return [f"{proposed:,} would be constitutional: `perdure promote` accepts them, and lists them without a number."]


def told(report: ImportReport, found: ForeignDatabase) -> str:
    """The memory that says what was taken over."""
    count = f"{report.inserted:,} {'memory' if report.inserted == 1 else 'memories'}"
    lines = [f"Perdure took over the {found.kind} of {report.path}: {count}."]
    lines += [f"Left out: {each.what}: {each.reason}" for each in report.unread[:100]]
    for row in found.checkpoints[:100]:
        of = ", ".join(
            f"{name} {shown(value)}" for name, value in row.items() if value not in {None, ""} and name != "id"
        )
        lines.append(f"Checkpoint: {of}")
    return "\n".join(lines)


def marker(state: str, found: ForeignDatabase, name: str | None) -> dict[str, Any]:
    metadata = {
        "state": state,
        "rows": digest_of(found),
        **{f"source.{key}"[:64]: plain(value) for key, value in found.metadata.items()},
    }
    own = {
        key: value
        for key, value in metadata.items()
        if key.replace(".", "").replace("_", "").replace("-", "").isalnum()
    }
    project = {"source_project": name} if name and found.kind == "memory index" else {}
    return {"source": "import", "importance": 0.0, "metadata": own, **project}
