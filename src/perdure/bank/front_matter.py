"""The front matter of a Markdown file: what stands between two lines `---` at its beginning, as far as people and
tools write it: one value, a list on one line, or a list of lines with dashes; and one level below a name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final, TypeAlias

Values: TypeAlias = Mapping[str, "str | list[str]"]

_BLOCK: Final = re.compile(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_ENTRY: Final = re.compile(r"(\s*)([A-Za-z_][\w.-]*)\s*:(?:\s+(.*))?$")
_ITEM: Final = re.compile(r"\s*-\s+(.*)$")


def split_front_matter(text: str) -> tuple[Values, str]:
    """The values by name, and the text behind them. `a:` with `b: c` below it is `a.b`."""
    block = _BLOCK.match(text)
    if block is None:
        return {}, text.removeprefix("\ufeff")
    values: dict[str, str | list[str]] = {}
    name = parent = ""
    for line in block[1].splitlines():
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        if (item := _ITEM.match(line)) and name:
            known = values.get(name)
            values[name] = [*(known if isinstance(known, list) else []), _plain(item[1])]
        elif entry := _ENTRY.match(line):
            below, own, value = bool(entry[1]), entry[2], (entry[3] or "").strip()
            parent = parent if below else own
            name = f"{parent}.{own}" if below and parent else own
            values[name] = value_of(value)
    return values, text[block.end() :]


def text_of(values: Values, *names: str) -> str | None:
    """The first of these values that is there, as one text."""
    for name in names:
        value = values.get(name)
        if isinstance(value, str) and value:
            return value
    return None


def texts_of(values: Values, *names: str) -> tuple[str, ...]:
    """The first of these values that is there, as a list; one text may hold several, with commas between them."""
    for name in names:
        value = values.get(name)
        if value:
            parts = value.split(",") if isinstance(value, str) else value
            return tuple(dict.fromkeys(part.strip() for part in parts if part.strip()))
    return ()


def value_of(text: str) -> str | list[str]:
    if text.startswith("[") and text.endswith("]"):
        return [
            _plain(part) for part in re.findall(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[^,\[\]]+', text[1:-1]) if part.strip()
        ]
    return _plain(text)


def _plain(text: str) -> str:
    """Without quotation marks, and without a comment behind it."""
    text = text.strip()
    if text[:1] in {'"', "'"}:
        end = text.find(text[0], 1)
        if end > 0:
            return text[1:end]
    return text.split(" #", 1)[0].rstrip()
