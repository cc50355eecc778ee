"""The export of ChatGPT: `conversations.json`, or since 2026 `conversations-000.json` and so on. A conversation is a
tree of messages, because a question can be asked again; the branch that was shown last is the one that counts.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import PurePosixPath
from typing import Any, Final, TypeGuard

from perdure.bank.importers.archive import Archive, single_json
from perdure.bank.importers.item import Chat, Importer, Item, LeftOut, listed, mapping, moment, read_objects, text_in
from perdure.bank.importers.json_items import first_items
from perdure.bank.sections import Unread

_FILE: Final = re.compile(r"conversations(-\d+)?\.json")
_SAID_IN: Final = ("text", "multimodal_text")
_SPEAKERS: Final = ("user", "assistant")
_UNSAID: Final = "messages of tools, system prompts and pictures"
_OTHER_BRANCHES: Final = "messages of branches that were not shown last"
_WITHOUT_WORDS: Final = "pictures and files in messages"


def conversation_files(archive: Archive) -> list[str]:
    alone = single_json(archive)
    return [name for name in archive.names if name == alone or _FILE.fullmatch(PurePosixPath(name).name)]


def recognises(archive: Archive) -> bool:
    for name in conversation_files(archive):
        with archive.open(name) as stream:
            if any(is_conversation(first) for _, first in first_items(stream, name)):
                return True
    return False


def is_conversation(item: Mapping[str, Any]) -> bool:
    """Its tree: any other program's objects may have a field of that name."""
    return any("message" in mapping(node) for node in mapping(item.get("mapping")).values())


def read(archive: Archive) -> Iterator[Item]:
    for name in conversation_files(archive):
        yield from read_objects(archive, name, "conversation", read_conversation)


def read_conversation(conversation: Mapping[str, Any], what: str) -> Iterator[Item]:
    nodes = mapping(conversation.get("mapping"))
    id = text_in(conversation.get("id")) or text_in(conversation.get("conversation_id"))
    if not nodes or not id:
        yield Unread(what, "It has no messages." if id else "It has no id.")
        return
    branch = shown_branch(nodes, conversation.get("current_node"))
    started = moment(conversation.get("create_time"))
    messages: list[dict[str, Any]] = []
    unsaid = pictures = 0
    for node in branch:
        message = mapping(mapping(nodes[node]).get("message"))
        text = said(message)
        if text:
            at = moment(message.get("create_time")) or (messages[-1].get("at") if messages else started)
            role = mapping(message.get("author")).get("role")
            messages.append({"id": node, "role": role, "content": text, **({"at": at} if at else {})})
            pictures += sum(bool(mapping(part)) and not text_of(part) for part in parts_of(message))
        else:
            unsaid += bool(message)
    elsewhere = sum(bool(said(mapping(mapping(node).get("message")))) for node in nodes.values()) - len(messages)
    left_out = ((_UNSAID, unsaid), (_OTHER_BRANCHES, elsewhere), (_WITHOUT_WORDS, pictures))
    yield from (LeftOut(text, number) for text, number in left_out if number)
    if messages:
        yield Chat(f"chatgpt-{id}", messages)
    else:
        yield Unread(what, "Nobody says anything in it.")


def shown_branch(nodes: Mapping[str, Any], current: object) -> list[str]:
    """From the root to the message that was shown last. Without one that is known: along the last children."""
    if not _is_node(current, nodes):
        roots = [id for id, node in nodes.items() if not _is_node(mapping(node).get("parent"), nodes)]
        last = roots[0] if roots else next(iter(nodes))
        seen: set[str] = set()
        while last not in seen:
            seen.add(last)
            children = [id for id in listed(mapping(nodes[last]).get("children")) if _is_node(id, nodes)]
            last = children[-1] if children else last
        current = last
    branch: dict[str, None] = {}
    while _is_node(current, nodes) and current not in branch:
        branch[current] = None
        current = mapping(nodes[current]).get("parent")
    return list(reversed(branch))


def _is_node(id: object, nodes: Mapping[str, Any]) -> TypeGuard[str]:
    return isinstance(id, str) and id in nodes


def said(message: Mapping[str, Any]) -> str:
    """What a person or the model says in a message; the words of a spoken one as well."""
    content = mapping(message.get("content"))
    if mapping(message.get("author")).get("role") not in _SPEAKERS or content.get("content_type") not in _SAID_IN:
        return ""
    if mapping(message.get("metadata")).get("is_visually_hidden_from_conversation"):
        return ""
    return "\n\n".join(text for part in parts_of(message) if (text := text_of(part)))


def parts_of(message: Mapping[str, Any]) -> list[Any]:
    return listed(mapping(message.get("content")).get("parts"))


def text_of(part: object) -> str:
    return text_in(part if isinstance(part, str) else mapping(part).get("text"))


CHATGPT: Final = Importer("ChatGPT export", recognises, read)
