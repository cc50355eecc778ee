"""One write transaction on one namespace: the record, its revision and its index change together or not at all."""

from __future__ import annotations

import json
import os
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import Final

import apsw

from perdure.buggify import point
from perdure.clock import Clock, from_micros, to_micros
from perdure.embed.port import Generation
from perdure.errors import Conflict, InvalidInput
from perdure.ids import MemoryId
from perdure.model import INDEXED_STATES, NOTHING, Change, Identity, Record, replace_record
from perdure.store.capacity import Load
from perdure.store.erasure import ERASE
from perdure.store.hash_chain import SALT_BYTES, Line, LogEnd, digest_of, genesis, link
from perdure.store.links import encoded_links, links_of
from perdure.store.port import Review
from perdure.store.rows import (
    ALL_WRITTEN,
    NUMBER_MASK,
    Row,
    Unwritten,
    check_vector,
    encode_payload,
    encode_row,
    entry_columns,
    pack_id,
    pack_name,
    slot_of,
    unpack_id,
    vector_checksum,
)
from perdure.store.sqlite import erasure
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.erasure_ledger import Erasure
from perdure.store.sqlite.links import put_links
from perdure.store.sqlite.reader import NO_NAMESPACE, SqliteReader
from perdure.store.sqlite.sidecar import SIDECAR_SQL
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.transfer import TRANSFER_SQL, put_extras
from perdure.store.transfer import LoggedLine, NamespaceExtras, VectorRow, require_hash
from perdure.text.entry import Entry, terms_length
from perdure.values import field_names, value_class


@value_class(frozen=False)
class _Namespace:
    """The row of the namespace as it will be written at the end, in the order of the statement `close_namespace`."""

    seq: int
    number: int
    head: bytes
    documents: int = 0
    words: int = 0
    vector: int = 0
    tokens: int = 0
    max_items: int | None = None
    max_tokens: int | None = None


_namespace_columns: Final = attrgetter(*field_names(_Namespace))


class SqliteWriter(SqliteReader):
    """A reader that sees its own changes. `finish` writes the namespace's own row, which every change has touched."""

    def __init__(
        self, connection: Database, name: str, clock: Clock, unwritten: Mapping[int, Unwritten] = ALL_WRITTEN
    ) -> None:
        rows = connection.execute(SQL["open_namespace"], (name,)).fetchall()
        super().__init__(connection, rows[0][1] if rows else NO_NAMESPACE, name, unwritten)
        self._clock = clock
        self._row = _Namespace(*rows[0][2:]) if rows else _Namespace(0, 0, genesis(name))
        # Where the log ends inside this transaction.
        self.end_of_log = LogEnd(self._row.seq, self._row.head)
        # What the meta value said when the transaction began; None as well where nothing was read.
        self.serving: object = rows[0][0] if rows else None
        self._changed = False
        self._handed_out: set[int] = set()
        self._generations: dict[str, int] = {}
        self.erased: list[Erasure] = []

    def load(self) -> Load:
        return Load(self._row.documents, self._row.tokens, self._row.max_items, self._row.max_tokens)

    def _word_totals(self) -> tuple[int, int]:
        return self._row.documents, self._row.words

    def next_number(self) -> int:
        row = self._row_to_change()
        if row.number >= NUMBER_MASK:
            raise InvalidInput(f"The namespace {self._name!r} has no numbers left.")
        row.number += 1
        self._handed_out.add(row.number)
        return row.number

    def put(self, record: Record, change: Change, entry: Entry, payload: tuple[bytes, str] | None = None) -> Record:
        """`payload` is the salt and the body of a line that another store had."""
        row, execute = self._row_to_change(), self._connection.execute
        if record.namespace != self._name or not 0 < record.number <= row.number:
            raise InvalidInput(f"Memory {record.number} of {record.namespace!r} has no number of {self._name!r}.")
        record = replace_record(record, seq=row.seq + 1)
        slot = slot_of(self.namespace_id, record.number)
        old_tags: tuple[str, ...] = ()
        old_links: Row = ()
        old_entry = None
        if record.number in self._handed_out:
            self._handed_out.discard(record.number)
        elif before := execute(SQL["memory_before"], (slot,)).fetchall():
            old_tags = tuple(json.loads(before[0][0] or "[]"))
            old_links, entry_row = before[0][1:4], before[0][4:]
            old_entry = entry_row if entry_row[0] is not None else None
        elif execute(SQL["newest_operation"], (self.namespace_id, record.number)).get == ERASE:
            raise Conflict(f"Memory {record.number} was erased, and nothing can bring it back.")
        execute(SQL["put_memory"], (self.namespace_id, *encode_row(record, slot, entry.passage_hash)))
        point("put: memory written")
        if old_tags and old_tags != record.tags:
            execute(SQL["delete_tags"], (slot,))
        for tag in record.tags if old_tags != record.tags else ():
            execute(SQL["put_tag"], (self.namespace_id, tag, slot))
        if record.evidence or record.supersedes or record.merged_from or any(old_links):
            put_links(self._connection, slot, encoded_links(old_links), links_of(record))
        self._put_entry(slot, old_entry, entry_columns(entry) if record.state in INDEXED_STATES else None)
        salt, body = payload or (os.urandom(SALT_BYTES), encode_payload(record, change.provenance))
        self._append(record.number, record.id, record.version, change, digest_of(salt, body.encode()))
        execute(SQL["put_payload"], (slot_of(self.namespace_id, row.seq), salt, body))
        point("put: revision written")
        return record

    def _put_entry(self, slot: int, old: Row | None, new: Row | None) -> None:
        """Bring the memory's row of the keyword index up to date, and the counts of the namespace with it."""
        if new is None and old is not None:
            self._connection.execute(SQL["delete_entry"], (slot,))
        elif new is not None and new != old:
            self._connection.execute(SQL["change_entry" if old else "put_entry"], (*new, slot))
        for columns, sign in ((old, -1), (new, 1)):
            if columns is not None:
                self._row.documents += sign
                self._row.words += sign * terms_length(columns[0])
                self._row.tokens += sign * columns[-1]

    def release_key(self, number: int) -> None:
        if 0 < number <= NUMBER_MASK:
            self._connection.execute(SQL["release_key"], (slot_of(self.namespace_id, number),))

    def put_vector(self, generation: Generation, passage_hash: bytes, vector: bytes) -> None:
        self.put_vectors(generation, ((passage_hash, vector),))

    def take_vectors(self, generation: Generation, vectors: Sequence[VectorRow]) -> int:
        pairs = [(row.passage_hash, row.data) for row in vectors]
        return self.put_vectors(generation, pairs, TRANSFER_SQL["take_vector"])

    def put_vectors(
        self, generation: Generation, vectors: Sequence[tuple[bytes, bytes]], sql: str = SQL["put_vector"]
    ) -> int:
        for _, vector in vectors:
            check_vector(vector, generation.dimensions)
        if self.namespace_id == NO_NAMESPACE:
            return 0
        row, generation_key = self._row_to_change(), self._generations.get(generation.name)
        if generation_key is None:
            generation_key = self._connection.execute(SQL["generation_id"], (generation.name,)).get
            if generation_key is None:
                from perdure.store.sqlite.models import require_generation

                generation_key = require_generation(self._connection, generation)
            self._generations[generation.name] = generation_key
        before = row.vector
        for passage_hash, vector in vectors:
            columns = (
                slot_of(self.namespace_id, row.vector + 1),
                self.namespace_id,
                generation_key,
                passage_hash,
                vector_checksum(passage_hash, vector),
                vector,
            )
            self._connection.execute(sql, columns)
            row.vector += self._connection.changes()
        return row.vector - before

    def add_tombstone(self, identity: Identity, reason: str, at: datetime) -> None:
        text, key, *scope = identity
        execute, hash_bytes = self._connection.execute, bytes.fromhex(text)
        own, in_scope, _ = self.tombstone_digests(identity)
        ended: list[bytes] = []
        if not execute(SQL["has_active_text"], (self.namespace_id, hash_bytes, *scope)).get:
            ended.append(in_scope)
        if key is not None and not execute(SQL["has_active_key"], (self.namespace_id, key, hash_bytes)).get:
            ended.append(own)
        for digest in ended:
            self._row_to_change()
            execute(SQL["add_tombstone"], (self.namespace_id, digest, to_micros(at), reason))

    def lift_tombstone(self, identity: Identity) -> datetime | None:
        row = (self.namespace_id, *self.tombstone_digests(identity))
        at: int | None = self._connection.execute(SQL["tombstone_since"], row).get
        if at is None:
            return None
        self._connection.execute(SQL["lift_tombstone"], row)
        return from_micros(at)

    def touch(self, number: int, at: datetime) -> None:
        if 0 < number <= NUMBER_MASK:
            row = (slot_of(self.namespace_id, number), 0, None, 0, to_micros(at))
            self._connection.execute(SQL["note_use"], row)

    def take_review(self, review: Review) -> bool:
        if not 0 < review.number <= NUMBER_MASK:
            return False
        row = (slot_of(self.namespace_id, review.number), to_micros(review.at))
        self._connection.execute(SQL["take_review"], row)
        return self._connection.changes() > 0

    def set_limits(self, max_items: int | None, max_tokens: int | None) -> None:
        if any(limit is not None and limit < 1 for limit in (max_items, max_tokens)):
            raise InvalidInput("A limit is at least 1; None means no limit.")
        row = self._row_to_change()
        row.max_items, row.max_tokens = max_items, max_tokens

    def drop_payloads(self, number: int, seqs: Collection[int] | None = None) -> None:
        self._connection.execute(SQL["unpark_memory"], (slot_of(self.namespace_id, number),))
        erasure.drop_payloads(self._connection, self.namespace_id, number, seqs)

    def unpark(self, id: int) -> None:
        self._connection.execute(SQL["unpark"], (self.namespace_id, id))
        self._connection.execute(SIDECAR_SQL["ask_scrub"])

    def erase(self, number: int, change: Change, *, traceless: bool = True) -> None:
        # No payload, and the salt is not kept: the digest proves nothing about what the memory said.
        self._erase(number, change, digest_of(os.urandom(SALT_BYTES), b""), traceless=traceless)

    def _erase(self, number: int, change: Change, digest: bytes, *, traceless: bool) -> None:
        row = self._row_to_change()
        erased = erasure.erase(self._connection, self.namespace_id, number, traceless=traceless)
        self._connection.execute(SQL["unpark_rest"], (self.namespace_id,))
        if erased.terms is not None:
            row.documents -= 1
            row.words -= terms_length(erased.terms)
            row.tokens -= erased.tokens
        memory = unpack_id(erased.memory)
        self._append(number, memory, erased.version, change, digest)
        self.erased.append(Erasure(memory, to_micros(change.at)))
        point("erase: line written")

    def replay(self, logged: LoggedLine, record: Record | None, entry: Entry | None) -> None:
        line, row = logged.line, self._row_to_change()
        row.number = max(row.number, line.number)
        if line.operation == ERASE:
            self._erase(line.number, logged.change(NOTHING), line.digest, traceless=True)
        elif record is None or entry is None or logged.body is None or logged.salt is None:
            self._append(line.number, MemoryId(line.memory), line.version, logged.change(NOTHING), line.digest)
        else:
            if record.key is not None:
                bindings = (self.namespace_id, record.key, slot_of(self.namespace_id, record.number))
                self._connection.execute(TRANSFER_SQL["take_key"], bindings)
            self.put(record, logged.change(NOTHING), entry, (logged.salt, logged.body))
        require_hash(row.head, logged)

    def put_extras(self, extras: NamespaceExtras, *, is_new: bool) -> None:
        row = self._row_to_change()
        row.number = max(row.number, extras.number)
        row.max_items, row.max_tokens = extras.max_items, extras.max_tokens
        put_extras(self._connection, self.namespace_id, extras, is_new=is_new)

    def finish(self) -> None:
        if self._changed:
            self._connection.execute(SQL["close_namespace"], (*_namespace_columns(self._row), self.namespace_id))

    def _row_to_change(self) -> _Namespace:
        """The row of the namespace, which the first change makes."""
        self._changed = True
        if self.namespace_id == NO_NAMESPACE:
            row = (self._name, self._row.head, to_micros(self._clock()))
            self.namespace_id = self._connection.execute(SQL["create_namespace"], row).get
        return self._row

    def _append(self, number: int, memory: MemoryId, version: int, change: Change, digest: bytes) -> None:
        """Append a line to the log and link it into the hash chain."""
        line = Line(
            self._row.seq + 1, number, memory, version, change.operation, change.actor, change.surface, change.session,
            change.request, to_micros(change.at), change.batch, digest,
        )  # fmt: skip
        self._row.seq, self._row.head = self.end_of_log = LogEnd(line.seq, link(self._row.head, line))
        columns = (
            self.namespace_id, line.seq, number, pack_id(memory), version, line.operation, line.actor, line.surface,
            line.session, line.request, line.at, pack_name(line.batch), digest, self._row.head,
        )  # fmt: skip
        try:
            self._connection.execute(SQL["append_revision"], columns)
        except apsw.ConstraintError as error:
            if line.request is None:
                raise
            # The caller looked for the key and found nothing, so what it wrote was erased since.
            raise Conflict(f"The idempotency key {line.request!r:.80} was used before.") from error
