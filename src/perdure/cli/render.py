"""One renderer: what a command answers becomes terminal layout, tab-separated lines for a pipe, or one JSON document.

The JSON documents are made by `perdure.jsonable`, which the other surfaces share; only their printing is here.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar, cast

from perdure.cli.exit_codes import OK
from perdure.cli.terminal import err, glyphs, is_terminal_layout, is_utf8, out, safe, tsv_field, width
from perdure.cli.text_layout import clip
from perdure.jsonable import to_jsonable
from perdure.text.unsafe_characters import UNSAFE_CHARACTERS

Item = TypeVar("Item")
# Characters of a column, and those that one which takes what is left has at least.
_WIDEST: Final = 24
_SHARE: Final = 20
_GAP: Final = 2


@dataclass(frozen=True, slots=True)
class Column(Generic[Item]):
    """A column of a table, and what it shows of an item. `share`: it takes the room that the others leave, and is cut
    where that ends. `fold`: it may take more lines. `optional`: it is left out while all its cells are empty, and where
    a narrow terminal has no room for it.
    """

    name: str
    cell: Callable[[Item], str]
    style: str = ""
    number: bool = False
    share: bool = False
    fold: bool = False
    optional: bool = False


@dataclass(frozen=True, slots=True)
class Table(Generic[Item]):
    columns: Sequence[Column[Item]]
    items: Sequence[Item]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What a command answers, in all its forms; the renderer takes one of them and leaves the others.

    `json` is a value of the model, or plain data, or a function that makes one of them. `lines` are for a terminal,
    and `rows` for a pipe: fields, or a whole line; without `rows` a pipe gets the lines. `before` and `after` go to
    stderr, and are not said with --json. Lines and rows may be generators, which show their progress while they work.
    """

    json: object
    lines: Iterable[str | Table[Any]] = ()
    rows: Iterable[Sequence[object] | str] | None = None
    before: Iterable[str] = ()
    after: Iterable[str] = ()
    exit_code: int | Callable[[], int] = OK


def render(view: View, *, as_json: bool) -> int:
    """Show the answer, and return the exit code."""
    if as_json:
        value = cast("Callable[[], object]", view.json)() if callable(view.json) else view.json
        out(json_document(value))
    else:
        for line in view.before:
            err(line)
        if view.rows is not None and not is_terminal_layout():
            for row in view.rows:
                out(row if isinstance(row, str) else "\t".join(map(tsv_field, row)))
        else:
            for line in view.lines:
                for drawn in [line] if isinstance(line, str) else draw_table(line):
                    out(drawn)
        for line in view.after:
            err(line)
    return view.exit_code if isinstance(view.exit_code, int) else view.exit_code()


def json_document(value: object) -> str:
    """One document, safe on any terminal and complete in any encoding."""
    text = json.dumps(to_jsonable(value), ensure_ascii=not is_utf8(), indent=2)
    # `json` itself escapes control characters up to U+001F only.
    return UNSAFE_CHARACTERS.sub(lambda match: json.dumps(match[0])[1:-1], text)


def empty_answer(sentence: str, *steps: str) -> tuple[str, ...]:
    """What to say on stderr when there is nothing to show, and what to try next."""
    return safe(sentence), *(f"  {step}" for step in steps)


def draw_table(table: Table[Item]) -> list[str]:
    """A table no wider than the terminal. With the progress bar it is the only place that loads rich."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    columns = _that_fit(
        [each for each in table.columns if not each.optional or any(map(each.cell, table.items))], table
    )
    drawn.expand = any(column.share for column in columns)
    for column in columns:
        drawn.add_column(
            column.name,
            style=column.style,
            justify="right" if column.number else "left",
            ratio=1 if column.share else None,
            max_width=None if column.share or column.fold else _WIDEST,
            no_wrap=not column.fold,
            overflow="fold" if column.fold else "ellipsis",
        )
    for item in table.items:
        cells = (safe(column.cell(item)) for column in columns)
        drawn.add_row(*(Text(cell if column.fold else clip(cell, width(), glyphs().more))
                        for column, cell in zip(columns, cells, strict=True)))  # fmt: skip
    # Drawn as for a terminal; what the real stream cannot take, `out` leaves out.
    console = Console(width=width(), force_terminal=True, highlight=False, color_system="standard")
    with console.capture() as captured:
        console.print(drawn)
    return [line.rstrip() for line in captured.get().splitlines()]


def _that_fit(columns: list[Column[Item]], table: Table[Item]) -> list[Column[Item]]:
    """Without the widest that are optional, until there is room for those that take what is left."""
    from rich.cells import cell_len

    def taken(column: Column[Item]) -> int:
        widest = max(map(cell_len, (column.name, *(safe(column.cell(item)) for item in table.items))))
        return _GAP + (_SHARE if column.share else min(widest, _WIDEST))

    widths = {column.name: taken(column) for column in columns}
    optional = sorted((each.name for each in columns if each.optional), key=lambda name: widths[name])
    if any(column.share for column in columns):
        while optional and sum(widths.values()) - _GAP > width():
            del widths[optional.pop()]
    return [column for column in columns if column.name in widths]
