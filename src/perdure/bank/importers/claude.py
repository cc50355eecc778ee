"""The export of Claude: conversations, what it remembers of its user and of projects, and the projects themselves."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, Final

from perdure.bank.importers.archive import Archive, member, single_json
from perdure.bank.importers.item import (
    Chat,
    Importer,
    Item,
    LeftOut,
    NewMemory,
    listed,
    mapping,
    moment,
    read_objects,
    slug,
    text_in,
)
from perdure.bank.importers.json_items import first_items
from perdure.bank.importers.pasted import by_heading
from perdure.bank.sections import Unread, key_of_section

_KIND: Final = "claude"
_ROLES: Final = {"human": "user", "user": "user", "assistant": "assistant"}
_UNSAID: Final = "messages without words: tools, thoughts and files"
_ATTACHED: Final = "attachments and files of messages"
_ATTACHMENTS: Final = ("attachments", "files")
_FILES: Final = ("conversations.json", "memories.json", "projects.json")
# The field that tells what a file is.
_TOLD_BY: Final[Mapping[str, str]] = {"conversations.json": "chat_messages", "memories.json": "conversations_memory"}


def recognises(archive: Archive) -> bool:
    return any(_holds(archive, filename, field) for filename, field in _TOLD_BY.items())


def read(archive: Archive) -> Iterator[Item]:
    readers = dict(zip(_FILES, (read_conversation, read_memories, read_project), strict=True))
    for filename, reader in readers.items():
        name = member(archive, filename)
        if name is None and filename in _TOLD_BY and (alone := _holds(archive, filename, _TOLD_BY[filename])):
            name = alone
        if name:
            yield from read_objects(archive, name, "item", reader)


def _holds(archive: Archive, filename: str, field: str) -> str | None:
    """The member of this name, if one of its first objects has this field."""
    name = single_json(archive) or member(archive, filename)
    if name is None:
        return None
    with archive.open(name) as stream:
        return name if any(field in first for _, first in first_items(stream, name)) else None


def read_conversation(conversation: Mapping[str, Any], what: str) -> Iterator[Item]:
    id = text_in(conversation.get("uuid"))
    given = [mapping(each) for each in listed(conversation.get("chat_messages"))]
    if not id or not given:
        yield Unread(what, "It has no messages." if id else "It has no id.")
        return
    messages: list[dict[str, Any]] = []
    for position, message in enumerate(given, 1):
        role = _ROLES.get(str(message.get("sender")))
        if text := said(message) if role else "":
            at = moment(message.get("created_at")) or moment(conversation.get("created_at"))
            named = text_in(message.get("uuid")) or f"message {position}"
            messages.append({"id": named, "role": role, "content": text, **({"at": at} if at else {})})
    if len(messages) < len(given):
        yield LeftOut(_UNSAID, len(given) - len(messages))
    if attached := sum(len(listed(message.get(name))) for message in given for name in _ATTACHMENTS):
        yield LeftOut(_ATTACHED, attached)
    if messages:
        yield Chat(f"claude-{id}", messages)
    else:
        yield Unread(what, "Nobody says anything in it.")


def said(message: Mapping[str, Any]) -> str:
    blocks = (mapping(block) for block in listed(message.get("content")))
    texts = [text for block in blocks if block.get("type") == "text" and (text := text_in(block.get("text")))]
    return "\n\n".join(texts) or text_in(message.get("text"))


def read_memories(memories: Mapping[str, Any], what: str) -> Iterator[Item]:
    """What Claude remembers is a page of Markdown that it rewrites: each of its sections is a memory under its heading,
    so that a later export brings a new version of it.
    """
    account = text_in(memories.get("account_uuid")) or "account"
    pages = {account: memories.get("conversations_memory")}
    pages |= {f"project/{id}": text for id, text in mapping(memories.get("project_memories")).items()}
    for place, page in pages.items():
        if page is not None and not isinstance(page, str):
            yield Unread(f"{what}, {place}", "It is not a text.")
        taken = Counter[str]()
        for heading, text in by_heading(text_in(page)):
            name = slug(heading)
            taken[name] += 1
            fields = {"title": heading, "tags": ["claude"]} if heading else {"tags": ["claude"]}
            own = name if taken[name] == 1 else f"{name}-{taken[name]}"
            yield NewMemory(text, key_of_section(_KIND, place, own), fields)


def read_project(project: Mapping[str, Any], what: str) -> Iterator[Item]:
    id, name = text_in(project.get("uuid")), text_in(project.get("name"))
    if not id:
        yield Unread(what, "It has no id.")
        return
    told = {"instructions": project.get("prompt_template"), "description": project.get("description")}
    documents = {
        f"{position}-{text_in(mapping(each).get('filename'))}": mapping(each).get("content")
        for position, each in enumerate(listed(project.get("docs")), 1)
    }
    created = {"created_at": at, "updated_at": at} if (at := moment(project.get("created_at"))) else {}
    for part, text in {**told, **documents}.items():
        if content := text_in(text):
            fields = {"title": f"{name}: {part}" if name else part, "tags": ["claude", "project"], **created}
            yield NewMemory(content, key_of_section(_KIND, "project", id, part), fields)


CLAUDE: Final = Importer("Claude export", recognises, read)
