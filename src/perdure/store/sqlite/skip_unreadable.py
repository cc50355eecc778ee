"""Reading on past what cannot be read: one bad row must not hide the others."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import apsw

from perdure.store.sqlite.apsw_types import Row, Rows

# What reading a row raises when its bytes are no text any more, or its pages no pages.
UNREADABLE: Final = (UnicodeDecodeError, apsw.CorruptError)


def rows_after(
    slot: int, read: Callable[[int], Rows], next_slot: Callable[[int], int | None]
) -> Iterator[tuple[int, Row | None]]:
    """The rows that `read` finds after a slot, in its order; None for one that cannot be read.

    `next_slot` finds where such a row stands, by reading nothing else of it.
    """
    while True:
        try:
            for row in read(slot):
                slot = row[0]
                yield slot, row
        except UNREADABLE:
            unreadable = next_slot(slot)
            if unreadable is None:
                raise
            slot = unreadable
            yield slot, None
        else:
            return
