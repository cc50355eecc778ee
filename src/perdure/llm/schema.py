"""JSON Schema, as much of it as the structured outputs of all providers can say: a check, and a rewriting for those
that know less of it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, cast

from perdure.llm.port import Schema
from perdure.model import Json

# What a schema may say. Any other word would promise a check that is not made.
NOTES: Final = frozenset({"title", "description"})
SHAPES: Final = frozenset({"type", "properties", "required", "additionalProperties", "items", "anyOf", "enum", "const"})
LIMITS: Final = frozenset({"minimum", "maximum", "minItems", "maxItems", "minLength", "maxLength"})
_WORDS: Final = NOTES | SHAPES | LIMITS

_KINDS: Final = {
    "object": "an object", "array": "a list", "string": "a string", "integer": "a whole number", "number": "a number",
    "boolean": "true or false", "null": "null",
}  # fmt: skip
# Of a value, in a sentence.
_MOST_SHOWN: Final = 60
# By kind: the words for the least and the most, and what they count.
_LIMITS_OF: Final = {
    "string": ("minLength", "maxLength", " characters"), "array": ("minItems", "maxItems", " items"),
    "integer": ("minimum", "maximum", ""), "number": ("minimum", "maximum", ""),
}  # fmt: skip


def fault(schema: Schema, value: Json) -> str | None:
    """The first thing in the value that the schema does not allow, as a sentence that names its place; else None."""
    return next(_faults(schema, value, ""), None)


def _faults(schema: Schema, value: Any, place: str) -> Iterator[str]:
    if unknown := set(schema) - _WORDS:
        raise TypeError(f"A schema says {min(unknown)!r}, which is not checked here.")
    name = place or "The answer"
    kind = kind_of(value)
    kinds = cast("Any", schema.get("type", list(_KINDS)))
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kind not in kinds and not (kind == "integer" and "number" in kinds):
        yield f"{name} is {_shown(value)} and must be {' or '.join(_KINDS[kind] for kind in kinds)}."
    for choices in (cast("Any", schema.get("enum", [value])), [schema.get("const", value)]):
        if not any(_same(choice, value) for choice in choices):
            yield f"{name} is {_shown(value)} and must be {' or '.join(map(_shown, choices))}."
    if kind in _LIMITS_OF:
        low, high, unit = _LIMITS_OF[kind]
        measured, has = (len(value), "has") if unit else (value, "is")
        if measured < cast("Any", schema.get(low, measured)):
            yield f"{name} {has} {measured}{unit}; the least is {schema[low]}."
        if measured > cast("Any", schema.get(high, measured)):
            yield f"{name} {has} {measured}{unit}; the most is {schema[high]}."
    if "anyOf" in schema:
        first = [next(_faults(form, value, place), None) for form in cast("Sequence[Schema]", schema["anyOf"])]
        if None not in first:
            yield f"{name} has none of the allowed forms; of the last: {first[-1]}"
    if kind == "object":
        yield from _faults_of_members(schema, value, place)
    for position, item in enumerate(value if kind == "array" else ()):
        yield from _faults(cast("Schema", schema.get("items", {})), item, f"{place}[{position}]")


def _faults_of_members(schema: Schema, value: Mapping[str, Json], place: str) -> Iterator[str]:
    name = place or "The answer"
    properties = cast("Mapping[str, Schema]", schema.get("properties", {}))
    others = schema.get("additionalProperties", True)
    for key in cast("Sequence[str]", schema.get("required", ())):
        if key not in value:
            yield f"{name} has no {_shown(key)}."
    for key, item in value.items():
        inner = properties.get(key, others)
        if inner is False:
            yield f"{name} has a key {_shown(key)}, which was not asked for."
        elif isinstance(inner, Mapping):
            yield from _faults(inner, item, f"{place}.{key}" if place else key)


def kind_of(value: Json) -> str:
    """The type of a value in the words of JSON Schema, for which 1.0 is a whole number and true is no number."""
    if value is None or isinstance(value, bool):
        return "null" if value is None else "boolean"
    if isinstance(value, int | float):
        return "integer" if isinstance(value, int) or value.is_integer() else "number"
    if isinstance(value, str):
        return "string"
    return "object" if isinstance(value, Mapping) else "array"


def _same(left: Any, right: Any) -> bool:
    """Equal as JSON: 1 is 1.0, but true is not 1, however deep."""
    kind = kind_of(left)
    if kind != kind_of(right):
        return False
    if kind == "object":
        return left.keys() == right.keys() and all(_same(left[key], right[key]) for key in left)
    if kind == "array":
        return len(left) == len(right) and all(map(_same, left, right))
    return left == right


def _shown(value: Json) -> str:
    kind = kind_of(value)
    if kind in {"object", "array"}:
        return _KINDS[kind]
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= _MOST_SHOWN else f"{text[:_MOST_SHOWN]}…"


def reduced(schema: Schema, known: frozenset[str]) -> dict[str, Json]:
    """The schema in the words that a provider knows. A limit that it does not know is told in the description, where
    the model may heed it; the answer is checked against the whole schema in any case.
    """
    kept = {word: value for word, value in schema.items() if word in known | NOTES}
    if "const" in schema and "const" not in known:
        kept["enum"] = [schema["const"]]
    if untold := [f"{word}: {schema[word]}" for word in sorted(LIMITS - known) if word in schema]:
        kept["description"] = " ".join(filter(None, (str(schema.get("description", "")), f"({', '.join(untold)})")))
    for word in ("items", "additionalProperties"):
        if isinstance(inner := kept.get(word), Mapping):
            kept[word] = reduced(inner, known)
    if "anyOf" in kept:
        kept["anyOf"] = [reduced(form, known) for form in cast("Sequence[Schema]", kept["anyOf"])]
    if "properties" in kept:
        properties = cast("Mapping[str, Schema]", kept["properties"])
        kept["properties"] = {name: reduced(inner, known) for name, inner in properties.items()}
    return kept
