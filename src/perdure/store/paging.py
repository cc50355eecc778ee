"""Reading a namespace page by page, however much it holds."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Final

from perdure.model import Filter, Record, Revision, without_use
from perdure.store.port import LogFilter, Reader, Store
from perdure.values import replace
from perdure.visibility import matches_filter

RECORDS_PER_PAGE: Final = 500
REVISIONS_PER_PAGE: Final = 1000


def records(store: Store, namespace: str, filter: Filter, *, newest: bool = False) -> Iterator[Record]:
    """All records that pass the filter, ordered by number. Each page is a read of its own, so that a consumer that is
    slow, such as a pipe, keeps no read open.
    """
    after: int | None = None
    while True:
        with store.read(namespace) as reader:
            page = reader.page(filter, after=after, limit=RECORDS_PER_PAGE, newest=newest)
        yield from page
        if len(page) < RECORDS_PER_PAGE:
            return
        after = page[-1].number


def revisions(reader: Reader, filter: LogFilter, *, newest: bool = False) -> Iterator[Revision]:
    """All lines of the log that pass the filter, ordered by position."""
    while page := reader.log(filter, limit=REVISIONS_PER_PAGE, newest=newest):
        yield from page
        if len(page) < REVISIONS_PER_PAGE:
            return
        filter = replace(filter, before=page[-1].seq) if newest else replace(filter, after=page[-1].seq)


def page_at(reader: Reader, filter: Filter, seq: int, *, after: int | None, limit: int, newest: bool) -> list[Record]:
    """As the reader's own page, when the log stood at `seq`."""

    def unchanged() -> Iterator[Record]:
        last = after
        while page := reader.page(filter, after=last, limit=limit, newest=newest):
            yield from (record for record in page if record.seq <= seq)
            last = page[-1].number

    lines = reader.states_at(reader.changed_after(seq), seq)
    old = (line.record for line in lines.values() if line.record and matches_filter(line.record, filter))
    records = [
        record for record in old if after is None or (record.number < after if newest else record.number > after)
    ]
    records += map(without_use, islice(unchanged(), limit))
    return sorted(records, key=lambda record: record.number, reverse=newest)[:limit]
