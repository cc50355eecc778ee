"""The log of every namespace, proved again: the hash chain over its entries, and the payload of each entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

from perdure.model import Finding
from perdure.store.sqlite.apsw_types import Database, Row
from perdure.store.sqlite.doctor.findings import CHECKS, Tally
from perdure.store.sqlite.erasure import ERASE, dropped_by_name, dropped_until
from perdure.store.sqlite.hash_chain import Line, digest_of, genesis, link
from perdure.store.sqlite.rows import NUMBER_MASK, unpack_id, unpack_name


def line_of(row: Row) -> tuple[Line, bytes, bytes, bytes | None]:
    """From `examine_revisions`: the log entry, the hash stored with it, and the salt and the body of its payload."""
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


def walk_chain(connection: Database, namespace: int, name: str) -> Iterator[ChainEntry]:
    """Each entry is checked against the stored hash before it, so that one broken entry is reported once."""
    head, last = genesis(name), 0
    for row in connection.execute(CHECKS["examine_revisions"], (namespace,)):
        line, stored, salt, body = line_of(row)
        yield ChainEntry(line, line.seq == last + 1 and link(head, line) == stored, stored, salt, body)
        head, last = stored, line.seq


def proved_from(connection: Database, namespace: int, name: str) -> int:
    """The first position from which the chain is unbroken to the end of the log. A memory whose newest entry stands
    there has no newer entry that was lost. Beyond the end when the end itself does not fit.
    """
    ((end, head),) = connection.execute(CHECKS["end_of_log"], (namespace,)).fetchall()
    last, proved = (0, genesis(name)), 1
    for entry in walk_chain(connection, namespace, name):
        proved = proved if entry.fits else entry.line.seq + 1
        last = entry.line.seq, entry.hash
    return proved if last == (end, head) else max(end, last[0]) + 1


def check_log(connection: Database) -> list[Finding]:
    broken, lost = Tally("chain"), Tally("payloads")
    emptied = 0
    for namespace, name, end, _, head, *_ in connection.execute(CHECKS["counters"]).fetchall():
        last = (0, genesis(name))
        erased: set[int] = set()
        without_payload: defaultdict[int, list[int]] = defaultdict(list)
        first_payload: dict[int, int] = {}
        for line, fits, stored, salt, body in walk_chain(connection, namespace, name):
            if not fits or (body is not None and digest_of(salt, body) != line.digest):
                broken.add(f"{name!r} at {line.seq}")
            last = (line.seq, stored)
            emptied += body is None
            if line.operation == ERASE:
                erased.add(line.number)
            elif body is None:
                without_payload[line.number].append(line.seq)
            else:
                first_payload.setdefault(line.number, line.seq)
        if last != (end, head):
            broken.add(f"{name!r} at its end")
        # An erased memory has no payloads. With versioning off, those before the newest one of a memory were dropped,
        # up to the position `dropped`. Where secrets were taken out, a later entry names those that went. Any other
        # missing payload is damage.
        dropped = dropped_until(connection, namespace)
        for number in without_payload.keys() - erased:
            seqs = without_payload[number]
            newest = first_payload.get(number, seqs[-1])
            missing = {seq for seq in seqs if seq >= newest or seq > dropped}
            missing -= dropped_by_name(connection, namespace, number) if missing else set()
            lost.add(*(f"{name!r} at {seq}" for seq in sorted(missing)))
    lost.add(*(f"none at {slot & NUMBER_MASK}" for (slot,) in connection.execute(CHECKS["payloads_nowhere"])))
    note = f" The content of {emptied} log entries was erased or dropped." if emptied else ""
    return [broken.finding(note=note), lost.finding()]
