"""Databases of SQLite that other products keep: claude-mem, mem0's changes, Chroma, and the store of LangGraph. They
are only read, a row at a time.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from itertools import groupby
from operator import itemgetter
from typing import Any, Final, cast

from perdure.bank.framework_documents import FOLDERS, NAME, LangGraph, document_key, fits_metadata
from perdure.bank.importers.archive import Archive
from perdure.bank.importers.item import (
    UNFIT_METADATA,
    Importer,
    Item,
    LeftOut,
    NewMemory,
    fitting,
    listed,
    moment,
    text_in,
)
from perdure.bank.importers.mem0 import KIND as MEM0
from perdure.bank.sections import Unread, key_of_section
from perdure.store.sqlite.foreign.reading import ForeignReader, open_foreign

_TABLES: Final[Mapping[str, tuple[tuple[str, ...], ...]]] = {
    "claude-mem database": (("observations", "id", "project", "title", "narrative", "facts"),),
    "mem0 database": (("history", "memory_id", "new_memory", "event", "is_deleted", "created_at", "updated_at"),),
    "Chroma database": (
        ("embeddings", "id", "embedding_id", "segment_id", "created_at"),
        ("embedding_metadata", "id", "key", "string_value", "int_value", "float_value", "bool_value"),
        ("segments", "id", "collection"),
        ("collections", "id", "name"),
    ),
    "LangGraph store": (("store", "prefix", "key", "value"),),
}
_DOCUMENT: Final = "chroma:document"
_SUMMARY: Final = ("request", "investigated", "learned", "completed", "next_steps", "notes")
# In a value of LangGraph: what most programs call the words of a memory.
_WORDS: Final = ("text", "content", "memory", "data", "fact", "value", "summary", "description")


def kind_of_database(reader: ForeignReader) -> str | None:
    return next((kind for kind, tables in _TABLES.items() if all(reader.has(*each) for each in tables)), None)


def times(created: object, updated: object = None) -> dict[str, Any]:
    first = moment(created)
    last = moment(updated) or first
    return {name: at for name, at in (("created_at", first), ("updated_at", last)) if at}


def read_claude_mem(reader: ForeignReader) -> Iterator[Item]:
    for row in reader.rows("observations"):
        told = [text_in(row.get("subtitle")), text_in(row.get("narrative")) or text_in(row.get("text"))]
        told += [f"- {text}" for each in values_in(row.get("facts")) if (text := text_in(each))]
        title = text_in(row.get("title"))
        text = "\n".join(part for part in told if part) or title
        what = f"observation {row.get('id')}"
        if not text:
            yield Unread(what, "It has no text.")
            continue
        tags = [row.get("type"), *values_in(row.get("concepts"))]
        files = [*values_in(row.get("files_modified")), *values_in(row.get("files_read"))]
        fields: dict[str, Any] = {
            "title": title or None, "source_project": text_in(row.get("project")) or None,
            "tags": [tag for each in tags if (tag := text_in(each))],
            "references": [name for each in files if (name := text_in(each))],
            **times(row.get("created_at_epoch") or row.get("created_at")),
        }  # fmt: skip
        yield NewMemory(text, key_of_section("claude-mem", f"observation-{row.get('id')}"), fields)
    if not reader.has("session_summaries", "id"):
        return
    for row in reader.rows("session_summaries"):
        parts = [(name, text_in(row.get(name))) for name in _SUMMARY]
        text = "\n".join(f"{name.replace('_', ' ').capitalize()}: {part}" for name, part in parts if part)
        if not text:
            yield Unread(f"summary {row.get('id')}", "It has no text.")
            continue
        fields = {
            "title": "Summary of a session", "tags": ["session-summary"],
            "source_project": text_in(row.get("project")) or None,
            **times(row.get("created_at_epoch") or row.get("created_at")),
        }  # fmt: skip
        yield NewMemory(text, key_of_section("claude-mem", f"summary-{row.get('id')}"), fields)


def read_mem0(reader: ForeignReader) -> Iterator[Item]:
    """The database has every change; the last one of a memory says what it is."""
    names = ("memory_id", "new_memory", "event", "is_deleted", "created_at", "updated_at", "row")
    for row in reader.answers("mem0_changes", *names):
        id, text = text_in(row["memory_id"]), text_in(row["new_memory"])
        if row["is_deleted"] or str(row["event"]).upper() == "DELETE":
            yield Unread(f"memory {id}", "It is deleted there.")
        elif not text or not id:
            yield Unread(f"memory {id or row['row']}", "It has no text." if id else "It has no id.")
        else:
            yield NewMemory(text, key_of_section(MEM0, id), times(row["created_at"], row["updated_at"]))


def read_chroma(reader: ForeignReader) -> Iterator[Item]:
    names = ("row", "id", "created_at", "collection", "key", "value")
    for _, values in groupby(reader.answers("chroma_documents", *names), itemgetter("row")):
        listing = list(values)
        first = listing[0]
        kept = {str(each["key"]): each["value"] for each in listing}
        text = text_in(kept.pop(_DOCUMENT, None))
        collection = text_in(first["collection"]) or "documents"
        if not text:
            yield Unread(f"{collection}, {first['id']}", "It has no document.")
            continue
        metadata, unfit = fitting(kept)
        if unfit:
            yield LeftOut(UNFIT_METADATA, unfit)
        fields = {"tags": [collection], "metadata": metadata, **times(first["created_at"])}
        yield NewMemory(text, key_of_section("chroma", collection, str(first["id"])), fields)


def read_langgraph(reader: ForeignReader) -> Iterator[Item]:
    """Each row is an item of a store as `perdure.adapters.langgraph` keeps it, so that a program that changes its store
    finds it under its namespace and its key. The memory says the words of the value alone, where it has some.
    """
    for row in reader.rows("store"):
        what = f"{row['prefix']}, {row['key']}"
        value = json_value(row["value"])
        if not isinstance(value, dict):
            yield Unread(what, "It is not JSON." if value is None else "Its value is not an object.")
            continue
        item = cast("dict[str, Any]", value)
        words = (text for name in _WORDS if (text := text_in(item.get(name))))
        text = next(words, "") or text_in(LangGraph.readable(item))
        namespace, key, ttl = str(row["prefix"]).split("."), str(row["key"]), row.get("ttl_minutes")
        name = LangGraph.name(namespace, key)
        entries: dict[str, Any] = {FOLDERS: LangGraph.folders(namespace), NAME: name, LangGraph.SEARCHABLE: True}
        entries |= {LangGraph.TTL: ttl} if isinstance(ttl, int | float) else {}
        if fits_metadata(item):
            entries[LangGraph.VALUE] = item
        else:
            text = json.dumps(item)
        expires = moment(row.get("expires_at"))
        fields: dict[str, Any] = {
            "metadata": entries,
            **({"expires_at": expires} if expires else {}),
            **times(row.get("created_at"), row.get("updated_at")),
        }
        yield NewMemory(text or json.dumps(item), document_key(LangGraph.KIND, name), fields)


def values_in(value: object) -> list[Any]:
    """A list that is kept as JSON in a column."""
    decoded = json_value(value)
    return [decoded] if isinstance(decoded, str) else listed(decoded)


def json_value(value: object) -> Any:
    """None for what is not JSON."""
    try:
        return json.loads(value) if isinstance(value, str | bytes) and value else None
    except (ValueError, RecursionError):
        return None


_READERS: Final = dict(zip(_TABLES, (read_claude_mem, read_mem0, read_chroma, read_langgraph), strict=True))


def database_importer(kind: str) -> Importer:
    def recognises(archive: Archive) -> bool:
        with open_foreign(archive.path) as reader:
            return kind_of_database(reader) == kind

    def read(archive: Archive) -> Iterator[Item]:
        with open_foreign(archive.path) as reader:
            yield from _READERS[kind](reader)

    return Importer(kind, recognises, read)


DATABASES: Final = tuple(map(database_importer, _TABLES))
