"""Erasing a memory: everything that holds its content is deleted. This works on damaged memories as well."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Final, NamedTuple

from perdure.buggify import point
from perdure.errors import NotFound
from perdure.store.erasure import ERASE, dropped_by_name, passages_of
from perdure.store.rows import range_of, slot_of
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.sidecar import SIDECAR_SQL
from perdure.store.sqlite.sql import SQL

UNVERSIONED: Final = "unversioned:"


class Erased(NamedTuple):
    """The id of the erased memory, its last version, and what it counted for in the index."""

    memory: bytes
    version: int
    terms: bytes | None
    tokens: int


def erase(connection: Database, namespace: int, number: int, *, traceless: bool) -> Erased:
    """Delete the content of a memory. Its log entries stay without their payloads; the writer appends `erase`."""
    lines = connection.execute(SQL["memory_lines"], (namespace, number)).fetchall()
    slot = slot_of(namespace, number)
    traces = connection.execute(SQL["memory_traces"], (slot,)).fetchall()
    if not lines or (lines[0][3] == ERASE and not traces and not any(line[-1] for line in lines)):
        raise NotFound(f"There is no memory {number} to erase.")
    _, memory, version, _, _ = lines[0]
    passage, terms, tokens = traces[0] if traces else (None, None, None)
    for seq, *_ in lines:
        connection.execute(SQL["delete_payload"], (slot_of(namespace, seq),))
    point("erase: payloads deleted")
    connection.execute(SQL["delete_memory"], (slot,))
    point("erase: memory deleted")
    _delete_passages(connection, namespace, [line[-1] for line in lines], {passage} if passage else set())
    if traceless:
        connection.execute(SIDECAR_SQL["ask_scrub"])
    point("erase: vectors deleted")
    return Erased(memory, version, terms, tokens or 0)


def drop_payloads(connection: Database, namespace: int, number: int, seqs: Collection[int] | None) -> None:
    """Delete the payloads of all log entries but the newest, or of the named ones. Doctor learns that this is no damage
    from a mark, or from the newest entry, which names them.
    """
    lines = connection.execute(SQL["memory_lines"], (namespace, number)).fetchall()[1:]
    if seqs is not None:
        lines = [line for line in lines if line[0] in seqs]
        connection.execute(SIDECAR_SQL["ask_scrub"])
    for seq, *_, body in lines:
        if body is not None:
            connection.execute(SQL["delete_payload"], (slot_of(namespace, seq),))
            if seqs is None:
                connection.execute(SQL["raise_mark"], (f"{UNVERSIONED}{namespace}", seq))
    _delete_passages(connection, namespace, [line[-1] for line in lines], set())


def dropped_one_by_one(connection: Database, namespace: int, number: int) -> set[int]:
    """The positions of a memory's log entries whose payloads were dropped by name."""
    return dropped_by_name(line[-1] for line in connection.execute(SQL["memory_lines"], (namespace, number)))


def dropped_until(connection: Database, namespace: int) -> int:
    """The last position whose payload was dropped because no versions were kept; 0 when there is none."""
    mark = connection.execute(SQL["get_meta"], (f"{UNVERSIONED}{namespace}",)).get
    return mark if isinstance(mark, int) else 0


def _delete_passages(connection: Database, namespace: int, bodies: Iterable[bytes | None], known: set[bytes]) -> None:
    """Delete the vectors of all versions, unless another memory has the same passage. When a payload cannot be read,
    every vector without a memory is deleted.
    """
    passages, complete = passages_of(bodies)
    for passage in passages | known:
        connection.execute(SQL["delete_passage"], (namespace, passage))
    if not complete:
        connection.execute(SQL["delete_unowned_vectors"], range_of(namespace))
