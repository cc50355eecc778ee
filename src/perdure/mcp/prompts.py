"""Prompts that a person may choose from a host's menu."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from perdure.mcp.tool import is_object

if TYPE_CHECKING:
    from perdure.memory import Memory

_RETRO: Final = """\
Look back over this session and keep what should be known next time, with the tools of Perdure.

1. recall what is remembered about the work of this session, so that nothing is kept twice, and note which of it held \
and which did not.
2. For each mistake that cost time (anti-patterns), each approach that worked (patterns) and each rule of thumb \
(heuristics) write a learning: a name, what was learned, why it matters and how it was found out, and 3 to 10 keywords \
that stand in it. A universal one holds in every project.
3. If you can run commands, give all of it to the command `perdure retro -` on standard input. It adds the files that \
the branch changed, and writes the project's knowledge bank as well:

```json
{
  "learnings": [
    {
      "name": "Ask for the encoding",
      "description": "Guessing the encoding of an uploaded file corrupts names; ask for it.",
      "reasoning": "Two imports were repaired by hand, because Latin-1 was read as UTF-8.",
      "category": "anti-patterns",
      "keywords": ["encoding", "uploaded file", "Latin-1"],
      "references": ["src/upload.py"],
      "confidence": "medium",
      "universal": false
    }
  ],
  "confirmed": ["Name of an older learning that held"],
  "challenged": [{"name": "Name of one that did not", "reason": "What speaks against it"}]
}
```

   If you cannot, call store_memory for each learning, and memory_update for a memory that turned out wrong.
4. For each decision and preference of the user, call remember with one sentence that needs no context.

Keep few things, and only what will still matter. Then say in one line each what was kept.\
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
        "description": "Keep what was learned in this session.",
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
    """The messages of a prompt; None if no prompt has this name, or a required argument is missing."""
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
