"""Reading a namespace page by page, however much it holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from perdure.model import Filter, Record, Revision
from perdure.store.port import LogFilter, Store

RECORDS_PER_PAGE: Final = 500
REVISIONS_PER_PAGE: Final = 1000


def records(store: Store, namespace: str, filter: Filter, *, newest: bool = False) -> Iterator[Record]:
    """All records that pass the filter, ordered by number."""
    after: int | None = None
    while page := store.page(namespace, filter, after=after, limit=RECORDS_PER_PAGE, newest=newest):
        yield from page
        if len(page) < RECORDS_PER_PAGE:
            return
        after = page[-1].number


def revisions(store: Store, namespace: str, filter: LogFilter, *, newest: bool = False) -> Iterator[Revision]:
    """All lines of the log that pass the filter, ordered by position."""
    while page := store.log(namespace, filter, limit=REVISIONS_PER_PAGE, newest=newest):
        yield from page
        if len(page) < REVISIONS_PER_PAGE:
            return
        filter = replace(filter, before=page[-1].seq) if newest else replace(filter, after=page[-1].seq)
