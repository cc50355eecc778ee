"""The front matter of a Markdown file: what stands between two lines `---` at its beginning, as far as people and
tools write it: one value, a list on one line, or a list of lines with dashes; and one level below a name. The hook of a
session reads its configuration with it, so that nothing is compiled before it is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeAlias

Values: TypeAlias = Mapping[str, "str | list[str]"]

_ENDS: Final = ("---", "...")


def split_front_matter(text: str) -> tuple[Values, str]:
    """The values by name, and the text behind them. `a:` with `b: c` below it is `a.b`."""
    text = text.removeprefix("\ufeff")
    lines = text.splitlines(keepends=True)
    end = next((number for number, line in enumerate(lines) if number and line.rstrip() in _ENDS), 0)
    if not end or lines[0].rstrip() != _ENDS[0]:
        return {}, text
    values: dict[str, str | list[str]] = {}
    name = parent = ""
    for line in lines[1:end]:
        said = line.strip()
        own, colon, value = (part.strip() for part in said.partition(":"))
        if said.startswith(("- ", "-\t")) and name:
            known = values.get(name)
            values[name] = [*(known if isinstance(known, list) else []), _plain(said[1:])]
        elif colon and is_name(own) and not value.startswith("//"):
            below = line[0].isspace()
            parent = parent if below else own
            name = f"{parent}.{own}" if below and parent else own
            values[name] = "" if value.startswith("#") else value_of(value)
    return values, "".join(lines[end + 1 :])


def is_name(text: str) -> bool:
    """Neither a comment, nor a sentence with a colon in it."""
    return (text[:1].isalpha() or text[:1] == "_") and all(letter.isalnum() or letter in "_.-" for letter in text)


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
        import re

        parts: list[str] = re.findall(r'"(?:[^"\\]|\\.)*"|\'[^\']*\'|[^,\[\]]+', text[1:-1])
        return [_plain(part) for part in parts if part.strip()]
    return _plain(text)


def _plain(text: str) -> str:
    """Without quotation marks, and without a comment behind it."""
    text = text.strip()
    if text[:1] in {'"', "'"}:
        end = text.find(text[0], 1)
        if end > 0:
            return text[1:end]
    return text.split(" #", 1)[0].rstrip()
