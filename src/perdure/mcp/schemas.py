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
_FOUND: Final = {
    "notice": TEXT,
    "memories": list_of(
        object_of("number date text", **MEMORY["properties"], score=NUMBER, trigger=TEXT, confidence=SHARE)
    ),
    "omitted": NUMBERS,
    "next": NUMBER,
    "notes": TEXTS,
}
FOUND: Final = object_of("notice memories", **_FOUND)
TRIGGERED: Final = object_of("notice matched memories", **_FOUND, matched=SWITCH, trigger=TEXT, confidence=SHARE)
_COUNTS: Final = {"type": "object", "additionalProperties": NUMBER}
STATS: Final = object_of(
    "namespace memories tokens versions states categories vectors_pending embedder",
    namespace=TEXT,
    memories=NUMBER,
    tokens=NUMBER,
    versions=NUMBER,
    states=_COUNTS,
    categories=_COUNTS,
    vectors_pending=NUMBER,
    embedder=TEXT,
)
CHECKPOINTS: Final = object_of(
    "checkpoints",
    outcome=TEXT,
    checkpoints=list_of(
        object_of(
            "name memory_count created_at",
            name=TEXT,
            memory_count=NUMBER,
            created_at=TEXT,
            spec_folder=TEXT,
            description=TEXT,
            metadata={"type": "object"},
        )
    ),
)
INDEXED: Final = object_of(
    "path inserted updated present gone kept_forgotten numbers",
    path=TEXT,
    inserted=NUMBER,
    updated=NUMBER,
    present=NUMBER,
    gone=NUMBER,
    kept_forgotten=NUMBER,
    numbers=NUMBERS,
    unread=list_of(object_of("what reason", what=TEXT, reason=TEXT)),
    batch=TEXT,
    notes=TEXTS,
)
MEMORIES: Final = object_of(
    "notice memories",
    notice=TEXT,
    memories=list_of(MEMORY),
    index=list_of(object_of("number text", number=NUMBER, text=TEXT)),
    omitted=NUMBERS,
    notes=TEXTS,
)
WRITTEN: Final = object_of(
    "number outcome version tier",
    number=NUMBER,
    outcome=TEXT,
    version=NUMBER,
    tier=TEXT,
    confidence=SHARE,
    validations=NUMBER,
    expires=TEXT,
    offered=TEXT,
    absorbed=NUMBERS,
    proposals=NUMBERS,
    contradicts=NUMBERS,
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
    stays=TEXTS,
    notes=TEXTS,
)
CONSOLIDATION: Final = object_of(
    "done",
    done=SWITCH,
    token=TEXT,
    instructions=TEXT,
    notice=TEXT,
    facts=list_of(MEMORY),
    waiting=list_of(object_of("number messages", number=NUMBER, messages=list_of(MEMORY))),
    episodes=NUMBER,
    learned=NUMBER,
    reinforced=NUMBER,
    updated=NUMBER,
    invalidated=NUMBER,
    proposed=NUMBER,
    left_out=NUMBER,
    batch=TEXT,
    notes=TEXTS,
)
REVERTED: Final = object_of(
    "done reverted removed skipped", done=SWITCH, reverted=NUMBERS, removed=NUMBERS, skipped=TEXTS, batch=TEXT,
    notes=TEXTS,
)  # fmt: skip
