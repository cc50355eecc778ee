"""mem0: what `Memory.get_all` answers, saved as JSON; the Markdown that its plugin exports; and the zip file of
OpenMemory. Its database of changes is read by `databases.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from perdure.bank.front_matter import split_front_matter, text_of, texts_of
from perdure.bank.importers.archive import Archive, member
from perdure.bank.importers.item import (
    UNFIT_METADATA,
    Importer,
    Item,
    LeftOut,
    NewMemory,
    fitting,
    listed,
    mapping,
    moment,
    text_in,
)
from perdure.bank.importers.json_items import first_items, json_items
from perdure.bank.sections import Unread, key_of_section
from perdure.errors import ImportFailed

KIND: Final = "mem0"
_ANSWER: Final = ("results", "memories")
_SCOPES: Final = ("user_id", "agent_id", "run_id", "app_id", "actor_id", "role", "app")
_OPEN_MEMORY: Final = "memories.json"
_BLOCK: Final = re.compile(r"^---[ \t]*\r?\n(?=id:)", re.MULTILINE)
_MAX_MARKDOWN: Final = 64 << 20
_BEGINNING: Final = 4 << 10
_KEPT: Final = ("type", "confidence", "branch", "files")


def recognises_answer(archive: Archive) -> bool:
    if len(archive.names) != 1 or not archive.names[0].endswith(".json"):
        return False
    with archive.open(archive.names[0]) as stream:
        return any("memory" in first and "id" in first for _, first in first_items(stream, archive.names[0], _ANSWER))


def recognises_open_memory(archive: Archive) -> bool:
    name = member(archive, _OPEN_MEMORY)
    if name is None:
        return False
    with archive.open(name) as stream:
        firsts = first_items(stream, name, ("memories",))
        return any(array == "memories" and "content" in first for array, first in firsts)


def recognises_markdown(archive: Archive) -> bool:
    if len(archive.names) != 1 or archive.path.suffix != ".md":
        return False
    with archive.open(archive.names[0]) as stream:
        return bool(_BLOCK.search(stream.read(_BEGINNING).decode("utf-8", "replace").removeprefix("\ufeff")))


def read_answer(archive: Archive) -> Iterator[Item]:
    name = archive.names[0]
    with archive.open(name) as stream:
        for item in json_items(stream, name, _ANSWER):
            value = item.value or {}
            text = text_in(value.get("memory"))
            if not text:
                yield Unread(f"memory {item.position}", item.reason or "It has no text.")
            else:
                yield from memory_note(text, value, listed(value.get("categories")))


def read_open_memory(archive: Archive) -> Iterator[Item]:
    name = member(archive, _OPEN_MEMORY) or _OPEN_MEMORY
    with archive.open(name) as stream:
        given = (item.value or {} for item in json_items(stream, name, ("categories",)))
        categories = {id: text_in(each.get("name")) for each in given if isinstance(id := each.get("id"), str | int)}
    with archive.open(name) as stream:
        for item in json_items(stream, name, ("memories",)):
            value = item.value or {}
            what, state = f"memory {text_in(value.get('id')) or item.position}", value.get("state", "active")
            text = text_in(value.get("content"))
            if state != "active":
                yield Unread(what, f"It is {text_in(state) or 'not active'} there.")
            elif not text:
                yield Unread(what, item.reason or "It has no text.")
            else:
                own = (id for id in listed(value.get("category_ids")) if isinstance(id, str | int))
                yield from memory_note(text, value, [categories.get(id) for id in own])


def memory_note(text: str, value: Mapping[str, Any], categories: list[Any]) -> Iterator[Item]:
    id = text_in(value.get("id"))
    created = moment(value.get("created_at"))
    times = {"created_at": created, "updated_at": moment(value.get("updated_at")) or created}
    scopes = {name: value[name] for name in _SCOPES if isinstance(value.get(name), str)}
    metadata, unfit = fitting({**mapping(value.get("metadata")), **scopes})
    if unfit:
        yield LeftOut(UNFIT_METADATA, unfit)
    fields: dict[str, Any] = {
        "tags": [tag for each in categories if (tag := text_in(each))],
        "metadata": metadata,
        **{name: at for name, at in times.items() if at},
    }
    yield NewMemory(text, key_of_section(KIND, id) if id else None, fields)


def read_markdown(archive: Archive) -> Iterator[Item]:
    with archive.open(archive.names[0]) as stream:
        content = stream.read(_MAX_MARKDOWN + 1)
    if len(content) > _MAX_MARKDOWN:
        raise ImportFailed(f"{archive.path} is larger than {_MAX_MARKDOWN >> 20} MiB.", remedy="Split it.")
    text = content.decode("utf-8-sig", "replace")
    starts = [match.start() for match in _BLOCK.finditer(text)]
    for position, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), 1):
        values, body = split_front_matter(text[start:end])
        said = text_in(body)
        if not said:
            yield Unread(f"block {position}", "It has no text.")
            continue
        kept = {name: value for name in _KEPT if (value := text_of(values, name) or ", ".join(texts_of(values, name)))}
        given = {"id": text_of(values, "id"), "created_at": text_of(values, "created_at"), "metadata": kept}
        yield from memory_note(said, given, list(texts_of(values, "categories")))


MEM0: Final = Importer("mem0 memories", recognises_answer, read_answer)
MEM0_MARKDOWN: Final = Importer("mem0 Markdown export", recognises_markdown, read_markdown)
OPEN_MEMORY: Final = Importer("OpenMemory export", recognises_open_memory, read_open_memory)
