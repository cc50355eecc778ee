"""Prompts that a person may choose from a host's menu."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from perdure.mcp.tool import is_object

if TYPE_CHECKING:
    from perdure.memory import Memory

_RETRO: Final = """\
Look back over this session and save what should be known next time, with the tools of Perdure.

1. recall what is remembered about the work of this session, so that nothing is saved twice.
2. For each mistake that cost time, each approach that worked and each rule of thumb, call store_memory with a name, \
what was learned, why it matters, the category, and the files that it is about.
3. For each decision and preference of the user, call remember with one sentence that needs no context.
4. Where a memory turned out wrong, correct it with memory_update.

Save few things, and only what will still matter. Then say in one line each what was saved.\
"""
_CONSOLIDATE: Final = """\
Turn past conversations into facts with the tool consolidate of Perdure: call it without arguments, follow the \
instructions in its answer, and call it again with the facts and the token. Repeat until nothing waits, then say what \
was learned.\
"""

PROMPTS: Final[Sequence[Mapping[str, Any]]] = (
    {
        "name": "recall",
        "title": "Recall",
        "description": "Bring what is remembered about a topic into the conversation.",
        "arguments": [
            {"name": "topic", "description": "A question or some words.", "required": True},
            {"name": "tag", "description": "Only memories with this tag.", "required": False},
        ],
    },
    {
        "name": "retro",
        "title": "Retrospective",
        "description": "Save what was learned in this session.",
        "arguments": [],
    },
    {
        "name": "consolidate",
        "title": "Consolidate",
        "description": "Turn past conversations into facts.",
        "arguments": [],
    },
)


_TEXTS: Final = {"retro": _RETRO, "consolidate": _CONSOLIDATE}


def get_prompt(memory: Callable[[], Memory], name: object, given: object) -> dict[str, Any] | None:
    """The messages of a prompt; None when there is none of this name, or an argument that it needs is missing."""
    prompt = next((each for each in PROMPTS if each["name"] == name), None)
    topic, tag = (given.get("topic"), given.get("tag")) if is_object(given) else (None, None)
    if prompt is None or (name == "recall" and not (topic and isinstance(topic, str))):
        return None
    text = _TEXTS.get(prompt["name"], "")
    if name == "recall":
        remembered = memory().context(str(topic), **({"tags": [str(tag)]} if tag else {})).text
        text = f"Take into account what is remembered about: {topic}\n\n{remembered or 'Nothing that fits.'}"
    return {
        "description": prompt["description"],
        "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
    }
