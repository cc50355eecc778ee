"""Checks of the content: every record against the log, and everything derived against the records."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from perdure.errors import StoreDamaged
from perdure.ids import content_hash
from perdure.model import Finding
from perdure.store.checkpoints import decode_checkpoint
from perdure.store.doctor.findings import REBUILD, RESTORE_BACKUP, Tally
from perdure.store.doctor.records import ExaminedRow
from perdure.store.rows import (
    NUMBER_BITS,
    NUMBER_MASK,
    decode_payload,
    decode_sound,
    has_dimensions,
    is_sound_vector,
    range_of,
)
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.checkpoints import EVERYTHING
from perdure.store.sqlite.doctor.checks import CHECKS, memory_label
from perdure.store.sqlite.row_scan import rows_after
from perdure.store.sqlite.statistics import namespace_statistics, serving_generation
from perdure.text.entry import passage_hash, terms_length

# Reports about data that a repair rebuilds: indexes, the full-text index, links.
_DERIVED: Final = re.compile(r"fts5|entry_fts|(from|in) index|CHECK constraint failed in link")
_DERIVED_TABLES: Final = {"entry", "tag", "link", "use", "review", "vector", "parked"}
# In `examine_memory`: the hash that a vector is found by, and where the columns of the record end.
_PASSAGE: Final = 3
_RECORD: Final = 47


def examined_rows(connection: Database, namespace: int, name: str) -> Iterator[ExaminedRow]:
    first, last = range_of(namespace)
    for slot, row in rows_after(connection, first, CHECKS["examine_memory"], CHECKS["next_memory"], {"last": last}):
        record = decode_sound(row, name)
        if row is None or record is None:
            yield ExaminedRow(slot)
            continue
        *entry, tokens, tags, links, filed_under, newest, body = row[_RECORD:]
        hashes = (content_hash(record.text), passage_hash(record))
        if filed_under != namespace or hashes != (record.content_hash, row[_PASSAGE]):
            yield ExaminedRow(slot)
            continue
        try:
            matches = newest == record.seq and (body is None or decode_payload(body).record == record)
        except StoreDamaged:
            matches = False
        yield ExaminedRow(slot, record, matches, tuple(entry), tokens, tags, links)


def check_records(connection: Database) -> list[Finding]:
    """One pass over all records, which answers five questions."""
    questions = ("records", "history", "entries", "tags", "links")
    damaged, history, entries, tags, links = tallies = [Tally(question) for question in questions]
    names = namespace_names(connection)
    for tally, query in (
        (entries, f"{CHECKS['entry_slots']} {CHECKS['not_indexed']}"),
        (tags, CHECKS["tags_left_over"]),
        (links, CHECKS["links_left_over"]),
        (damaged, CHECKS["memories_nowhere"]),
    ):
        tally.add(*(memory_label(names, slot) for (slot,) in connection.execute(query)))
    for namespace, name in names.items():
        damaged.add(*(memory_label(names, slot) for slot in missing_slots(connection, namespace)))
        for row in examined_rows(connection, namespace, name):
            checks = (
                (damaged, row.record is not None),
                (history, row.record is None or row.matches_log),
                (entries, row.entry_is_right),
                (tags, row.tags_are_right),
                (links, row.links_are_right),
            )
            for tally, right in checks:
                if not right:
                    tally.add(memory_label(names, row.slot))
    return [tally.finding() for tally in tallies]


def missing_slots(connection: Database, namespace: int) -> list[int]:
    """Slots of memories that the log knows and the table lacks."""
    return [slot for (slot,) in connection.execute(CHECKS["memories_missing"], {"namespace": namespace})]


def erased_leftovers(connection: Database, namespace: int) -> dict[int, int]:
    """Slots of memories that were erased but are still there, each with the position of its `erase` log entry."""
    return dict(connection.execute(CHECKS["erased_and_there"], {"namespace": namespace}).fetchall())


def check_erasures(connection: Database) -> list[Finding]:
    left = Tally("erased")
    names = namespace_names(connection)
    for namespace in names:
        left.add(*(memory_label(names, slot) for slot in erased_leftovers(connection, namespace)))
    return [left.finding()]


def check_counters(connection: Database) -> list[Finding]:
    statistics, counters = Tally("statistics"), Tally("counters")
    for namespace, name, _, number, _, *counted, vector, tokens in connection.execute(CHECKS["counters"]).fetchall():
        first, last = range_of(namespace)
        if (*counted, tokens) != count_entries(connection, namespace):
            statistics.add(repr(name))
        bindings = {"namespace": namespace, "first": first, "last": last}
        ((newest, newest_vector),) = connection.execute(CHECKS["newest_of_namespace"], bindings).fetchall()
        if not newest <= number <= NUMBER_MASK or not newest_vector <= vector <= NUMBER_MASK:
            counters.add(repr(name))
    return [statistics.finding(), counters.finding()]


def count_entries(connection: Database, namespace: int) -> tuple[int, int, int]:
    """The number of index entries, of their words and of their tokens."""
    documents = words = sum_of_tokens = 0
    for packed, tokens in connection.execute(CHECKS["entry_terms"], range_of(namespace)):
        documents += 1
        words += terms_length(packed)
        sum_of_tokens += tokens
    return documents, words, sum_of_tokens


def check_checkpoints(connection: Database) -> list[Finding]:
    wrong = Tally("checkpoints")
    ends = {name: seq for _, name, seq, *_ in connection.execute(CHECKS["counters"])}
    names = {str(namespace): name for namespace, name in namespace_names(connection).items()}
    for row in connection.execute(CHECKS["examine_checkpoints"]).fetchall():
        try:
            positions = decode_checkpoint(row, names, EVERYTHING).positions
        except StoreDamaged:
            positions = None
        if positions is None or any(seq > ends[name] for name, seq in positions.items()):
            wrong.add(repr(row[1]))
    return [wrong.finding()]


def bad_vectors(connection: Database) -> Iterator[int]:
    """Ids of vectors that were changed, are stored twice, or are not valid vectors."""
    import numpy as np

    for vector_id, namespace, passage, checksum, data, dimensions in connection.execute(CHECKS["examine_vectors"]):
        stored = is_sound_vector(checksum, passage, data) and dimensions and has_dimensions(data, dimensions)
        numbers = np.frombuffer(data, "<f4") if stored and namespace == vector_id >> NUMBER_BITS else None
        if numbers is None or not (np.isfinite(numbers).all() and numbers.reshape(-1, dimensions).any(axis=1).all()):
            yield vector_id
    for (vector_id,) in connection.execute(CHECKS["duplicate_vectors"]):
        yield vector_id


def check_vectors(connection: Database) -> list[Finding]:
    bad = Tally("vectors")
    generations = connection.execute(f"{CHECKS['generation_names']} {CHECKS['bad_generation']}")
    bad.add(*(f"all of {name!r}" for (name,) in generations))
    bad.add(*(str(vector_id & NUMBER_MASK) for vector_id in bad_vectors(connection)))
    return [bad.finding()]


def namespace_names(connection: Database) -> dict[int, str]:
    return {namespace: name for namespace, name, *_ in connection.execute(CHECKS["counters"])}


def check_integrity(connection: Database) -> list[Finding]:
    reports = [report for (report,) in connection.execute(CHECKS["integrity"])]
    if reports == ["ok"]:
        return [Finding("integrity", "ok", "SQLite's integrity check passed.")]
    remedy = REBUILD if all(_DERIVED.search(report) for report in reports) else RESTORE_BACKUP
    return [Finding("integrity", "problem", f"SQLite's integrity check failed: {reports[0]}.", remedy)]


def check_foreign_keys(connection: Database) -> list[Finding]:
    tables = sorted({table for table, *_ in connection.execute(CHECKS["foreign_keys"])})
    if not tables:
        return [Finding("foreign_keys", "ok", "No orphaned rows.")]
    remedy = REBUILD if _DERIVED_TABLES.issuperset(tables) else RESTORE_BACKUP
    return [Finding("foreign_keys", "problem", f"Orphaned rows in these tables: {', '.join(tables)}.", remedy)]


def count_pending(connection: Database) -> list[Finding]:
    earlier = connection.execute(f"{CHECKS['count_vectors']} {CHECKS['of_earlier_text']}").get
    missing = sum(stats.vectors_pending for stats in namespace_statistics(connection, serving_generation(connection)))
    return [
        Finding("earlier_vectors", "ok", f"Vectors of earlier texts, which a repair removes: {earlier}."),
        Finding("pending", "ok", f"Passages without a vector of the model that answers: {missing}."),
    ]
