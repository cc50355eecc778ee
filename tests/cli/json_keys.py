"""The keys of a JSON document and their types, and the page that explains each of them."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "json.md"
# Objects whose keys are data: names of states, categories, concepts, signals, namespaces, and what users choose.
KEYED_BY_DATA = {"states", "categories", "concepts", "explain", "positions", "metadata", "provenance", "parts"}
# Their values are whatever a field of a memory holds.
ANY_TYPE = {"old", "new", "value", "metadata"}


def documented() -> dict[str, str]:
    """Each key in the tables of the page, with its type."""
    rows = re.findall(r"^\| `(\w+)` \| ([a-z ]+?)(?: or null)? \|", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    assert len(rows) == len(dict(rows)), "a key is listed twice"
    return dict(rows)


def keys_of(value: Any) -> Iterator[tuple[str, str]]:
    """Every key at whatever depth with the type of its value; a null has the type `null`, an empty list `array`."""
    if isinstance(value, list):
        for item in value:  # pyright: ignore[reportUnknownVariableType]
            yield from keys_of(item)
    if not isinstance(value, dict):
        return
    for key, item in value.items():  # pyright: ignore[reportUnknownVariableType]
        name = str(key)  # pyright: ignore[reportUnknownArgumentType]
        yield name, "any" if name in ANY_TYPE else type_of(item)
        if name in KEYED_BY_DATA and isinstance(item, dict):
            for each in () if name in ANY_TYPE else item.values():  # pyright: ignore[reportUnknownVariableType]
                yield from keys_of(each)
        elif name not in ANY_TYPE:
            yield from keys_of(item)


def type_of(value: Any) -> str:
    if isinstance(value, list):
        types = {type_of(item) for item in value}  # pyright: ignore[reportUnknownVariableType]
        assert len(types) <= 1, value
        return f"array of {types.pop()}s" if types else "array"
    if value is None:
        return "null"
    names = {bool: "boolean", int: "number", float: "number", str: "string", dict: "object"}
    return names[type(value)]
