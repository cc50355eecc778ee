"""The log of every namespace, proved again: the hash chain over its entries, and the payload of each entry."""

from __future__ import annotations

from collections import defaultdict

from perdure.model import Finding
from perdure.store.sqlite.apsw_types import Database, Row
from perdure.store.sqlite.doctor.findings import CHECKS, RESTORE_BACKUP, Tally
from perdure.store.sqlite.erasure import ERASE, dropped_until
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


def check_log(connection: Database) -> list[Finding]:
    broken = Tally("chain", "The log of every namespace is unbroken.", "Log entries that do not fit", RESTORE_BACKUP)
    lost = Tally(
        "payloads", "Log contents match their checksums.", "Log entries that lost their content", RESTORE_BACKUP
    )
    emptied = 0
    for namespace, name, end, _, head, *_ in connection.execute(CHECKS["counters"]).fetchall():
        expected, last = genesis(name), 0
        erased: set[int] = set()
        without_payload: defaultdict[int, list[int]] = defaultdict(list)
        first_payload: dict[int, int] = {}
        for row in connection.execute(CHECKS["examine_revisions"], (namespace,)):
            line, stored, salt, body = line_of(row)
            intact = body is None or digest_of(salt, body) == line.digest
            if not intact or link(expected, line) != stored or line.seq != last + 1:
                broken.add(f"{name!r} at {line.seq}")
            # Go on from the stored hash, so that one broken entry is counted once.
            expected, last = stored, line.seq
            emptied += body is None
            if line.operation == ERASE:
                erased.add(line.number)
            elif body is None:
                without_payload[line.number].append(line.seq)
            else:
                first_payload.setdefault(line.number, line.seq)
        if (last, expected) != (end, head):
            broken.add(f"{name!r} at its end")
        # An erased memory has no payloads. With versioning off, those before the newest one of a memory were dropped,
        # up to the position `dropped`. Any other missing payload is damage.
        dropped = dropped_until(connection, namespace)
        for number in without_payload.keys() - erased:
            seqs = without_payload[number]
            newest = first_payload.get(number, seqs[-1])
            lost.add(*(f"{name!r} at {seq}" for seq in seqs if seq >= newest or seq > dropped))
    lost.add(*(f"none at {slot & NUMBER_MASK}" for (slot,) in connection.execute(CHECKS["payloads_nowhere"])))
    if emptied:
        broken.good += f" The content of {emptied} log entries was erased or dropped."
    return [broken.finding(), lost.finding()]
