"""Records, by reference, by number, by page; and their history."""

from __future__ import annotations

import json
from array import array
from collections.abc import Sequence
from typing import Final

from perdure.clock import from_micros
from perdure.errors import StoreDamaged
from perdure.ids import Reference
from perdure.model import Change, Filter, Record, Revision
from perdure.store.sqlite.database import Database, Row
from perdure.store.sqlite.filters import conditions
from perdure.store.sqlite.rows import (
    NUMBER_MASK,
    decode_payload,
    decode_row,
    pack_id,
    slot_of,
    unpack_batch,
    unpack_id,
)
from perdure.store.sqlite.sql import SQL

_SELECT: Final = SQL["select_memory"]
_BY_SLOT: Final = f"{_SELECT} {SQL['by_slot']}"
_BY_SLOTS: Final = f"{_SELECT} {SQL['by_slots']}"
_BY_ID: Final = f"{_SELECT} {SQL['by_id']}"
_BY_KEY: Final = f"{_SELECT} {SQL['by_key']}"
_BY_HASH: Final = f"{_SELECT} {SQL['by_hash']}"


def find(connection: Database, namespace: int, name: str, reference: Reference) -> list[Record]:
    """Each way to read the reference; a memory that several ways lead to counts once."""
    rows: list[Row] = []
    if reference.number is not None and 0 < reference.number <= NUMBER_MASK:
        rows += connection.execute(_BY_SLOT, (slot_of(namespace, reference.number),))
    if reference.id is not None:
        rows += connection.execute(_BY_ID, (namespace, pack_id(reference.id)))
    found = {record.number: record for record in (decode_row(row, name) for row in rows)}
    if reference.hash is not None:
        rows = connection.execute(_BY_HASH, (namespace, bytes.fromhex(reference.hash))).fetchall()
        same = [decode_row(row, name) for row in rows]
        active = [record for record in same if record.state == "active"]
        found |= {record.number: record for record in active or same}
    if reference.key is not None and _is_text(reference.key):
        rows = connection.execute(_BY_KEY, (namespace, reference.key)).fetchall()
        found |= {record.number: record for record in (decode_row(row, name) for row in rows)}
    return list(found.values())


def fetch(connection: Database, namespace: int, name: str, numbers: Sequence[int]) -> list[Record]:
    slots = [slot_of(namespace, number) for number in numbers if 0 < number <= NUMBER_MASK]
    rows = connection.execute(_BY_SLOTS, (json.dumps(slots),))
    found = {row[0] & NUMBER_MASK: decode_row(row, name) for row in rows}
    return [found[number] for number in numbers if number in found]


def page(
    connection: Database,
    namespace: int,
    name: str,
    filter: Filter,
    *,
    after: int | None,
    limit: int,
    newest: bool,
) -> list[Record]:
    wanted, bindings = conditions(namespace, filter)
    bindings["limit"] = limit
    if after is not None:
        wanted.append(SQL["below" if newest else "above"])
        bindings["after"] = slot_of(namespace, max(0, min(after, NUMBER_MASK)))
    order = SQL["newest_first" if newest else "oldest_first"]
    rows = connection.execute(f"{_SELECT} {' AND '.join(wanted)} {order}", bindings)
    return [decode_row(row, name) for row in rows]


def matching(connection: Database, namespace: int, filter: Filter) -> Sequence[int]:
    wanted, bindings = conditions(namespace, filter)
    found: str = connection.execute(f"{SQL['matching']} {' AND '.join(wanted)}", bindings).get
    return array("q", json.loads(found))


def revisions(connection: Database, namespace: int, name: str, number: int) -> list[Revision]:
    rows = connection.execute(SQL["revisions"], (namespace, number))
    return [_revision(row, name) for row in rows]


def _revision(row: Row, name: str) -> Revision:
    seq, number, memory, version, operation, actor, surface, session, request, at, batch, digest, hash_, body = row
    try:
        change = Change(operation, from_micros(at), unpack_batch(batch), actor, surface, session, request)
        record = None if body is None else decode_payload(body)
        return Revision(name, seq, unpack_id(memory), number, version, change, digest.hex(), hash_.hex(), record)
    except (TypeError, AttributeError, OverflowError) as error:
        raise StoreDamaged(f"Line {seq} of the log of {name!r} is not as it was written.") from error


def _is_text(value: str) -> bool:
    """A key with half of a surrogate pair cannot be stored, so no memory has it."""
    return value.isascii() or value.encode("utf-8", "replace").decode() == value
