"""How a change of a memory is shown: [-old-] became {+new+}, in words and in fields."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Final, cast

import click

from perdure.cli.terminal import glyphs, is_terminal_layout, safe, width
from perdure.cli.text_layout import clip, wrap
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.lifecycle.write_context import CHOSEN_BY, COMPARED_WITH
from perdure.lineage import DROPPED
from perdure.model import Change, DiffPart, FieldChange, Operation

_MOST_LINES: Final = 8
_MARKS: Final = {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}
_COLOURS: Final[dict[Operation, str]] = {
    "insert": "green", "restore": "green", "update": "cyan", "observe": "blue", "annotate": "blue", "validate": "blue",
    "promote": "blue", "undo": "magenta", "rewind": "magenta", "forget": "red", "expire": "red", "evict": "red",
    "erase": "red",
}  # fmt: skip


def operation_label(operation: Operation) -> str:
    return click.style(f"{operation:<8}", fg=_COLOURS.get(operation), bold=True)


def author_and_age(change: Change, *more: str | None) -> str:
    words = (change.actor, *more, change.session, age(change.at))
    return f" {glyphs().dot} ".join(safe(word) for word in words if word)


def provenance_line(change: Change) -> str:
    """Where a memory that was known was said again, who chose its keywords, and what was dropped because it held
    secrets; nothing for every other change.
    """
    told = dict(change.provenance)
    told.pop(COMPARED_WITH, None)
    chosen = f"keywords chosen by {readable(told.pop(CHOSEN_BY))}" if CHOSEN_BY in told else ""
    dropped = f"secrets were taken out of log entries {readable(told.pop(DROPPED))}" if DROPPED in told else ""
    places = ", ".join(f"{name} {readable(value)}" for name, value in told.items())
    return "; ".join(filter(None, (f"said again: {places}" if places else "", chosen, dropped)))


def describe_changes(text_diff: Iterable[DiffPart], field_changes: Iterable[FieldChange]) -> Iterator[str]:
    """One line for the words, if they changed, and one for each field."""
    parts = list(text_diff)
    if any(part.kind != "same" for part in parts):
        yield "".join(_MARKS[part.kind].format(part.text) for part in parts)
    arrow = glyphs().arrow if is_terminal_layout() else "->"
    for change in field_changes:
        yield f"{change.field}: {readable(change.old)} {arrow} {readable(change.new)}"


def change_lines(changes: Iterable[str], indent: int, most: int | None = _MOST_LINES) -> Iterator[str]:
    """Below the line that says who made them. The marks are coloured and stay, because colours may not."""
    for change in changes:
        for line in wrap(safe(change), width() - indent - 9, most, glyphs().more):
            red = re.sub(r"\[-.*?-\]", lambda match: click.style(match[0], fg="red"), line)
            yield " " * indent + re.sub(r"\{\+.*?\+\}", lambda match: click.style(match[0], fg="green"), red)


def readable(value: object) -> str:
    if value is None or value == ():
        return "(none)"
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    return clip(str(value), 200)
