"""Letta's agent file (`.af`): the blocks of an agent's memory, and what was said with it. Passages of its archive are
not in such a file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from perdure.bank.importers.archive import Archive
from perdure.bank.importers.item import Chat, Importer, Item, LeftOut, NewMemory, listed, mapping, moment, text_in
from perdure.bank.importers.json_items import first_items, json_items
from perdure.bank.sections import Unread, key_of_section

_KIND: Final = "letta"
_FIELDS: Final = {"agents": ("messages", "message_ids", "block_ids"), "blocks": ("label",)}
_ARRAYS: Final = tuple(_FIELDS)
_SPEAKERS: Final = ("user", "assistant")
_UNSAID: Final = "messages of tools and system prompts"


def recognises(archive: Archive) -> bool:
    if len(archive.names) != 1 or archive.path.suffix not in {".af", ".json"}:
        return False
    with archive.open(archive.names[0]) as stream:
        return any(
            name in first
            for array, first in first_items(stream, archive.names[0], _ARRAYS)
            for name in _FIELDS.get(array, ())
        )


def read(archive: Archive) -> Iterator[Item]:
    name = archive.names[0]
    with archive.open(name) as stream:
        for item in json_items(stream, name, _ARRAYS):
            what = f"{item.member[:-1]} {item.position}"
            if item.value is None:
                yield Unread(what, item.reason)
            elif item.member == "blocks":
                yield read_block(item.value, what)
            else:
                yield from read_agent(item.value, what)


def read_block(block: Mapping[str, Any], what: str) -> Item:
    text, label = text_in(block.get("value")), text_in(block.get("label"))
    if not text:
        return Unread(what, "It is empty.")
    id = text_in(block.get("id")) or label or what
    about = {"description": text_in(block.get("description"))}
    fields = {"title": label or "block", "tags": ["letta"], "metadata": {k: v for k, v in about.items() if v}}
    return NewMemory(text, key_of_section(_KIND, id), fields)


def read_agent(agent: Mapping[str, Any], what: str) -> Iterator[Item]:
    id = text_in(agent.get("id")) or text_in(agent.get("name")) or what
    given = [mapping(each) for each in listed(agent.get("messages"))]
    messages: list[dict[str, Any]] = []
    for position, message in enumerate(given, 1):
        role, text = message.get("role"), said(message.get("content"))
        if role in _SPEAKERS and text:
            at = moment(message.get("created_at"))
            named = text_in(message.get("id")) or f"message {position}"
            messages.append({"id": named, "role": role, "content": text, **({"at": at} if at else {})})
    if len(messages) < len(given):
        yield LeftOut(_UNSAID, len(given) - len(messages))
    if messages:
        yield Chat(f"letta-{id}", messages)


def said(content: object) -> str:
    if isinstance(content, str):
        return text_in(content)
    blocks = (mapping(block) for block in listed(content))
    return "\n\n".join(text for block in blocks if (text := text_in(block.get("text"))))


LETTA: Final = Importer("Letta agent file", recognises, read)
