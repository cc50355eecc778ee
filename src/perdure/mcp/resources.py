"""What a host may read without a tool: what to know at the start of a session, and single memories."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from perdure.session.origin import Origin

if TYPE_CHECKING:
    from perdure.memory import Memory

CONTEXT_URI: Final = "perdure://context"
_MEMORY_URI: Final = "perdure://memory/"
_PLAIN: Final = "text/plain"
_NEWEST: Final = 10

RESOURCES: Final[Sequence[Mapping[str, Any]]] = (
    {
        "uri": CONTEXT_URI,
        "name": "context",
        "title": "What to know at the start",
        "description": "The constitutional memories, and the newest of this project.",
        "mimeType": _PLAIN,
    },
)
TEMPLATES: Final[Sequence[Mapping[str, Any]]] = (
    {
        "uriTemplate": f"{_MEMORY_URI}{{ref}}",
        "name": "memory",
        "title": "One memory",
        "description": "A memory in full, by its number, key, id or content hash.",
        "mimeType": _PLAIN,
    },
)


def read_resource(memory: Memory, origin: Origin, uri: object) -> dict[str, Any] | None:
    """The contents of a resource; None if no resource has this name."""
    from urllib.parse import unquote

    from perdure.mcp.views import details_answer, enclosed, one

    if uri == CONTEXT_URI:
        records = list(memory.constitution().records)
        known = {record.number for record in records}
        newest = memory.list(limit=_NEWEST, **({"source_project": origin.project} if origin.project else {}))
        records += [record for record in newest if record.number not in known]
        text = enclosed(map(one, records)) if records else "No memories."
    elif isinstance(uri, str) and uri.startswith(_MEMORY_URI) and uri != _MEMORY_URI:
        text = details_answer(memory.recall_detail(unquote(uri.removeprefix(_MEMORY_URI)))).text
    else:
        return None
    return {"contents": [{"uri": uri, "mimeType": _PLAIN, "text": text}]}
