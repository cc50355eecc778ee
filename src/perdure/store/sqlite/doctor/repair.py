"""Repair in one transaction: records from the log, then everything derived from schema.sql and the records.

The log is the truth: a record is its newest log entry. Derived data is not compared but dropped and rebuilt. The log
itself is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import apsw

from perdure.errors import StoreDamaged
from perdure.model import INDEXED_STATES, Finding, Record
from perdure.store.doctor.findings import RESTORE_BACKUP, Tally
from perdure.store.erasure import ERASE
from perdure.store.hash_chain import digest_of
from perdure.store.links import links_of
from perdure.store.rows import NUMBER_MASK, decode_payload, encode_row, range_of
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.checks import CHECKS, memory_label
from perdure.store.sqlite.doctor.meta import repair_meta, valid_meta
from perdure.store.sqlite.doctor.payloads import proved_log
from perdure.store.sqlite.doctor.records import (
    bad_vectors,
    count_entries,
    erased_leftovers,
    examined_rows,
    missing_slots,
    namespace_names,
)
from perdure.store.sqlite.doctor.schema import (
    create_missing,
    drop_derived,
    lost_tables,
    schema_differences,
    unrepairable,
)
from perdure.store.sqlite.erasure import erase
from perdure.store.sqlite.links import put_links
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sql import SQL
from perdure.text.entry import passage_hash


def repair(pool: Pool) -> list[Finding]:
    findings: list[Finding] = []
    with pool.writing() as connection:
        differences = schema_differences(connection)
        shown = ", ".join(map(str, differences))
        if unrepairable(differences):
            sentence = f"Nothing was repaired, because the schema is not that of a Perdure store: {shown}."
            return [Finding("repair_schema", "problem", sentence, RESTORE_BACKUP)]
        drop_derived(connection)
        create_missing(connection, full_text=False)
        findings += _restore_records(connection)
        wrong = _refill_indexes(connection)
        sentence = f"The indexes of keywords, tags and links were rebuilt; {wrong} entries were missing or wrong."
        findings.append(Finding("repair_index", "ok", sentence))
        bad = list(bad_vectors(connection))
        for vector_id in bad:
            connection.execute(CHECKS["delete_vector"], (vector_id,))
        run(connection, f"{CHECKS['delete_generations']} {CHECKS['bad_generation']} {CHECKS['without_vectors']}")
        run(connection, f"{CHECKS['delete_vectors']} {CHECKS['of_earlier_text']}")
        sentence = f"{len(bad)} bad vectors and {connection.changes()} vectors of earlier texts were removed."
        findings.append(Finding("repair_vectors", "ok", sentence))
        for namespace in namespace_names(connection):
            first, last = range_of(namespace)
            documents, words, tokens = count_entries(connection, namespace)
            counted = {"documents": documents, "words": words, "tokens": tokens}
            connection.execute(CHECKS["set_counters"], counted | {"namespace": namespace, "first": first, "last": last})
        findings.append(Finding("repair_statistics", "ok", "The index statistics and the ID counters were recounted."))
        findings += repair_meta(connection)
        create_missing(connection, full_text=True)
        if differences:
            sentence = f"Tables, indexes and triggers were made anew. Before: {shown}."
            findings.append(Finding("repair_schema", "ok", sentence))
        if lost := lost_tables(differences):
            sentence = f"These tables were made anew, and what they held is lost: {', '.join(lost)}."
            findings.append(Finding("repair_schema_lost", "problem", sentence, RESTORE_BACKUP))
        # The log does not show what a repair changed: running processes reread their indexes when this count changes.
        repairs = valid_meta(connection, "repairs")
        connection.execute(SQL["change_meta"], ("repairs", repairs + 1 if isinstance(repairs, int) else 1))
    return findings


def _refill_indexes(connection: Database) -> int:
    """Rebuild the index entries, the tags and the links. The full-text index is made of the entries afterwards."""
    run(connection, f"{CHECKS['delete_entries']} {CHECKS['not_indexed']}")
    run(connection, CHECKS["delete_use_left_over"])
    wrong = 0
    for namespace, name in namespace_names(connection).items():
        for row in examined_rows(connection, namespace, name):
            record = row.record
            if record is None:
                continue
            if record.state in INDEXED_STATES and not row.entry_is_right:
                statement = SQL["change_entry"] if row.has_entry else SQL["put_entry"]
                connection.execute(statement, (*row.rebuilt_entry(record), row.slot))
                wrong += 1
            for tag in record.tags:
                connection.execute(SQL["put_tag"], (namespace, tag, row.slot))
            put_links(connection, row.slot, set(), links_of(record))
    return wrong


def _restore_records(connection: Database) -> Iterator[Finding]:
    """The triggers and the full-text index are dropped by now, so no index follows these changes."""
    restored, erased, left = (Tally("repair_records") for _ in range(3))
    names = namespace_names(connection)
    for namespace, name in names.items():
        leftovers = erased_leftovers(connection, namespace)
        damaged = {row.slot for row in examined_rows(connection, namespace, name) if not row.matches_log}
        damaged = damaged.union(missing_slots(connection, namespace)) - leftovers.keys()
        if not damaged and not leftovers:
            continue
        proved = proved_log(connection, namespace, name)
        for slot, seq in leftovers.items():
            if seq >= proved:
                erase(connection, namespace, slot & NUMBER_MASK, traceless=True)
            (erased if seq >= proved else left).add(memory_label(names, slot))
        logged: dict[int, Record] = {}
        for slot in sorted(damaged):
            rows = connection.execute(CHECKS["newest_payload"], (namespace, slot & NUMBER_MASK)).fetchall()
            seq, operation, digest, salt, body = rows[0] if rows else (0, ERASE, b"", b"", None)
            if operation != ERASE and body is not None and seq >= proved and digest_of(salt, body) == digest:
                with suppress(StoreDamaged):
                    record = decode_payload(body).record
                    if (record.namespace, record.number) == (name, slot & NUMBER_MASK):
                        logged[slot] = record
        back = _put_back(connection, namespace, logged)
        for slot in sorted(damaged):
            (restored if slot in back else left).add(memory_label(names, slot))
    if restored.count:
        yield Finding("repair_records", "ok", f"Restored from the log: {restored.listed}.")
    if erased.count:
        yield Finding("repair_erased", "ok", f"Removed what was left of erased memories: {erased.listed}.")
    if left.count:
        sentence = f"Damaged, and not restored because their log entries are damaged as well: {left.listed}."
        yield Finding("repair_records_left", "problem", sentence, RESTORE_BACKUP)


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
                connection.execute(SQL["put_memory"], (namespace, *encode_row(record, slot, passage_hash(record))))
            except apsw.ConstraintError:
                refused.add(slot)
        if refused:
            run(connection, CHECKS["rollback_to_savepoint"])
        run(connection, CHECKS["release_savepoint"])
        if not refused:
            break
        records = {slot: record for slot, record in records.items() if slot not in refused}
    return set(records)
