"""The log of every namespace, proved again: the hash chain over its entries, and the payload of each entry."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator

from perdure.model import Finding
from perdure.store.doctor.chain import ChainEntry, proved_from, walk_chain
from perdure.store.doctor.findings import Tally
from perdure.store.erasure import ERASE
from perdure.store.hash_chain import digest_of, genesis
from perdure.store.rows import NUMBER_MASK
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.doctor.checks import CHECKS
from perdure.store.sqlite.erasure import dropped_one_by_one, dropped_until


def chain_of(connection: Database, namespace: int, name: str) -> Iterator[ChainEntry]:
    return walk_chain(connection.execute(CHECKS["examine_revisions"], (namespace,)), name)


def proved_log(connection: Database, namespace: int, name: str) -> int:
    ((end, head),) = connection.execute(CHECKS["end_of_log"], (namespace,)).fetchall()
    return proved_from(chain_of(connection, namespace, name), name, end, head)


def check_log(connection: Database) -> list[Finding]:
    broken, lost = Tally("chain"), Tally("payloads")
    emptied = 0
    for namespace, name, end, _, head, *_ in connection.execute(CHECKS["counters"]).fetchall():
        last = (0, genesis(name))
        erased: set[int] = set()
        without_payload: defaultdict[int, list[int]] = defaultdict(list)
        first_payload: dict[int, int] = {}
        for line, fits, stored, salt, body in chain_of(connection, namespace, name):
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
            missing -= dropped_one_by_one(connection, namespace, number) if missing else set()
            lost.add(*(f"{name!r} at {seq}" for seq in sorted(missing)))
    lost.add(*(f"none at {slot & NUMBER_MASK}" for (slot,) in connection.execute(CHECKS["payloads_nowhere"])))
    note = f" The content of {emptied} log entries was erased or dropped." if emptied else ""
    return [broken.finding(note=note), lost.finding()]
