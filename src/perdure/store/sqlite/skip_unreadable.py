"""Reading on past what cannot be read: one bad row must not hide the others."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import apsw

from perdure.store.sqlite.apsw_types import Database, Row, Value

# What reading a row raises when its bytes are no text any more, or its pages no pages.
UNREADABLE: Final = (UnicodeDecodeError, apsw.CorruptError)


def rows_after(
    connection: Database, slot: int, select: str, select_slot: str, bindings: Mapping[str, Value]
) -> Iterator[tuple[int, Row | None]]:
    """The rows that `select` finds after a slot (`:after`), in its order; None for one that cannot be read.

    `select_slot` finds where such a row stands, by reading nothing else of it.
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
