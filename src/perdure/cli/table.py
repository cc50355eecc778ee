"""A table for a terminal, no wider than it. The only place, with the progress bar, that loads rich."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from perdure.cli.screen import safe, say, width


@dataclass(frozen=True, slots=True)
class Column:
    """`share`: it takes the room that the others leave, and is cut where that ends. `fold`: it may take more lines."""

    name: str
    style: str = ""
    number: bool = False
    share: bool = False
    fold: bool = False


def show_table(columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.expand = any(column.share for column in columns)
    for column in columns:
        table.add_column(
            column.name,
            style=column.style,
            justify="right" if column.number else "left",
            ratio=1 if column.share else None,
            max_width=None if column.share or column.fold else 24,
            no_wrap=not column.fold,
            overflow="fold" if column.fold else "ellipsis",
        )
    for row in rows:
        table.add_row(*(Text(safe(value)) for value in row))
    # Drawn as for a terminal; what the real stream cannot take, `say` leaves out.
    console = Console(width=width(), force_terminal=True, highlight=False, color_system="standard")
    with console.capture() as drawn:
        console.print(table)
    for line in drawn.get().splitlines():
        say(line.rstrip())
