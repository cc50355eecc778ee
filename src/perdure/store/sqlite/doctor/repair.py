"""Bring damaged records back from the log and rebuild what is derived, in one transaction. The log is not touched."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import apsw

from perdure.model import INDEXED_STATES, Finding, Record
from perdure.store.sqlite.apsw_types import Database, Row, run
from perdure.store.sqlite.connection import triggers_off
from perdure.store.sqlite.doctor.meta import repair_facts, sound_fact
from perdure.store.sqlite.doctor.records import (
    CHECKS,
    RESCUE,
    bad_vectors,
    count_entries,
    entry_agrees,
    entry_as_it_should_be,
    examined,
    has_entry,
)
from perdure.store.sqlite.doctor.restore_records import restore_records
from perdure.store.sqlite.doctor.schema import differences, remake_full_text, repair_structure
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.rows import decode_sound, range_of
from perdure.store.sqlite.sql import SQL

_PUT_TAG: Final = SQL["put_tag"]


def repair(pool: Pool) -> Iterator[Finding]:
    with pool.writing() as connection:
        structure = differences(connection)
        if structure.fatal:
            sentence = f"Nothing was repaired, because the schema is not as it was made: {structure}."
            findings = [Finding("repair_schema", "problem", sentence, RESCUE)]
        else:
            findings = [
                *repair_structure(connection),
                *restore_records(connection),
                _repair_index(connection),
                _repair_vectors(connection),
                _repair_counters(connection),
                *repair_facts(connection),
                *repair_structure(connection),
            ]
            _announce(connection)
    yield from findings


def _announce(connection: Database) -> None:
    """What a repair changes is in no log: recall indexes of running processes learn of it by this count."""
    repairs = sound_fact(connection, "repairs")
    connection.execute(SQL["change_meta"], ("repairs", repairs + 1 if isinstance(repairs, int) else 1))


def _repair_index(connection: Database) -> Finding:
    changed = 0
    # The triggers would tell a full-text index about changes that it may be too damaged to take; it is rebuilt after.
    with triggers_off(connection):
        for statement in ("delete_left_over", "delete_all_tags", "delete_left_over_use"):
            run(connection, CHECKS[statement])
        for namespace, name, *_ in connection.execute(CHECKS["counters"]).fetchall():
            for _, row in examined(connection, namespace):
                record = decode_sound(row, name)
                if row is None or record is None:
                    continue
                changed += _repair_entry(connection, record, row)
                for tag in record.tags:
                    connection.execute(_PUT_TAG, (namespace, tag, row[0]))
    try:
        run(connection, CHECKS["rebuild_full_text"])
    except (apsw.SQLError, apsw.CorruptError):
        remake_full_text(connection)
    sentence = f"The keyword index and the tags were rebuilt; {changed} entries were wrong."
    return Finding("repair_index", "ok", sentence)


def _repair_entry(connection: Database, record: Record, row: Row) -> bool:
    if record.state not in INDEXED_STATES or entry_agrees(record, row):
        return False
    statement = SQL["change_entry"] if has_entry(row) else SQL["put_entry"]
    connection.execute(statement, (*entry_as_it_should_be(record, row), row[0]))
    return True


def _repair_vectors(connection: Database) -> Finding:
    bad = list(bad_vectors(connection))
    for vector_id in bad:
        connection.execute(CHECKS["delete_vector"], (vector_id,))
    run(connection, CHECKS["delete_bad_generations"])
    run(connection, CHECKS["delete_orphan_vectors"])
    sentence = f"{len(bad)} bad vectors and {connection.changes()} of earlier texts were removed."
    return Finding("repair_vectors", "ok", sentence)


def _repair_counters(connection: Database) -> Finding:
    for namespace, *_ in connection.execute(CHECKS["counters"]).fetchall():
        first, last = range_of(namespace)
        documents, words, tokens = count_entries(connection, namespace)
        counted = {"documents": documents, "words": words, "tokens": tokens}
        connection.execute(CHECKS["set_counters"], counted | {"namespace": namespace, "first": first, "last": last})
    return Finding("repair_statistics", "ok", "The statistics of the index were counted anew.")
