"""Repair in one transaction: records from the log, then everything derived from schema.sql and the records.

What is derived is not compared but dropped and made anew. The log is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator

from perdure.model import INDEXED_STATES, Finding
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.findings import CHECKS, RESTORE_BACKUP
from perdure.store.sqlite.doctor.meta import repair_meta, valid_meta
from perdure.store.sqlite.doctor.records import bad_vectors, count_entries, examined_rows, namespace_names
from perdure.store.sqlite.doctor.restore_records import restore_records
from perdure.store.sqlite.doctor.schema import (
    create_missing,
    drop_derived,
    lost_tables,
    schema_differences,
    unrepairable,
)
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.rows import range_of
from perdure.store.sqlite.sql import SQL


def repair(pool: Pool) -> Iterator[Finding]:
    with pool.writing() as connection:
        findings = list(_repair(connection))
    yield from findings


def _repair(connection: Database) -> Iterator[Finding]:
    differences = schema_differences(connection)
    shown = ", ".join(map(str, differences))
    if unrepairable(differences):
        sentence = f"Nothing was repaired, because the schema is not that of a Perdure store: {shown}."
        yield Finding("repair_schema", "problem", sentence, RESTORE_BACKUP)
        return
    drop_derived(connection)
    create_missing(connection, full_text=False)
    yield from restore_records(connection)
    yield _refill_indexes(connection)
    yield _remove_bad_vectors(connection)
    yield _recount(connection)
    yield from repair_meta(connection)
    create_missing(connection, full_text=True)
    if differences:
        yield Finding("repair_schema", "ok", f"Tables, indexes and triggers were made anew. Before: {shown}.")
    if lost := lost_tables(differences):
        sentence = f"These tables were made anew, and what they held is lost: {', '.join(lost)}."
        yield Finding("repair_schema_lost", "problem", sentence, RESTORE_BACKUP)
    # What a repair changes is in no log: the recall indexes of running processes learn of it by this count.
    repairs = valid_meta(connection, "repairs")
    connection.execute(SQL["change_meta"], ("repairs", repairs + 1 if isinstance(repairs, int) else 1))


def _refill_indexes(connection: Database) -> Finding:
    """The entries, from which the full-text index is made last, and the tags, whose table is empty."""
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
    sentence = f"The keyword index and the tag index were rebuilt; {wrong} entries were missing or wrong."
    return Finding("repair_index", "ok", sentence)


def _remove_bad_vectors(connection: Database) -> Finding:
    bad = list(bad_vectors(connection))
    for vector_id in bad:
        connection.execute(CHECKS["delete_vector"], (vector_id,))
    run(connection, f"{CHECKS['delete_generations']} {CHECKS['bad_generation']} {CHECKS['without_vectors']}")
    run(connection, f"{CHECKS['delete_vectors']} {CHECKS['of_earlier_text']}")
    sentence = f"{len(bad)} bad vectors and {connection.changes()} vectors of earlier texts were removed."
    return Finding("repair_vectors", "ok", sentence)


def _recount(connection: Database) -> Finding:
    for namespace in namespace_names(connection):
        first, last = range_of(namespace)
        documents, words, tokens = count_entries(connection, namespace)
        counted = {"documents": documents, "words": words, "tokens": tokens}
        connection.execute(CHECKS["set_counters"], counted | {"namespace": namespace, "first": first, "last": last})
    return Finding("repair_statistics", "ok", "The statistics of the keyword index and the ID counters were recounted.")
