"""The log of a namespace, proved again: the hash chain over its entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

from perdure.store.hash_chain import Line, genesis, link
from perdure.store.rows import Row, unpack_id, unpack_name


def line_of(row: Row) -> tuple[Line, bytes, bytes, bytes | None]:
    """The log entry, the hash stored with it, and the salt and the body of its payload; from these columns, in the
    order of `Line`, then the three.
    """
    seq, number, memory, version, operation, actor, surface, session, request, at, batch, digest, stored, salt, body = (
        row
    )
    line = Line(
        seq, number, unpack_id(memory), version, operation, actor, surface, session, request, at, unpack_name(batch),
        digest,
    )  # fmt: skip
    return line, stored, salt, body


class ChainEntry(NamedTuple):
    """An entry of a log, and whether it follows the one before it."""

    line: Line
    fits: bool
    hash: bytes
    salt: bytes
    body: bytes | None


def walk_chain(rows: Iterable[Row], namespace: str) -> Iterator[ChainEntry]:
    """The entries of a namespace's log, from its first on, as `line_of` takes them. Each is checked against the stored
    hash before it, so that one broken entry is reported once.
    """
    head, last = genesis(namespace), 0
    for row in rows:
        line, stored, salt, body = line_of(row)
        yield ChainEntry(line, line.seq == last + 1 and link(head, line) == stored, stored, salt, body)
        head, last = stored, line.seq


def proved_from(entries: Iterable[ChainEntry], namespace: str, end: int, head: bytes) -> int:
    """The first position from which the chain is unbroken to the end of the log, which the namespace itself says. A
    memory whose newest entry stands there has no newer entry that was lost. Beyond the end when the end itself does
    not fit.
    """
    last, proved = (0, genesis(namespace)), 1
    for entry in entries:
        proved = proved if entry.fits else entry.line.seq + 1
        last = entry.line.seq, entry.hash
    return proved if last == (end, head) else max(end, last[0]) + 1
