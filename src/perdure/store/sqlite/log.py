"""The log of a namespace: its lines, and what they say about a moment that has passed."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from perdure.clock import from_micros, to_micros
from perdure.errors import StoreDamaged
from perdure.model import Change, Revision
from perdure.store.port import LogFilter
from perdure.store.sqlite.apsw_types import Database, Row, Value
from perdure.store.sqlite.rows import NUMBER_MASK, decode_payload, pack_name, unpack_id, unpack_name
from perdure.store.sqlite.sql import SQL

_LINES: Final = SQL["select_lines"]
_OF_MEMORY: Final = f"{_LINES} {SQL['lines_of_memory']}"
_AT: Final = f"{_LINES} {SQL['lines_at']}"
_EXACT: Final = ("session", "actor", "operation", "before", "after")
_MOMENTS: Final = ("since", "until")
_PORTION: Final = 10_000


def revisions(connection: Database, namespace: int, name: str, number: int) -> list[Revision]:
    rows = connection.execute(_OF_MEMORY, {"namespace": namespace, "number": number})
    return [_revision(row, name) for row in rows]


def log(
    connection: Database, namespace: int, name: str, wanted: LogFilter, *, limit: int, newest: bool
) -> list[Revision]:
    found, bindings = _conditions(namespace, wanted)
    order = SQL["lines_newest_first" if newest else "lines_oldest_first"]
    bindings["limit"] = max(0, limit)
    rows = connection.execute(f"{_LINES} {' AND '.join(found)} {order}", bindings)
    return [_revision(row, name) for row in rows]


def _conditions(namespace: int, wanted: LogFilter) -> tuple[list[str], dict[str, Value]]:
    found = [SQL["lines_of_namespace"]]
    bindings: dict[str, Value] = {"namespace": namespace}
    for name in _EXACT:
        value = getattr(wanted, name)
        if value is not None:
            found.append(SQL[f"lines_{name}"])
            bindings[name] = value
    for name in _MOMENTS:
        moment = getattr(wanted, name)
        if moment is not None:
            found.append(SQL[f"lines_{name}"])
            bindings[name] = to_micros(moment)
    if wanted.batch is not None:
        found.append(SQL["lines_batch"])
        bindings["batch"] = pack_name(wanted.batch)
    return found, bindings


def seq_at(connection: Database, namespace: int, moment: datetime) -> int:
    return connection.execute(SQL["seq_at"], (namespace, to_micros(moment))).get or 0


def changed_after(connection: Database, namespace: int, seq: int, spec_folder: str | None) -> list[int]:
    bindings: dict[str, Value] = {"namespace": namespace, "seq": seq}
    if spec_folder is None:
        rows = connection.execute(SQL["changed_after"], bindings)
    else:
        rows = connection.execute(SQL["changed_in_folder"], bindings | {"folder": spec_folder})
    return [number for (number,) in rows]


def states_at(
    connection: Database, namespace: int, name: str, numbers: Sequence[int], seq: int
) -> Iterator[tuple[int, Revision]]:
    known = [number for number in numbers if 0 < number <= NUMBER_MASK]
    for first in range(0, len(known), _PORTION):
        portion = json.dumps(known[first : first + _PORTION])
        for row in connection.execute(_AT, {"namespace": namespace, "numbers": portion, "seq": seq}):
            line = _revision(row, name)
            yield line.number, line


def multi_version_numbers(connection: Database, namespace: int) -> list[int]:
    return [number for (number,) in connection.execute(SQL["reworded"], {"namespace": namespace})]


def _revision(row: Row, name: str) -> Revision:
    seq, number, memory, version, operation, actor, surface, session, request, at, batch, digest, hash_, body = row
    try:
        change = Change(operation, from_micros(at), unpack_name(batch), actor, surface, session, request)
        record = None if body is None else decode_payload(body)
        return Revision(name, seq, unpack_id(memory), number, version, change, digest.hex(), hash_.hex(), record)
    except (TypeError, AttributeError, OverflowError) as error:
        raise StoreDamaged(f"Line {seq} of the log of {name!r} is not as it was written.") from error
