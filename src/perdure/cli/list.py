"""`perdure list`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.filter_options import KNOWN_AT, about_the_past, filter_options, filters_in_words, given_options
from perdure.cli.record_view import title_and_text
from perdure.cli.render import Column, Table, View, empty_answer
from perdure.cli.terminal import dim, is_terminal_layout
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.jsonable import past_document
from perdure.model import STATES, Page, Record

_EXAMPLES: Final = (
    "perdure list --limit 5",
    "perdure list --all --json",
    "perdure list --category preference --since 2w",
    "perdure list --state deleted",
    "perdure list --oldest --after 100",
    "perdure list --known-at 2026-01-01",
)
_PER_PAGE: Final = 20
_FETCHED: Final = 100
_COLUMNS: Final[tuple[Column[Record], ...]] = (
    Column("#", lambda record: str(record.number), "bold cyan", number=True),
    Column("memory", title_and_text, share=True),
    Column("state", lambda record: "" if record.state == "active" else record.state, "yellow", optional=True),
    Column("key", lambda record: record.key or "", optional=True),
    Column("category", lambda record: record.category or "", "green", optional=True),
    Column("tags", lambda record: ", ".join(record.tags), optional=True),
    Column("age", lambda record: age(record.valid_at or record.created_at), "dim"),
)


def _all_pages(listed: Callable[..., Page], after: int | None) -> Page:
    page = listed(limit=_FETCHED, after=after)
    records = list(page)
    while page.next is not None:
        page = listed(limit=_FETCHED, after=page.next)
        records += page
    return Page(tuple(records), None)


@command("list", examples=_EXAMPLES)
@option("--limit", "-l", type=int, help="Results per page.  [default: 20; in a pipe, all]")
@option("--all", "everything", is_flag=True, help="All of them, on one page.")
@option("--after", type=int, metavar="NUMBER", help="Start after this memory.")
@option("--oldest", is_flag=True, help="Oldest first.")
@KNOWN_AT
@filter_options(STATES)
def main(
    target: Target, *, limit: int | None, everything: bool, after: int | None, oldest: bool, **options: Any
) -> View:
    r"""List memories, newest first.

    In a pipe all are listed, each on one line of fields with tabs between them: number, state, namespace, time,
    category, tags, title, text. Tab, line break and backslash inside a field are written \t, \n and \\.
    """
    if everything and limit is not None:
        raise click.UsageError("--all and --limit cannot both be given.")
    everything = everything or (limit is None and not target.json and not is_terminal_layout())
    known_at, limit = options["known_at"], _PER_PAGE if limit is None else limit
    with target.memory() as memory:
        listed = partial(memory.list, newest=not oldest, **given_options(options))
        page = _all_pages(listed, after) if everything else listed(limit=limit, after=after)
    after_page: tuple[str, ...] = ()
    if page.next is not None:
        again = target.hint("list", after=page.next, limit=limit, oldest=oldest, **options)
        after_page = (dim(f"more: {again}"),)
    elif not page and (narrowed := filters_in_words(options)):
        after_page = empty_answer(f"No memories{narrowed}.", f"See them all: {target.hint('list')}")
    elif after is not None and not page:
        after_page = empty_answer("No more memories.")
    elif known_at is not None and not page:
        after_page = empty_answer("There was no memory here then.", f"See what there is now: {target.hint('list')}")
    elif not page:
        after_page = empty_answer("There is no memory here yet.", target.first_memory)
    return View(
        json=past_document(page, known_at=known_at),
        lines=[Table(_COLUMNS, page.records)] if page else [],
        rows=(
            (
                record.number, record.state, record.namespace, format_time(record.valid_at or record.created_at),
                record.category, ",".join(record.tags), record.title, record.text,
            )
            for record in page
        ),
        before=about_the_past(None, known_at),
        after=after_page,
    )  # fmt: skip
