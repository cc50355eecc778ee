"""Secrets leave a memory before it is stored, whatever field they are in."""

from __future__ import annotations

from typing import Any, cast

from perdure.errors import InvalidInput
from perdure.text.secrets import redact
from perdure.validation import RecordFields


def redact_fields(clean: RecordFields) -> tuple[RecordFields, tuple[str, ...]]:
    """The fields without their secrets, and one note when there were any."""
    found: list[str] = []
    result: RecordFields = {name: _within(value, found) for name, value in clean.items()}
    if not found:
        return clean, ()
    if result.get("key") != clean.get("key"):
        raise InvalidInput("The key holds a secret.", remedy="Choose a key that may be seen; nothing was changed.")
    return result, (f"Redacted before storing: {', '.join(dict.fromkeys(found))}.",)


def _within(value: Any, found: list[str]) -> Any:
    if isinstance(value, str):
        redacted = redact(value)
        if redacted.text != value:  # a text that was redacted long ago names its kinds too
            found.extend(redacted.found)
        return redacted.text
    if isinstance(value, tuple):
        return tuple(dict.fromkeys(_within(item, found) for item in cast("tuple[Any, ...]", value)))
    if isinstance(value, list):
        return [_within(item, found) for item in cast("list[Any]", value)]
    if isinstance(value, dict):
        return {_within(name, found): _within(item, found) for name, item in cast("dict[Any, Any]", value).items()}
    return value
