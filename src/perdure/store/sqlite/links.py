"""The table of links."""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import apsw

from perdure.store.links import Target, links_of
from perdure.store.rows import decode_sound, range_of
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.row_scan import rows_after
from perdure.store.sqlite.sql import SQL

_ROWS_WITH_EVIDENCE: Final = f"{SQL['select_memory']} {SQL['with_evidence']}"
_NEXT_WITH_EVIDENCE: Final = f"{SQL['select_slot']} {SQL['with_evidence']} LIMIT :limit"


def put_links(connection: Database, slot: int, before: set[Target], after: set[Target]) -> None:
    for target in before - after:
        connection.execute(SQL["delete_link"], (slot, *target))
    for target in after - before:
        connection.execute(SQL["put_link"], (slot, *target))


def index_evidence(connection: Database) -> None:
    """Make the index in a store of an earlier version, whose memories name others as their evidence alone. Memories
    that cannot be read are left for `doctor`.
    """
    with suppress(apsw.CorruptError):
        for namespace, name in connection.execute(SQL["namespace_names"]).fetchall():
            first, last = range_of(namespace)
            rows = rows_after(connection, first, _ROWS_WITH_EVIDENCE, _NEXT_WITH_EVIDENCE, {"last": last})
            for slot, targets in [
                (slot, links_of(record)) for slot, row in rows if (record := decode_sound(row, name))
            ]:
                put_links(connection, slot, set(), targets)
