"""The table of links: an index over the fields of the memories that name other memories by their ids."""

from __future__ import annotations

import json
from collections.abc import Iterable
from contextlib import suppress
from typing import Final, TypeAlias

import apsw

from perdure.model import Record
from perdure.store.port import LINK_KINDS, Link, LinkKind
from perdure.store.sqlite.apsw_types import Database, Row
from perdure.store.sqlite.rows import NUMBER_MASK, decode_sound, pack_name, range_of, rows_after, unpack_id
from perdure.store.sqlite.sql import SQL

# The kind of a link, and the id of the memory that is named.
Target: TypeAlias = tuple[LinkKind, bytes]
_ROWS_WITH_EVIDENCE: Final = f"{SQL['select_memory']} {SQL['with_evidence']}"
_NEXT_WITH_EVIDENCE: Final = f"{SQL['select_slot']} {SQL['with_evidence']} LIMIT :limit"


def links_of(record: Record) -> set[Target]:
    return _targets((record.evidence, record.supersedes, record.merged_from))


def encoded_links(columns: Row) -> set[Target]:
    """From the same three fields as they are stored."""
    return _targets(json.loads(column) if column else () for column in columns)


def _targets(fields: Iterable[Iterable[str]]) -> set[Target]:
    targets: set[Target] = set()
    for kind, names in zip(LINK_KINDS, fields, strict=False):
        targets.update((kind, target) for target in map(pack_name, names) if isinstance(target, bytes))
    return targets


def put_links(connection: Database, slot: int, before: set[Target], after: set[Target]) -> None:
    for target in before - after:
        connection.execute(SQL["delete_link"], (slot, *target))
    for target in after - before:
        connection.execute(SQL["put_link"], (slot, *target))


def decode_links(rows: Iterable[Row]) -> list[Link]:
    return [Link(slot & NUMBER_MASK, unpack_id(source), kind, unpack_id(target)) for slot, source, kind, target in rows]


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
