"""Secrets leave a memory before it is stored, in every field that can hold prose."""

from __future__ import annotations

from perdure.draft import Clean
from perdure.model import Json
from perdure.text.secrets import redact

_PROSE = ("text", "title", "abstract", "summary", "reasoning")
_LISTS = ("tags", "keywords", "references", "trigger_phrases")


def redact_fields(clean: Clean) -> tuple[Clean, tuple[str, ...]]:
    """The fields without their secrets, and one note when there were any."""
    found: list[str] = []
    result: Clean = {}
    for name, value in clean.items():
        if name in _PROSE and value:
            result[name] = _without(value, found)
        elif name in _LISTS:
            result[name] = tuple(dict.fromkeys(_without(item, found) for item in value))
        else:
            result[name] = _within(value, found) if name == "metadata" else value
    if not found:
        return clean, ()
    return result, (f"Redacted before storing: {', '.join(dict.fromkeys(found))}.",)


def _without(text: str, found: list[str]) -> str:
    redacted = redact(text)
    if redacted.text != text:  # a text that was redacted long ago names its kinds too
        found.extend(redacted.found)
    return redacted.text


def _within(value: Json, found: list[str]) -> Json:
    if isinstance(value, str):
        return _without(value, found)
    if isinstance(value, list):
        return [_within(item, found) for item in value]
    if isinstance(value, dict):
        return {name: _within(item, found) for name, item in value.items()}
    return value
