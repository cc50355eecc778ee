"""What the routes answer, as JSON Schema with an example: made of the same annotations by which `Memory("https://…")`
reads the answers, so that neither can differ from what is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from datetime import datetime
from inspect import getdoc
from types import NoneType, UnionType
from typing import Any, Final, Literal, NewType, TypeAlias, Union, cast, get_args, get_origin

from perdure.remote.signatures import hints_of

Schema: TypeAlias = dict[str, Any]
# A type; or a document, by name the type of each entry. A name with a question mark may be missing.
Answer: TypeAlias = Any

_PLAIN: Final[Mapping[Any, Schema]] = {
    str: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    datetime: {"type": "string", "format": "date-time"},
    NoneType: {"type": "null"},
    Any: {},
}
_TIME: Final = "2026-03-14T09:26:53Z"
_ID: Final = "0195938c-7a3e-7c41-9d5a-3f1c2b7e8a90"
# What stands in examples, by the name of the field; else by its type.
_NAMED: Final[Mapping[str, Any]] = {
    "id": _ID,
    "memory": _ID,
    "batch": "0195938c-7a3f-7d02-8b1e-5c9a4d6f7e21",
    "namespace": "default",
    "content_hash": "5f0c1e9ab27d4c38",
    "text": "Alice prefers dark mode",
    "title": "Theme",
    "key": "person:alice",
    "tags": ["ui"],
    "context_type": "general",
    "source": "manual",
    "trust": "normal",
    "tier": "normal",
    "actor": "my-app",
    "surface": "http (model)",
    "conversation_id": "support-42",
    "conversations": ["support-42"],
    "token_counter": "perdure",
    "name": "before-refactor",
    "url": "perdure://memory/7",
    "importance": 0.5,
    "confidence": 0.5,
    "score": 0.81,
    "relevance": 0.74,
}
_BY_TYPE: Final[Mapping[Any, Any]] = {
    str: "",
    int: 7,
    float: 0.5,
    bool: True,
    datetime: _TIME,
    NoneType: None,
    Any: None,
}


def schema_of(hint: Answer, components: dict[str, Schema]) -> Schema:  # noqa: PLR0911 - one for each kind of type
    """The schema of an answer; those of the values in it are added to the components."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, Mapping):
        return _object(cast("Mapping[str, Any]", hint), components)
    if isinstance(hint, NewType):
        return schema_of(hint.__supertype__, components)
    if origin is Literal:
        return {"type": "string", "enum": list(arguments)}
    if origin in {UnionType, Union}:
        return {"anyOf": [schema_of(each, components) for each in arguments]}
    if origin in {tuple, list, Sequence}:
        return {"type": "array", "items": schema_of(arguments[0], components)}
    if origin in {dict, Mapping}:
        return {"type": "object", "additionalProperties": schema_of(arguments[1], components)}
    if not is_dataclass(hint):
        return dict(_PLAIN[hint])
    name = cast("type", hint).__name__
    if name not in components:
        components[name] = {}
        shape = _object(hints_of(cast("type", hint)), components)
        components[name] |= {"description": " ".join((getdoc(hint) or "").split()), **shape}
    return {"$ref": f"#/components/schemas/{name}"}


def _object(hints: Mapping[str, Any], components: dict[str, Schema]) -> Schema:
    """Open to more entries: a newer server may have some."""
    return {
        "type": "object",
        "properties": {name.rstrip("?"): schema_of(hint, components) for name, hint in hints.items()},
        "required": [name for name in hints if not name.endswith("?")],
    }


def example_of(hint: Answer, name: str = "") -> Any:  # noqa: PLR0911
    """An answer as it might be."""
    origin, arguments = get_origin(hint), get_args(hint)
    if isinstance(hint, Mapping):
        entries = cast("Mapping[str, Any]", hint)
        return {entry.rstrip("?"): example_of(each, entry.rstrip("?")) for entry, each in entries.items()}
    if isinstance(hint, NewType):
        return example_of(hint.__supertype__, name)
    if is_dataclass(hint):
        hints = hints_of(cast("type", hint))
        return {field.name: example_of(hints[field.name], field.name) for field in fields(hint)}
    if origin in {UnionType, Union} and NoneType in arguments and name not in _NAMED:
        return None
    if name in _NAMED and origin not in {Literal, dict, Mapping}:
        return _NAMED[name]
    if origin in {Literal, UnionType, Union}:
        return arguments[0] if origin is Literal else example_of(arguments[0], name)
    if origin in {tuple, list, Sequence}:
        return [example_of(arguments[0])] if is_dataclass(arguments[0]) else []
    return {} if origin in {dict, Mapping} else _BY_TYPE[hint]
