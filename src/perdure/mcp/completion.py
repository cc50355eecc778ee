"""How the value of an argument may go on that somebody has begun to type."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from perdure.memory import Memory

# How many memories are looked at, the newest first.
_MEMORIES_READ: Final = 500
_MAX_VALUES: Final = 100


def complete(memory: Memory, argument: str, begun: str) -> dict[str, Any]:
    """References go on as numbers or keys, tags as tags of newer memories."""
    values: dict[str, None] = {}
    if argument in {"ref", "tag"}:
        for record in memory.list(limit=_MEMORIES_READ):
            words = (str(record.number), record.key or "") if argument == "ref" else record.tags
            values.update(dict.fromkeys(word for word in words if word and word.startswith(begun)))
    found = list(values)
    return {"completion": {"values": found[:_MAX_VALUES], "total": len(found), "hasMore": len(found) > _MAX_VALUES}}
