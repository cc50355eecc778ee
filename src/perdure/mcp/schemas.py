"""The shapes that tools answer in, as JSON Schema."""

from __future__ import annotations

from typing import Final

from perdure.mcp.tool import NUMBER, NUMBERS, SHARE, SWITCH, TEXT, TEXTS, Schema


def object_of(required: str, **properties: Schema) -> Schema:
    """An object; `required` are names, with spaces between them."""
    return {"type": "object", "properties": properties, "required": required.split()}


def list_of(items: Schema) -> Schema:
    return {"type": "array", "items": items}


MEMORY: Final = object_of("number date text", number=NUMBER, date=TEXT, category=TEXT, origin=TEXT, text=TEXT)
MEMORIES: Final = object_of("notice memories", notice=TEXT, memories=list_of(MEMORY), omitted=NUMBERS, notes=TEXTS)
WRITTEN: Final = object_of(
    "number outcome version tier",
    number=NUMBER,
    outcome=TEXT,
    version=NUMBER,
    tier=TEXT,
    confidence=SHARE,
    expires=TEXT,
    offered=TEXT,
    evicted=NUMBERS,
    notes=TEXTS,
)
FORGOTTEN: Final = object_of(
    "done numbers understood",
    done=SWITCH,
    numbers=NUMBERS,
    understood=TEXT,
    batch=TEXT,
    confirm=TEXT,
    notice=TEXT,
    memories=list_of(MEMORY),
    notes=TEXTS,
)
REVERTED: Final = object_of(
    "done reverted removed skipped", done=SWITCH, reverted=NUMBERS, removed=NUMBERS, skipped=TEXTS, batch=TEXT,
    notes=TEXTS,
)  # fmt: skip
