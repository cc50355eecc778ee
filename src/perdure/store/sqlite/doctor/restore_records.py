"""Bring damaged records back from the log, which is the truth: a record is only its newest log entry."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from perdure.errors import StoreDamaged
from perdure.model import Finding, Record
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.findings import CHECKS, RESTORE_BACKUP, Tally, memory_label
from perdure.store.sqlite.doctor.payloads import line_of
from perdure.store.sqlite.doctor.records import erased_leftovers, examined_rows, missing_slots, namespace_names
from perdure.store.sqlite.erasure import ERASE, erase
from perdure.store.sqlite.hash_chain import digest_of, genesis, link
from perdure.store.sqlite.rows import NUMBER_MASK, decode_payload, encode_row
from perdure.store.sqlite.sql import SQL
from perdure.text.entry import passage_hash


def restore_records(connection: Database) -> Iterator[Finding]:
    """The triggers and the full-text index are gone by now: nothing has to be told of what changes here."""
    restored, erased, left = (Tally("repair_records", "", "") for _ in range(3))
    names = namespace_names(connection)
    for namespace, name in names.items():
        leftovers = erased_leftovers(connection, namespace)
        damaged = {row.slot for row in examined_rows(connection, namespace, name) if not row.matches_log}
        damaged = damaged.union(missing_slots(connection, namespace)) - leftovers.keys()
        if not damaged and not leftovers:
            continue
        proved = _proved_from(connection, namespace, name)
        for slot, seq in leftovers.items():
            if seq >= proved:
                erase(connection, namespace, slot & NUMBER_MASK, traceless=True)
            (erased if seq >= proved else left).add(memory_label(names, slot))
        found = {slot: _from_log(connection, namespace, name, slot & NUMBER_MASK, proved) for slot in sorted(damaged)}
        back = _put_back(connection, namespace, {slot: record for slot, record in found.items() if record is not None})
        for slot in found:
            (restored if slot in back else left).add(memory_label(names, slot))
    if restored.count:
        yield Finding("repair_records", "ok", f"Restored from the log: {restored.listed}.")
    if erased.count:
        yield Finding("repair_erased", "ok", f"Removed what was left of erased memories: {erased.listed}.")
    if left.count:
        sentence = f"Damaged, and not restored because their log entries are damaged as well: {left.listed}."
        yield Finding("repair_records_left", "problem", sentence, RESTORE_BACKUP)


def _proved_from(connection: Database, namespace: int, name: str) -> int:
    """The first position from which the chain is unbroken to the end of the log. A memory whose newest entry stands
    there has no newer entry that was lost. Beyond the end when the end itself does not fit.
    """
    ((end, head),) = connection.execute(CHECKS["end_of_log"], (namespace,)).fetchall()
    expected, last, proved = genesis(name), 0, 1
    for row in connection.execute(CHECKS["examine_revisions"], (namespace,)):
        line, stored, _, _ = line_of(row)
        if line.seq != last + 1 or link(expected, line) != stored:
            proved = line.seq + 1
        expected, last = stored, line.seq
    return proved if (last, expected) == (end, head) else max(end, last) + 1


def _from_log(connection: Database, namespace: int, name: str, number: int, proved: int) -> Record | None:
    rows = connection.execute(CHECKS["newest_payload"], (namespace, number)).fetchall()
    if not rows:
        return None
    seq, operation, digest, salt, body = rows[0]
    if operation == ERASE or body is None or seq < proved or digest_of(salt, body) != digest:
        return None
    try:
        record = decode_payload(body)
    except StoreDamaged:
        return None
    return record if (record.namespace, record.number) == (name, number) else None


def _put_back(connection: Database, namespace: int, records: dict[int, Record]) -> set[int]:
    """The slots of the records that came back. A record whose id or key belongs to a damaged memory that stays as it is
    cannot come back; then the others are tried again without it.
    """
    while records:
        run(connection, CHECKS["savepoint"])
        for slot in records:
            connection.execute(CHECKS["vacate"], {"namespace": namespace, "slot": slot})
        refused: set[int] = set()
        for slot, record in records.items():
            try:
                connection.execute(SQL["put_memory"], encode_row(record, namespace, passage_hash(record)))
            except apsw.ConstraintError:
                refused.add(slot)
        if refused:
            run(connection, CHECKS["rollback_to_savepoint"])
        run(connection, CHECKS["release_savepoint"])
        if not refused:
            break
        records = {slot: record for slot, record in records.items() if slot not in refused}
    return set(records)
