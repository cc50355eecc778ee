"""Bring damaged records back from the log, which is the truth: a record is only its newest line."""

from __future__ import annotations

from collections.abc import Iterator

import apsw

from perdure.errors import StoreDamaged
from perdure.model import Finding, Record
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.connection import triggers_off
from perdure.store.sqlite.doctor.records import (
    CHECKS,
    RESCUE,
    Tally,
    erased_and_there,
    examined,
    history_agrees,
    line_of,
    missing,
    name_of,
    namespace_names,
    sound_record,
)
from perdure.store.sqlite.erasure import ERASE, erase
from perdure.store.sqlite.hash_chain import digest_of, genesis, link
from perdure.store.sqlite.rows import NUMBER_MASK, decode_payload, encode_row
from perdure.store.sqlite.sql import SQL
from perdure.text.passage import passage_hash


def restore_records(connection: Database) -> list[Finding]:
    """Nothing to say when every record agrees with the log."""
    restored, left = Tally("repair_records", RESCUE), Tally("repair_records", RESCUE)
    erased = Tally("repair_erased", RESCUE)
    names = namespace_names(connection)
    for namespace, name in names.items():
        there = erased_and_there(connection, namespace)
        wrong = {*_wrong(connection, namespace, name), *missing(connection, namespace)} - there.keys()
        proved = _proved_from(connection, namespace, name) if wrong or there else 0
        for slot, seq in there.items():
            done = seq >= proved and _erase(connection, namespace, slot & NUMBER_MASK)
            (erased if done else left).add(name_of(names, slot))
        back = {slot: _newest(connection, (namespace, name), slot & NUMBER_MASK, proved) for slot in sorted(wrong)}
        done = _restore(connection, namespace, {slot: record for slot, record in back.items() if record is not None})
        for slot in back:
            (restored if slot in done else left).add(name_of(names, slot))
    found: list[Finding] = []
    if restored.count:
        found.append(Finding("repair_records", "ok", f"Brought back from their history: {restored.shown}."))
    if erased.count:
        found.append(Finding("repair_erased", "ok", f"Removed what was left of erased memories: {erased.shown}."))
    if left.count:
        sentence = f"Damaged, and their history with them, so that nothing could be brought back: {left.shown}."
        found.append(Finding("repair_records_left", "problem", sentence, RESCUE))
    return found


def _erase(connection: Database, namespace: int, number: int) -> bool:
    # The full-text index may be too damaged to be told; it is rebuilt after.
    with triggers_off(connection):
        erase(connection, namespace, number, traceless=True)
    return True


def _wrong(connection: Database, namespace: int, name: str) -> Iterator[int]:
    for slot, row in examined(connection, namespace):
        record = sound_record(row, name)
        if row is None or record is None or not history_agrees(record, row):
            yield slot


def _proved_from(connection: Database, namespace: int, name: str) -> int:
    """The first line from which on the log is unbroken, to its very end: whose newest line stands there has no newer
    one that was lost. Beyond the end when the end itself does not fit.
    """
    ((seq, head),) = connection.execute(CHECKS["end_of_log"], (namespace,)).fetchall()
    expected, last, proved = genesis(name), 0, 1
    for row in connection.execute(CHECKS["examine_revisions"], (namespace,)):
        line, stored, _, _ = line_of(row)
        if line.seq != last + 1 or link(expected, line) != stored:
            proved = line.seq + 1
        expected, last = stored, line.seq
    return proved if (last, expected) == (seq, head) else max(seq, last) + 1


def _restore(connection: Database, namespace: int, back: dict[int, Record]) -> set[int]:
    """Those that came back. One whose id or key a damaged memory has that stays as it is cannot."""
    while back:
        run(connection, CHECKS["savepoint"])
        for slot in back:
            connection.execute(CHECKS["vacate"], {"namespace": namespace, "slot": slot})
        taken = [slot for slot, record in back.items() if not _put(connection, namespace, record)]
        if taken:
            run(connection, CHECKS["rollback_to_savepoint"])
        run(connection, CHECKS["release_savepoint"])
        if not taken:
            break
        back = {slot: record for slot, record in back.items() if slot not in taken}
    return set(back)


def _put(connection: Database, namespace: int, record: Record) -> bool:
    try:
        connection.execute(SQL["put_memory"], encode_row(record, namespace, passage_hash(record)))
    except apsw.ConstraintError:
        return False
    return True


def _newest(connection: Database, of: tuple[int, str], number: int, proved: int) -> Record | None:
    namespace, name = of
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
