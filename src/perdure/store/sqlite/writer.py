"""One write transaction on one namespace: the record, its revision and its index change together or not at all."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Never, cast

import apsw

from perdure.buggify import point
from perdure.clock import Clock, from_micros, to_micros
from perdure.embed.port import Generation
from perdure.errors import Conflict, InvalidInput
from perdure.ids import ContentHash, MemoryId
from perdure.model import INDEXED_STATES, Change, EvictionCandidate, Record, replace_record
from perdure.store.port import LINK_KINDS, EvictionRule, LinkKind, Load, LogFilter
from perdure.store.sqlite import erasure, vectors
from perdure.store.sqlite.apsw_types import Database, Row
from perdure.store.sqlite.erasure import ERASE
from perdure.store.sqlite.erasure_ledger import Erasure
from perdure.store.sqlite.hash_chain import SALT_BYTES, Line, digest_of, genesis, link
from perdure.store.sqlite.log_head import End
from perdure.store.sqlite.reader import NO_NAMESPACE, SqliteReader
from perdure.store.sqlite.rows import (
    NUMBER_BITS,
    NUMBER_MASK,
    encode_payload,
    encode_row,
    entry_columns,
    pack_id,
    pack_name,
    slot_of,
    unpack_id,
)
from perdure.store.sqlite.sql import SQL
from perdure.text.entry import Entry, terms_length

_BEFORE: Final = SQL["memory_before"]
_PUT_MEMORY: Final = SQL["put_memory"]
_PUT_ENTRY: Final = SQL["put_entry"]
_CHANGE_ENTRY: Final = SQL["change_entry"]
_PUT_TAG: Final = SQL["put_tag"]
_APPEND: Final = SQL["append_revision"]
_PUT_PAYLOAD: Final = SQL["put_payload"]
_CLOSE: Final = SQL["close_namespace"]
_EMPTY: Final = Load(0, 0, None, None)


@dataclass(slots=True)
class _Namespace:
    """The namespace's row as it will be written at the end."""

    id: int
    seq: int
    number: int
    head: bytes
    documents: int
    words: int
    vector: int
    tokens: int = 0
    max_items: int | None = None
    max_tokens: int | None = None


class _Ended:
    def execute(self, *_: object) -> Never:
        raise RuntimeError("the write transaction has ended")


class SqliteWriter(SqliteReader):
    """Lives inside one transaction; `finish` writes what it kept back."""

    def __init__(self, connection: Database, name: str, clock: Clock) -> None:
        rows = connection.execute(SQL["open_namespace"], (name,)).fetchall()
        super().__init__(connection, rows[0][0] if rows else NO_NAMESPACE, name)
        self._clock = clock
        self._space = _Namespace(*rows[0]) if rows else None
        self._changed = False
        self._handed_out: set[int] = set()
        self._generations: dict[str, int] = {}
        self.erased: list[Erasure] = []

    @property
    def end_of_log(self) -> tuple[int, End]:
        """The id of the namespace, 0 while there is none, and where its log ends inside this transaction."""
        space = self._space
        return (space.id, End(space.seq, space.head)) if space else (0, End(0, genesis(self._name)))

    def by_request(self, request: str) -> Record | None:
        lines = self.log(LogFilter(request=request), limit=1)
        return self.by_number(lines[0].number) if lines else None

    def record_of_request(self, request: str) -> Record | None:
        lines = self.log(LogFilter(request=request), limit=1)
        return lines[0].record if lines else None

    def changed_at(self, number: int) -> datetime | None:
        if not 0 < number <= NUMBER_MASK:
            return None
        at: int | None = self._connection.execute(SQL["changed_at"], (self._id, slot_of(self._id, number))).get
        return None if at is None else from_micros(at)

    def next_number(self) -> int:
        space = self._opened()
        if space.number >= NUMBER_MASK:
            raise InvalidInput(f"The namespace {self._name!r} has no numbers left.")
        space.number += 1
        self._handed_out.add(space.number)
        return space.number

    def put(self, record: Record, change: Change, entry: Entry) -> Record:
        space = self._opened()
        if record.namespace != self._name or not 0 < record.number <= space.number:
            raise InvalidInput(f"Memory {record.number} of {record.namespace!r} has no number of {self._name!r}.")
        record = replace_record(record, seq=space.seq + 1)
        slot = slot_of(space.id, record.number)
        before = self._before(record.number, slot)
        row = encode_row(record, space.id, entry.passage_hash)
        self._connection.execute(_PUT_MEMORY, row)
        point("put: memory written")
        self._put_tags(space, slot, record.tags, before)
        self._put_entry(space, slot, entry if record.state in INDEXED_STATES else None, before)
        self._append(space, record, change)
        point("put: revision written")
        return record

    def release_key(self, number: int) -> None:
        if self._space is not None and 0 < number <= NUMBER_MASK:
            self._connection.execute(SQL["release_key"], (slot_of(self._space.id, number),))

    def put_vector(self, generation: Generation, passage_hash: bytes, vector: bytes) -> None:
        space = self._opened()
        known = self._generations.get(generation.name)
        if known is None:
            known = vectors.ensure_generation(self._connection, generation)
            self._generations[generation.name] = known
        vector_id = slot_of(space.id, space.vector + 1)
        if vectors.put_vector(self._connection, vector_id, (known, generation.dimensions), passage_hash, vector):
            space.vector += 1

    def put_link(self, source: MemoryId, kind: LinkKind, target: str, at: datetime) -> None:
        if kind not in LINK_KINDS:
            raise InvalidInput(f"There is no kind of link called {kind!r:.40}.")
        row = (self._opened().id, pack_id(source), kind, pack_name(target), to_micros(at))
        self._connection.execute(SQL["put_link"], row)

    def add_tombstone(self, content_hash: ContentHash, reason: str, at: datetime) -> None:
        self._opened()
        self._tombstones().add_tombstone(content_hash, reason, at)

    def lift_tombstone(self, content_hash: ContentHash) -> None:
        self._tombstones().lift_tombstone(content_hash)

    def touch(self, number: int, at: datetime) -> None:
        if self._space is not None and 0 < number <= NUMBER_MASK:
            row = (slot_of(self._space.id, number), 0, None, 0, to_micros(at))
            self._connection.execute(SQL["note_use"], row)

    def load(self) -> Load:
        space = self._space
        return Load(space.documents, space.tokens, space.max_items, space.max_tokens) if space else _EMPTY

    def set_limits(self, max_items: int | None, max_tokens: int | None) -> None:
        if any(limit is not None and limit < 1 for limit in (max_items, max_tokens)):
            raise InvalidInput("A limit is at least 1; None is no limit.")
        space = self._opened()
        space.max_items, space.max_tokens = max_items, max_tokens

    def evictable(self, rule: EvictionRule, limit: int) -> list[EvictionCandidate]:
        return self.eviction_candidates(rule, limit)

    def drop_payloads(self, number: int) -> None:
        if self._space is not None:
            erasure.drop_payloads(self._connection, self._space.id, number)

    def erase(self, number: int, change: Change, *, traceless: bool = True) -> None:
        space = self._opened()
        gone = erasure.erase(self._connection, space.id, number, traceless=traceless)
        if gone.terms is not None:
            self._count(space, -1, -terms_length(gone.terms), -gone.tokens)
        # No payload, and nobody keeps the salt: the digest proves nothing about what the memory said.
        digest = digest_of(os.urandom(SALT_BYTES), b"")
        memory = unpack_id(gone.memory)
        self._append_line(space, (number, memory, gone.version), change, digest)
        self.erased.append(Erasure(memory, to_micros(change.at)))
        point("erase: line written")

    def end(self) -> None:
        """After the transaction every statement would be one of its own, half of a change."""
        self._connection = cast("Database", _Ended())

    def finish(self) -> None:
        space = self._space
        if space is not None and self._changed:
            row = (
                space.seq, space.number, space.head, space.documents, space.words, space.vector, space.tokens,
                space.max_items, space.max_tokens, space.id,
            )  # fmt: skip
            self._connection.execute(_CLOSE, row)

    def _opened(self) -> _Namespace:
        """For writing: made by the first write that needs it."""
        self._changed = True
        if self._space is None:
            head = genesis(self._name)
            row = (self._name, head, to_micros(self._clock()))
            created: int = self._connection.execute(SQL["create_namespace"], row).get
            self._space = _Namespace(created, 0, 0, head, 0, 0, 0)
            self._id, self._graves = created, None
        return self._space

    def _before(self, number: int, slot: int) -> Row | None:
        if number in self._handed_out:
            self._handed_out.discard(number)
            return None
        rows = self._connection.execute(_BEFORE, (slot,)).fetchall()
        if not rows and self._connection.execute(SQL["newest_operation"], (slot >> NUMBER_BITS, number)).get == ERASE:
            raise Conflict(f"Memory {number} was erased, and nothing can bring it back.")
        return rows[0] if rows else None

    def _put_tags(self, space: _Namespace, slot: int, tags: tuple[str, ...], before: Row | None) -> None:
        old = tuple(json.loads(before[0])) if before and before[0] else ()
        if old == tags:
            return
        if old:
            self._connection.execute(SQL["delete_tags"], (slot,))
        for tag in tags:
            self._connection.execute(_PUT_TAG, (space.id, tag, slot))

    def _put_entry(self, space: _Namespace, slot: int, entry: Entry | None, before: Row | None) -> None:
        old = before[1:] if before and before[1] is not None else None
        new = entry and entry_columns(entry)
        if old == new:
            return
        if new is None:
            self._connection.execute(SQL["delete_entry"], (slot,))
        else:
            self._connection.execute(_CHANGE_ENTRY if old else _PUT_ENTRY, (*new, slot))
        self._count(
            space,
            (new is not None) - (old is not None),
            (terms_length(new[0]) if new else 0) - (terms_length(old[0]) if old else 0),
            (new[-1] if new else 0) - (old[-1] if old else 0),
        )

    def _count(self, space: _Namespace, documents: int, words: int, tokens: int) -> None:
        space.documents += documents
        space.words += words
        space.tokens += tokens

    def _append(self, space: _Namespace, record: Record, change: Change) -> None:
        salt, body = os.urandom(SALT_BYTES), encode_payload(record)
        digest = digest_of(salt, body.encode())
        self._append_line(space, (record.number, record.id, record.version), change, digest)
        self._connection.execute(_PUT_PAYLOAD, (slot_of(space.id, space.seq), salt, body))

    def _append_line(self, space: _Namespace, of: tuple[int, str, int], change: Change, digest: bytes) -> None:
        """`of` is the memory's number, its id and its version."""
        line = Line(
            space.seq + 1, *of, change.operation, change.actor, change.surface, change.session, change.request,
            to_micros(change.at), change.batch, digest,
        )  # fmt: skip
        space.seq, space.head = line.seq, link(space.head, line)
        row = (
            space.id, line.seq, line.number, pack_id(line.memory), line.version, line.operation, line.actor,
            line.surface, line.session, line.request, line.at, pack_name(line.batch), line.digest, space.head,
        )  # fmt: skip
        try:
            self._connection.execute(_APPEND, row)
        except apsw.ConstraintError as error:
            if line.request is None:
                raise
            # Found by nobody, or the caller would not have come here: what it wrote was erased.
            raise Conflict(f"The idempotency key {line.request!r:.80} was used before.") from error
