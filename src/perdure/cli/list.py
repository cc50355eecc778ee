"""`perdure list`."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any, Final

from perdure.cli.command import command, option
from perdure.cli.filters import KNOWN_AT, about_the_past, chosen, filter_options, in_words
from perdure.cli.layout import clip
from perdure.cli.moments import age
from perdure.cli.screen import dim, fancy, glyphs, notes, row, safe, tell, width
from perdure.cli.table import Column, show_table
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.jsonable import to_jsonable
from perdure.model import STATES, Page, Record

_EXAMPLES = (
    "perdure list --limit 5",
    "perdure list --category preference --since 2w",
    "perdure list --state deleted",
    "perdure list --oldest --after 100",
    "perdure list --known-at 2026-01-01",
)
_FILTER_NAMES: Final = {"tags": "tag", "states": "state"}


@command("list", examples=_EXAMPLES)
@option("--limit", "-l", type=int, default=20, show_default=True, help="So many per page.")
@option("--after", type=int, metavar="NUMBER", help="Go on behind this memory.")
@option("--oldest", is_flag=True, help="Oldest first.")
@KNOWN_AT
@filter_options(STATES)
@with_target()
def main(
    target: Target, *, limit: int, after: int | None, oldest: bool, known_at: datetime | None, **options: Any
) -> None:
    r"""List memories, newest first.

    In a pipe each memory is one line of fields with tabs between them: number, state, namespace, time, category,
    tags, title, text. Tab, line break and backslash inside a field are written \t, \n and \\.
    """
    filters = chosen(options)
    with target.memory() as memory:
        page = memory.list(limit=limit, after=after, newest=not oldest, known_at=known_at, **filters)
    if target.json:
        target.answer({**({"known_at": to_jsonable(known_at)} if known_at else {}), **to_jsonable(page)})
        return
    notes(about_the_past(None, known_at))
    if not page:
        _nothing(target, filters, after, known_at)
    elif fancy():
        _table(page)
    else:
        for record in page:
            row(record.number, record.state, record.namespace, format_time(record.valid_at or record.created_at),
                record.category, ",".join(record.tags), record.title, record.text)  # fmt: skip
    if page.next is not None:
        again = [*(["--oldest"] if oldest else []), *(["--known-at", format_time(known_at)] if known_at else [])]
        tell(dim(f"more: {target.hint('list', '--after', page.next, '--limit', limit, *again, *_again(filters))}"))


def _again(filters: dict[str, Any]) -> list[str]:
    """The filters as they were given, for the next page."""
    words: list[str] = []
    for name, value in filters.items():
        option_name = f"--{_FILTER_NAMES.get(name, name).replace('_', '-')}"
        values: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]
        for item in values:
            words += [option_name, format_time(item) if hasattr(item, "astimezone") else str(item)]
    return words


def _nothing(target: Target, filters: dict[str, Any], after: int | None, known_at: datetime | None) -> None:
    if filters:
        tell(f"No memory with {safe(in_words(filters))}.")
        tell(f"  See them all: {target.hint('list')}")
    elif after is not None:
        tell("No more memories.")
    elif known_at is not None:
        tell("There was no memory here then.")
        tell(f"  See what there is now: {target.hint('list')}")
    else:
        tell("There is no memory here yet.")
        tell(f"  Store one: {target.hint('remember', 'Alice prefers dark mode')}")


def _table(page: Page) -> None:
    shown = [(column, value) for column, value in _COLUMNS if column.name in _ALWAYS or any(map(value, page))]
    rows = [[clip(value(record), width(), glyphs().more) for _, value in shown] for record in page]
    show_table([column for column, _ in shown], rows)


def _memory(record: Record) -> str:
    return f"{record.title}: {record.text}" if record.title else record.text


def _state(record: Record) -> str:
    return "" if record.state == "active" else record.state


_ALWAYS: Final = frozenset({"#", "memory", "age"})
_COLUMNS: Final[tuple[tuple[Column, Callable[[Record], str]], ...]] = (
    (Column("#", "bold cyan", number=True), lambda record: str(record.number)),
    (Column("memory", share=True), _memory),
    (Column("state", "yellow"), _state),
    (Column("key"), lambda record: record.key or ""),
    (Column("category", "green"), lambda record: record.category or ""),
    (Column("tags"), lambda record: ", ".join(record.tags)),
    (Column("age", "dim"), lambda record: age(record.valid_at or record.created_at)),
)
