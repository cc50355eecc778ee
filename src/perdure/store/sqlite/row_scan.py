"""Reading the rows of a namespace in their order, also past rows that cannot be read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import apsw

from perdure.store.rows import Row, Value
from perdure.store.sqlite.apsw_types import Database

# What reading a row raises when its bytes are no text any more, or its pages no pages.
UNREADABLE: Final = (UnicodeDecodeError, apsw.CorruptError)


def rows_after(
    connection: Database, slot: int, select: str, select_slot: str, bindings: Mapping[str, Value]
) -> Iterator[tuple[int, Row | None]]:
    """The rows that `select` finds after a slot (`:after`), in its order. A row that cannot be read does not hide the
    others: it is None, and `select_slot` finds where it stands, by reading nothing else of it.
    """
    while True:
        try:
            for row in connection.execute(select, {**bindings, "after": slot}):
                slot = row[0]
                yield slot, row
        except UNREADABLE:
            unreadable: int | None = connection.execute(select_slot, {**bindings, "after": slot, "limit": 1}).get
            if unreadable is None:
                raise
            slot = unreadable
            yield slot, None
        else:
            return
