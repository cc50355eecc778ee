"""Records, by reference, by number, by page."""

from __future__ import annotations

import json
from array import array
from collections.abc import Iterator, Sequence
from datetime import datetime
from itertools import islice
from typing import Final

from perdure.clock import from_micros
from perdure.errors import StoreDamaged
from perdure.ids import Reference
from perdure.model import Filter, Record
from perdure.store.sqlite.apsw_types import Database, Row, Value
from perdure.store.sqlite.filters import conditions
from perdure.store.sqlite.rows import (
    NUMBER_MASK,
    RESTORE,
    decode_row,
    decode_sound,
    is_sound,
    pack_id,
    range_of,
    slot_of,
)
from perdure.store.sqlite.skip_unreadable import UNREADABLE, rows_after
from perdure.store.sqlite.sql import SQL

_SELECT: Final = SQL["select_memory"]
_SELECT_SLOT: Final = SQL["select_slot"]
_ALL_AFTER: Final = f"{_SELECT} {SQL['all_after']}"
_SLOT_AFTER: Final = f"{_SELECT_SLOT} {SQL['all_after']}"
_BY_SLOT: Final = f"{_SELECT} {SQL['by_slot']}"
_BY_SLOTS: Final = f"{_SELECT} {SQL['by_slots']}"
_BY_ID: Final = f"{_SELECT_SLOT} {SQL['by_id']}"
_BY_KEY: Final = f"{_SELECT_SLOT} {SQL['by_key']}"
_BY_HASH: Final = f"{_SELECT_SLOT} {SQL['by_hash']}"


def find(connection: Database, namespace: int, name: str, reference: Reference) -> list[Record]:
    """Each way to read the reference; a memory that several ways lead to counts once."""
    found: list[Record] = []

    def named(sql: str, value: Value) -> list[Record]:
        """Their slots first: mostly there is none, and the whole row's statement costs ten times as much to begin."""
        slots = connection.execute(sql, (namespace, value)).fetchall()
        return [record for (slot,) in slots for record in at(slot)]

    def at(slot: int) -> list[Record]:
        try:
            return [decode_row(row, name) for row in connection.execute(_BY_SLOT, (slot,))]
        except UNREADABLE as error:
            raise StoreDamaged(f"Memory {reference.text!r:.80} of {name!r} cannot be read.", remedy=RESTORE) from error

    if reference.number is not None and 0 < reference.number <= NUMBER_MASK:
        found += at(slot_of(namespace, reference.number))
    if reference.id is not None:
        found += named(_BY_ID, pack_id(reference.id))
    if reference.hash is not None:
        same = named(_BY_HASH, bytes.fromhex(reference.hash))
        found += [record for record in same if record.state == "active"] or same
    if reference.key is not None and _is_text(reference.key):
        found += named(_BY_KEY, reference.key)
    return list({record.number: record for record in found}.values())


def fetch(connection: Database, namespace: int, name: str, numbers: Sequence[int]) -> list[Record]:
    slots = [slot_of(namespace, number) for number in numbers if 0 < number <= NUMBER_MASK]
    try:
        rows = connection.execute(_BY_SLOTS, (json.dumps(slots),)).fetchall()
    except UNREADABLE:
        rows = [row for slot in slots for row in _readable(connection, slot)]
    found = {row[0] & NUMBER_MASK: decode_sound(row, name) for row in rows}
    return [record for number in numbers if (record := found.get(number))]


def times(connection: Database, namespace: int, numbers: Sequence[int]) -> dict[int, datetime]:
    slots = [slot_of(namespace, number) for number in numbers if 0 < number <= NUMBER_MASK]
    return {number: from_micros(moment) for number, moment in connection.execute(SQL["times"], (json.dumps(slots),))}


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
    first, last = range_of(namespace)
    slot = slot_of(namespace, max(0, min(after, NUMBER_MASK))) if after is not None else last + 1 if newest else first
    found: list[Record] = []
    while (missing := limit - len(found)) > 0:
        rows = list(islice(_rows(connection, namespace, filter, slot, missing, newest=newest), missing))
        found += [record for _, row in rows if (record := decode_sound(row, name))]
        if len(rows) < missing:
            break
        slot = rows[-1][0]
    return found


def _rows(
    connection: Database, namespace: int, filter: Filter, after: int, limit: int, *, newest: bool
) -> Iterator[tuple[int, Row | None]]:
    wanted, bindings = conditions(namespace, filter)
    wanted.append(SQL["below" if newest else "above"])
    order = SQL["newest_first" if newest else "oldest_first"]
    rest = f"{' AND '.join(wanted)} {order}"
    return rows_after(
        after,
        lambda slot: connection.execute(f"{_SELECT} {rest}", {**bindings, "after": slot, "limit": limit}),
        lambda slot: connection.execute(f"{_SELECT_SLOT} {rest}", {**bindings, "after": slot, "limit": 1}).get,
    )


def _readable(connection: Database, slot: int) -> list[Row]:
    try:
        return connection.execute(_BY_SLOT, (slot,)).fetchall()
    except UNREADABLE:
        return []


def damaged(connection: Database, namespace: int) -> list[int]:
    first, last = range_of(namespace)
    found = rows_after(
        first,
        lambda slot: connection.execute(_ALL_AFTER, {"after": slot, "last": last, "limit": -1}),
        lambda slot: connection.execute(_SLOT_AFTER, {"after": slot, "last": last, "limit": 1}).get,
    )
    return [slot & NUMBER_MASK for slot, row in found if row is None or not is_sound(row)]


def matching(connection: Database, namespace: int, filter: Filter) -> Sequence[int]:
    wanted, bindings = conditions(namespace, filter)
    found: str = connection.execute(f"{SQL['matching']} {' AND '.join(wanted)}", bindings).get
    return array("q", json.loads(found))


def _is_text(value: str) -> bool:
    """A key with half of a surrogate pair cannot be stored, so no memory has it."""
    return value.isascii() or value.encode("utf-8", "replace").decode() == value
