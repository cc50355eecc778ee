"""Repair, namespace by namespace: records from the log, then everything derived from the records.

The log is the truth: a record is its newest log entry. The log itself is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from uuid import UUID

from perdure.errors import StoreDamaged
from perdure.model import INDEXED_STATES, Finding, Record
from perdure.store.doctor.chain import proved_from
from perdure.store.doctor.findings import RESTORE_BACKUP, Tally
from perdure.store.erasure import ERASE
from perdure.store.hash_chain import digest_of
from perdure.store.links import links_of
from perdure.store.postgres.connection import Row
from perdure.store.postgres.doctor.namespace import ExaminedNamespace
from perdure.store.postgres.pool import EVERYWHERE, PostgresPool, Transaction
from perdure.store.rows import decode_payload, encode_row
from perdure.text.entry import passage_hash


class _Repair:
    """What was mended so far."""

    def __init__(self, sql: Mapping[str, str]) -> None:
        self._sql = sql
        self.restored, self.erased, self.left = (Tally("records") for _ in range(3))
        self.wrong_entries = 0
        self.bad_vectors = 0
        self.earlier_vectors = 0

    def namespace(self, transaction: Transaction, examined: ExaminedNamespace) -> None:
        """Under the lock of the namespace, so that nobody writes meanwhile."""
        transaction.ask(self._sql["open_namespace"], examined.bindings)
        self._records(transaction, examined)
        self._derived(transaction, examined)
        bad = examined.bad_vectors()
        if bad:
            examined.send("delete_vectors", positions=bad)
        self.bad_vectors += len(bad)
        self.earlier_vectors += examined.ask("vectors_of_earlier_texts")[0][0]
        transaction.send(self._sql["delete_unowned_vectors"], examined.bindings)
        documents, words, tokens = examined.entry_counts()
        ((number, vector),) = examined.ask("newest_of_namespace")
        examined.send("set_counters", documents=documents, words=words, tokens=tokens, number=number, vector=vector)

    def _records(self, transaction: Transaction, examined: ExaminedNamespace) -> None:
        leftovers = examined.erased_leftovers()
        damaged = {row.slot for row in examined.rows() if not row.matches_log}
        damaged = damaged.union(examined.missing()) - leftovers.keys()
        if not damaged and not leftovers:
            return
        own = examined.counters()
        proved = proved_from(examined.chain(), examined.name, own.seq, own.head)
        for number, seq in leftovers.items():
            if seq >= proved:
                self._erase(transaction, examined, number)
            (self.erased if seq >= proved else self.left).add(examined.label(number))
        logged = {number: record for number in sorted(damaged) if (record := _logged_record(examined, number, proved))}
        for number in logged:
            examined.send("vacate", number=number)
        for number, record in logged.items():
            slot, memory_id, *columns = encode_row(record, number, passage_hash(record))
            row = (examined.key, slot, UUID(bytes=memory_id), *columns)
            transaction.send(self._sql["put_memory"], row)
        for number in sorted(damaged):
            (self.restored if number in logged else self.left).add(examined.label(number))

    def _erase(self, transaction: Transaction, examined: ExaminedNamespace, number: int) -> None:
        asked = {**examined.bindings, "number": number}
        lines = transaction.ask(self._sql["memory_lines"], asked)
        transaction.send(self._sql["delete_payloads"], {**examined.bindings, "seqs": [line[0] for line in lines]})
        for statement in (
            "delete_memory", "delete_entry", "delete_tags", "delete_links", "delete_use", "delete_review",
            "unpark_memory",
        ):  # fmt: skip
            transaction.send(self._sql[statement], asked)

    def _derived(self, transaction: Transaction, examined: ExaminedNamespace) -> None:
        """Tags and links are written anew; of the words, those that are wrong."""
        rows = list(examined.rows())
        for statement in (
            "delete_entries_left_over", "delete_every_tag", "delete_every_link", "delete_use_left_over",
            "delete_reviews_left_over", "delete_parked_left_over", "delete_bad_tombstones",
        ):  # fmt: skip
            examined.send(statement)
        for row in rows:
            record = row.record
            if record is None:
                continue
            own = {**examined.bindings, "number": row.slot}
            if record.state in INDEXED_STATES and not row.entry_is_right:
                terms, *_, tokens = row.rebuilt_entry(record)
                transaction.send(self._sql["put_entry"], {**own, "terms": terms, "tokens": tokens})
                self.wrong_entries += 1
            for tag in record.tags:
                transaction.send(self._sql["put_tag"], {**own, "tag": tag})
            for kind, target in links_of(record):
                transaction.send(self._sql["put_link"], {**own, "kind": kind, "target": UUID(bytes=target)})

    def findings(self) -> Iterator[Finding]:
        if self.restored.count:
            yield Finding("repair_records", "ok", f"Restored from the log: {self.restored.listed}.")
        if self.erased.count:
            yield Finding("repair_erased", "ok", f"Removed what was left of erased memories: {self.erased.listed}.")
        if self.left.count:
            sentence = f"Damaged, and not restored because their log entries are damaged as well: {self.left.listed}."
            yield Finding("repair_records_left", "problem", sentence, RESTORE_BACKUP)
        wrong = self.wrong_entries
        sentence = f"The indexes of keywords, tags and links were rebuilt; {wrong} entries were missing or wrong."
        yield Finding("repair_index", "ok", sentence)
        counts = f"{self.bad_vectors} bad vectors and {self.earlier_vectors} vectors of earlier texts"
        yield Finding("repair_vectors", "ok", f"{counts} were removed.")
        yield Finding("repair_statistics", "ok", "The index statistics and the ID counters were recounted.")


def repair(pool: PostgresPool, sql: Mapping[str, str]) -> Iterator[Finding]:
    (namespaces,) = pool.ask(EVERYWHERE, (sql["namespaces"], None))
    done = _Repair(sql)
    for key, name, *_ in namespaces:
        with pool.writing(UUID(bytes=key), scans=True) as transaction:
            done.namespace(transaction, ExaminedNamespace(transaction, pool.address.schema, key, name))
    yield from done.findings()


def _logged_record(examined: ExaminedNamespace, number: int, proved: int) -> Record | None:
    """The record as its newest log entry has it, if the chain proves it."""
    rows: list[Row] = examined.ask("newest_payload", number=number)
    seq, operation, digest, salt, body = rows[0] if rows else (0, ERASE, b"", b"", None)
    if operation == ERASE or body is None or seq < proved or digest_of(salt, body) != digest:
        return None
    with suppress(StoreDamaged):
        record = decode_payload(body).record
        if (record.namespace, record.number) == (examined.name, number):
            return record
    return None
