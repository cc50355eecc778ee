"""How a change of a memory is shown: [-old-] became {+new+}, in words and in fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, cast

import click

from perdure.cli.layout import clip, wrap
from perdure.cli.screen import fancy, glyphs, safe, say, width
from perdure.clock import format_time
from perdure.model import DiffPart, FieldChange, Operation, Record

_MOST_LINES: Final = 8
_MARKS: Final = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
_COLOURS: Final[dict[Operation, str]] = {
    "insert": "green", "restore": "green", "update": "cyan", "observe": "blue", "annotate": "blue", "validate": "blue",
    "promote": "blue", "undo": "magenta", "rewind": "magenta", "forget": "red", "expire": "red", "evict": "red",
    "erase": "red",
}  # fmt: skip


def operation_name(operation: Operation, room: int = 8) -> str:
    return click.style(f"{operation:<{room}}", fg=_COLOURS.get(operation), bold=True)


def introduced(record: Record) -> Iterator[str]:
    """What there is to say about a memory that was not there before."""
    yield record.text
    facts = {"title": record.title, "key": record.key, "category": record.category, "tags": record.tags}
    yield from (f"{name}: {readable(value)}" for name, value in facts.items() if value)


def changed(pieces: Iterable[DiffPart], fields: Iterable[FieldChange]) -> Iterator[str]:
    """One line for the words, if they changed, and one for each field."""
    found = list(pieces)
    if any(piece.kind != "same" for piece in found):
        yield "".join(_MARKS[piece.kind].format(piece.text) for piece in found)
    arrow = glyphs().arrow if fancy() else "->"
    yield from (f"{each.field}: {readable(each.old)} {arrow} {readable(each.new)}" for each in fields)


def show_changes(lines: Iterable[str], indent: int, most: int | None = _MOST_LINES) -> None:
    """Below the line that says who made them. The marks are coloured and stay, because colours may not."""
    for line in lines:
        for part in wrap(safe(line), width() - indent - 9, most, glyphs().more):
            say(" " * indent + _painted(part))


def readable(value: object) -> str:
    if value is None or value == ():
        return "(none)"
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    return clip(str(value), 200)


def _painted(line: str) -> str:
    line = re.sub(r"\[-.*?-\]", lambda match: click.style(match[0], fg="red"), line)
    return re.sub(r"\{\+.*?\+\}", lambda match: click.style(match[0], fg="green"), line)
