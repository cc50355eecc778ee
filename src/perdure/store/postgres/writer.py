"""One write transaction on one namespace: the record, its revision and its index change together or not at all.

What is written is sent without waiting for an answer. The row of the namespace is locked when the writer opens, so that
everything it asks is true until it ends.
"""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, NamedTuple, cast
from uuid import UUID

from perdure.buggify import point
from perdure.clock import Clock, from_micros, to_micros
from perdure.embed.port import Generation
from perdure.errors import Conflict, InvalidInput, NotFound
from perdure.ids import MemoryId
from perdure.model import INDEXED_STATES, NOTHING, Change, Identity, Record, Revision, replace_record
from perdure.store.erasure import ERASE, passages_of
from perdure.store.hash_chain import SALT_BYTES, Line, digest_of, genesis, link, tombstone_digests
from perdure.store.links import Target, encoded_links, links_of
from perdure.store.port import About, LogFilter, Review
from perdure.store.postgres.asked_ahead import AskedAhead, Together
from perdure.store.postgres.checkpoints import columns
from perdure.store.postgres.connection import Row
from perdure.store.postgres.log_notes import NOTHING_FOUND, NotedLines
from perdure.store.postgres.models import parked_columns
from perdure.store.postgres.pool import Question, Transaction
from perdure.store.postgres.reader import NamespaceRow, PostgresReader, generation_key, require_name, sayable, scope_of
from perdure.store.postgres.sql import transfer_queries
from perdure.store.rows import (
    ALL_WRITTEN,
    NUMBER_MASK,
    Unwritten,
    check_vector,
    encode_payload,
    encode_row,
    pack_id,
    unpack_id,
    vector_checksum,
)
from perdure.store.transfer import LoggedLine, NamespaceExtras, VectorRow, require_hash
from perdure.text.entry import Entry, terms_length
from perdure.values import value_class

SECRET_BYTES: Final = 32
# Lines or vectors of a namespace; below it, any plan of the server is quick.
SMALLEST_COUNTED: Final = 64
SMALLEST_COUNTED_ANYWAY: Final = 1024
# Of `select_memory_to_write`, from its end: tags, the fields that name other memories, and the words.
_TAGS: Final = -14
_EVIDENCE: Final = -10
_SUPERSEDES: Final = -8
_MERGED_FROM: Final = -7
# And from its beginning, what two memories of one text differ in.
_SCOPE: Final = {"content_hash": 2, "conversation_id": 14, "spec_folder": 17, "file_path": 18, "anchor_id": 19}
# From so many questions on, those about texts are asked together.
MANY_QUESTIONS: Final = 8


class _Before(NamedTuple):
    """What the tags, links and words of a memory were. `terms` is None while it is not indexed."""

    tags: tuple[str, ...]
    links: set[Target]
    terms: bytes | None
    tokens: int


@value_class(frozen=False)
class _Counters:
    """The row of the namespace as it will be written at the end."""

    parked: int
    unversioned: int
    seq: int
    number: int
    head: bytes
    documents: int
    words: int
    vector: int
    tokens: int
    max_items: int | None
    max_tokens: int | None


@value_class
class WriterSettings:
    """What every writer of a store needs. `secrets` are those of the namespaces that were written before."""

    sql: Mapping[str, str]
    clock: Clock
    make_generation: Callable[[Generation], None]
    secrets: dict[UUID, bytes]


class PostgresWriter(PostgresReader):
    """A reader that sees its own changes. `finish` writes the namespace's own row, which every change has touched."""

    _select = "select_memory_to_write"

    def __init__(
        self,
        transaction: Transaction,
        store: WriterSettings,
        name: str,
        about: Sequence[About] = (),
        unwritten: Mapping[int, Unwritten] = ALL_WRITTEN,
        wanted_lines: Sequence[int] = (),
    ) -> None:
        """`wanted_lines`: positions in the log whose hashes somebody wants to know, see `found_lines`."""
        self._ahead = AskedAhead(transaction)
        super().__init__(self._ahead, store.sql, name, unwritten)
        self._make_generation = store.make_generation
        self._is_new = False
        self._changed = False
        self.has_sent = False
        self._handed_out: set[int] = set()
        self._known: dict[int, _Before] = {}
        self._requests: set[str] = set()
        self._new_generations: dict[int, Generation] = {}
        self.erased: list[MemoryId] = []
        # A secret never changes, so whoever knows it can ask for tombstones before the row is there.
        secret = store.secrets.get(self.key)
        first = (self._sql["open_namespace"], self._bindings)
        questions = list(self._questions(about, secret)) if about else []
        if wanted_lines:
            questions.append((self._sql["line_hashes"], {**self._bindings, "seqs": list(wanted_lines)}))
        single, together = self._together(questions)
        rows = self._ahead.look_ahead(first, single, self._sql[self._select], together)
        if not rows:
            # Without a row there is nothing to lock, and two who write the same text for the first time would both.
            transaction.send(
                self._sql["create_namespace"],
                {
                    **self._bindings, "name": name, "secret": secrets.token_bytes(SECRET_BYTES), "head": genesis(name),
                    "created_at": to_micros(store.clock()),
                },
            )  # fmt: skip
            rows = self._ahead.look_ahead(first, single, self._sql[self._select], together)
            self._is_new = rows[0][4] == 0 and rows[0][5] == 0
        self.found_lines: Mapping[int, bytes] = NOTHING_FOUND
        if wanted_lines:
            self.found_lines = dict(self._ahead.ask(*questions[-1]))
        own_name, own_secret, *counters, serving, generations = rows[0]
        self._row = _Counters(*counters)
        self._first_seq, self._first_vector = self._row.seq, self._row.vector
        self._secret: bytes = own_secret
        if secret != own_secret:
            store.secrets[self.key] = own_secret
            self._ahead.forget_tombstones()
        self.serving: int | None = serving
        self._generations: set[int] = set(generations or ())
        require_name(self._own(own_name), name)

    def _questions(self, about: Sequence[About], secret: bytes | None) -> Iterator[Question]:
        """What this transaction will ask first, in the very words in which it will."""
        for identity, request, number in dict.fromkeys(about):
            if identity is not None:
                if identity.key is None:
                    yield self._rows_question("by_content", **scope_of(identity))
                elif sayable(identity.key):
                    yield self._rows_question("by_key", key=identity.key)
                if secret is not None:
                    own, in_scope, of_text = tombstone_digests(secret, self._name, identity)
                    # The one is asked by `tombstone_since`, the other by `lift_tombstone`; mostly they are the same.
                    for digests in {tuple(sorted({own, of_text})), tuple(sorted({own, in_scope, of_text}))}:
                        yield self._sql["tombstone_since"], {**self._bindings, "digests": list(digests)}
            if request is not None and (
                question := self._log_question(LogFilter(request=request), limit=1, newest=True)
            ):
                yield question
            if number is not None and 0 < number <= NUMBER_MASK:
                yield self._rows_question("by_number", number=number)
                yield self._sql["last_version"], {**self._bindings, "number": number}

    def _together(self, questions: Sequence[Question]) -> tuple[Sequence[Question], Sequence[Together]]:
        """What is asked by itself, and what is asked of many texts at once."""
        if len(questions) < MANY_QUESTIONS:
            return questions, ()
        of_texts, of_tombstones = self._rows_question("by_content")[0], self._sql["tombstone_since"]
        texts = [(sql, cast("dict[str, Any]", asked)) for sql, asked in questions if sql == of_texts]
        tombstones = [(sql, cast("dict[str, Any]", asked)) for sql, asked in questions if sql == of_tombstones]
        single = [question for question in questions if question[0] not in (of_texts, of_tombstones)]
        hashes = {asked["content_hash"] for _, asked in texts}
        conversations = {asked["conversation_id"] or "" for _, asked in texts}
        digests = {digest for _, asked in tombstones for digest in asked["digests"]}
        asked_texts = self._rows_question("by_contents", content_hashes=[*hashes], conversations=[*conversations])
        asked_tombstones = self._sql["tombstones_of"], {**self._bindings, "digests": [*digests]}
        return single, [
            *([Together(asked_texts, texts, _first_in_scope)] if texts else ()),
            *([Together(asked_tombstones, tombstones, _newest_tombstone)] if tombstones else ()),
        ]

    def _own(self, name: str | None = None) -> NamespaceRow:
        row = self._row
        limits = (row.max_items, row.max_tokens)
        return NamespaceRow(name or self._name, self._secret, row.documents, row.words, row.tokens, *limits, row.number)

    def _send(self, name: str, **bindings: Any) -> None:
        self.has_sent = True
        self._transaction.send(self._sql[name], {**self._bindings, **bindings})

    def _put_row(self, name: str, row_key: Hashable, **bindings: Any) -> None:
        """Sent later, with others of its kind: see `AskedAhead.put`."""
        self.has_sent = True
        self._ahead.put(self._sql[name], row_key, {**self._bindings, **bindings})

    def _rows(self, condition: str, **bindings: Any) -> list[Row]:
        rows = super()._rows(condition, **bindings)
        for row in rows:
            self._known[row[0]] = _before(row[_TAGS], (row[_EVIDENCE], row[_SUPERSEDES], row[_MERGED_FROM]), *row[-2:])
        return rows

    def log(self, filter: LogFilter, *, limit: int, newest: bool = True) -> list[Revision]:
        lines = super().log(filter, limit=limit, newest=newest)
        self._requests.update(line.change.request for line in lines if line.change.request is not None)
        return lines

    def next_number(self) -> int:
        row = self._row_to_change()
        if row.number >= NUMBER_MASK:
            raise InvalidInput(f"The namespace {self._name!r} has no numbers left.")
        row.number += 1
        self._handed_out.add(row.number)
        return row.number

    def put(self, record: Record, change: Change, entry: Entry) -> Record:
        return self._put(record, change, entry, None)

    def _put(self, record: Record, change: Change, entry: Entry, payload: tuple[bytes, str] | None) -> Record:
        """`payload` is the salt and the body of a line that another store had."""
        row = self._row_to_change()
        if record.namespace != self._name or not 0 < record.number <= row.number:
            raise InvalidInput(f"Memory {record.number} of {record.namespace!r} has no number of {self._name!r}.")
        record = replace_record(record, seq=row.seq + 1)
        number = record.number
        before = self._before(number)
        slot, memory_id, *covered = encode_row(record, number, entry.passage_hash)
        salt, body = payload or (os.urandom(SALT_BYTES), encode_payload(record, change.provenance))
        self.has_sent = True
        self._ahead.put(self._sql["put_memory"], number, (self.key, slot, UUID(bytes=memory_id), *covered))
        point("put: memory written")
        if before.tags and before.tags != record.tags:
            self._send("delete_tags", number=number)
        for tag in dict.fromkeys(record.tags) if before.tags != record.tags else ():
            self._put_row("put_tag", (number, tag), number=number, tag=tag)
        links = links_of(record)
        for kind, target in before.links - links:
            self._send("delete_link", number=number, kind=kind, target=UUID(bytes=target))
        for kind, target in links - before.links:
            self._send("put_link", number=number, kind=kind, target=UUID(bytes=target))
        indexed = record.state in INDEXED_STATES
        after = _Before(record.tags, links, entry.terms if indexed else None, entry.tokens)
        self._put_entry(number, before, after)
        texts = (("content_hash", bytes.fromhex(record.content_hash)), ("key", record.key), ("request", change.request))
        self._ahead.forget(("number", number), *texts)
        self._append(number, record.id, record.version, change, digest_of(salt, body.encode()))
        self._put_row("put_payload", row.seq, seq=row.seq, salt=salt, body=body)
        self._known[number] = after
        point("put: revision written")
        return record

    def _before(self, number: int) -> _Before:
        if number in self._handed_out:
            self._handed_out.discard(number)
            return _NOTHING_BEFORE
        if known := self._known.get(number):
            return known
        asked = {**self._bindings, "number": number}
        found, operations = self._transaction.ask_all(
            [(self._sql["memory_before"], asked), (self._sql["newest_operation"], asked)]
        )
        if found:
            return _before(found[0][0], found[0][1:4], *found[0][4:])
        if operations and operations[0][0] == ERASE:
            raise Conflict(f"Memory {number} was erased, and nothing can bring it back.")
        return _NOTHING_BEFORE

    def _put_entry(self, number: int, before: _Before, after: _Before) -> None:
        """Bring the memory's row of the keyword index up to date, and the counts of the namespace with it."""
        if after.terms is None and before.terms is not None:
            self._send("delete_entry", number=number)
        elif after.terms is not None and (after.terms, after.tokens) != (before.terms, before.tokens):
            self._put_row("put_entry", number, number=number, terms=after.terms, tokens=after.tokens)
        for side, sign in ((before, -1), (after, 1)):
            if side.terms is not None:
                self._row.documents += sign
                self._row.words += sign * terms_length(side.terms)
                self._row.tokens += sign * side.tokens

    def release_key(self, number: int) -> None:
        if 0 < number <= NUMBER_MASK:
            self._ahead.forget(("number", number))
            self._send("release_key", number=number)

    def put_vector(self, generation: Generation, passage_hash: bytes, vector: bytes) -> None:
        if generation_key(generation) not in self._generations:
            self.put_vectors(generation, [(passage_hash, vector)])
            return
        check_vector(vector, generation.dimensions)
        if not self._is_new or self._changed:
            # Whether it is kept is for the server to know: see `close_namespace`.
            self._row_to_change().vector += 1
            self._send("put_vector", **self._vector_columns(generation, passage_hash, vector))

    def put_vectors(self, generation: Generation, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        return self._put_vectors(self._sql["put_vector"], generation, vectors)

    def take_vectors(self, generation: Generation, vectors: Sequence[VectorRow]) -> int:
        sql = self._sql.get("take_vector") or transfer_queries(self._transaction.schema)["take_vector"]
        return self._put_vectors(sql, generation, [(row.passage_hash, row.data) for row in vectors])

    def _put_vectors(self, sql: str, generation: Generation, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        for _, vector in vectors:
            check_vector(vector, generation.dimensions)
        if not vectors or (self._is_new and not self._changed):
            return 0
        questions: list[Question] = []
        for passage_hash, vector in vectors:
            self._row.vector += 1
            columns = self._vector_columns(generation, passage_hash, vector)
            questions.append((sql, {**self._bindings, **columns}))
        kept = sum(map(len, self._transaction.ask_all(questions)))
        if kept:
            self._row_to_change()
            key = generation_key(generation)
            if key not in self._generations:
                self._new_generations[key] = generation
        return kept

    def _vector_columns(self, generation: Generation, passage_hash: bytes, vector: bytes) -> dict[str, Any]:
        near: Mapping[str, Any] = {}
        if "put_near" in self._sql:
            from perdure.store.postgres.nearest import near_columns

            near = near_columns(vector, generation.dimensions)
        return {
            "position": self._row.vector, "generation": generation_key(generation), "passage_hash": passage_hash,
            "checksum": vector_checksum(passage_hash, vector), "data": vector, **near,
        }  # fmt: skip

    def add_tombstone(self, identity: Identity, reason: str, at: datetime) -> None:
        own, in_scope, _ = self.tombstone_digests(identity)
        ((text_is_active, key_is_active),) = self._ask("active_with_text", key=identity.key, **scope_of(identity))
        ended = [] if text_is_active else [in_scope]
        if identity.key is not None and not key_is_active:
            ended.append(own)
        for digest in ended:
            self._row_to_change()
            self._ahead.forget_tombstones()
            self._send("add_tombstone", digest=digest, at=to_micros(at), reason=reason)

    def lift_tombstone(self, identity: Identity) -> datetime | None:
        digests = sorted(set(self.tombstone_digests(identity)))
        ((at,),) = self._ask("tombstone_since", digests=digests)
        if at is None:
            return None
        self._ahead.forget_tombstones()
        self._send("lift_tombstone", digests=digests)
        return from_micros(at)

    def touch(self, number: int, at: datetime) -> None:
        if 0 < number <= NUMBER_MASK:
            self._send("note_use", number=number, recalls=0, recalled_at=None, accesses=0, accessed_at=to_micros(at))

    def take_review(self, review: Review) -> bool:
        if not 0 < review.number <= NUMBER_MASK:
            return False
        self.has_sent = True
        return bool(self._ask("take_review", number=review.number, at=to_micros(review.at)))

    def set_limits(self, max_items: int | None, max_tokens: int | None) -> None:
        if any(limit is not None and limit < 1 for limit in (max_items, max_tokens)):
            raise InvalidInput("A limit is at least 1; None means no limit.")
        row = self._row_to_change()
        row.max_items, row.max_tokens = max_items, max_tokens

    def drop_payloads(self, number: int, seqs: Collection[int] | None = None) -> None:
        """Delete the payloads of all log entries but the newest, or of the named ones. Doctor learns that this is no
        damage from a mark, or from the newest entry, which names them.
        """
        if not 0 < number <= NUMBER_MASK:
            return
        self._send("unpark_memory", number=number)
        lines = self._ask("memory_lines", number=number)[1:]
        if seqs is not None:
            lines = [line for line in lines if line[0] in seqs]
        dropped = [seq for seq, *_, body in lines if body is not None]
        if dropped:
            row = self._row_to_change()
            self._send("delete_payloads", seqs=dropped)
            if seqs is None:
                row.unversioned = max(row.unversioned, *dropped)
        self._delete_passages([line[-1] for line in lines], None)

    def unpark(self, id: int) -> None:
        if 0 < id <= NUMBER_MASK:
            self._send("unpark", id=id)

    def erase(self, number: int, change: Change, *, traceless: bool = True) -> None:  # noqa: ARG002  (see `scrub`)
        # No payload, and nobody keeps the salt: the digest proves nothing about what the memory said.
        self._erase(number, change, digest_of(os.urandom(SALT_BYTES), b""))

    def _erase(self, number: int, change: Change, digest: bytes) -> None:
        asked = {**self._bindings, "number": number}
        lines: list[Row] = []
        traces: list[Row] = []
        if 0 < number <= NUMBER_MASK:
            lines, traces = self._transaction.ask_all(
                [(self._sql["memory_lines"], asked), (self._sql["memory_traces"], asked)]
            )
        if not lines or (lines[0][3] == ERASE and not traces and not any(line[-1] for line in lines)):
            raise NotFound(f"There is no memory {number} to erase.")
        row = self._row_to_change()
        passage, terms, tokens = traces[0] if traces else (None, None, 0)
        self._send("delete_payloads", seqs=[line[0] for line in lines])
        point("erase: payloads deleted")
        for statement in (
            "delete_memory",
            "delete_entry",
            "delete_tags",
            "delete_links",
            "delete_use",
            "delete_review",
        ):
            self._send(statement, number=number)
        self._send("unpark_memory", number=number)
        point("erase: memory deleted")
        self._delete_passages([line[-1] for line in lines], passage)
        self._send("unpark_rest")
        point("erase: vectors deleted")
        if terms is not None:
            row.documents -= 1
            row.words -= terms_length(terms)
            row.tokens -= tokens or 0
        self._known.pop(number, None)
        self._handed_out.discard(number)
        self._ahead.forget(("number", number))
        memory = unpack_id(lines[0][1])
        self._append(number, memory, lines[0][2], change, digest)
        self.erased.append(memory)
        point("erase: line written")

    def _delete_passages(self, bodies: list[str | None], known: bytes | None) -> None:
        """Delete the vectors of all versions, unless another memory has the same passage. When a payload cannot be
        read, every vector without a memory is deleted.
        """
        found = passages_of(bodies)
        passages = found.hashes if known is None else found.hashes | {known}
        if passages:
            self._send("delete_passages", passages=list(passages))
        if not found.complete:
            self._send("delete_unowned_vectors")

    def replay(self, logged: LoggedLine, record: Record | None, entry: Entry | None) -> None:
        line, row = logged.line, self._row_to_change()
        row.number = max(row.number, line.number)
        if line.operation == ERASE:
            self._erase(line.number, logged.change(NOTHING), line.digest)
        elif record is None or entry is None or logged.body is None or logged.salt is None:
            self._append(line.number, MemoryId(line.memory), line.version, logged.change(NOTHING), line.digest)
        else:
            if record.key is not None:
                self._send_transfer("take_key", key=record.key, number=record.number)
            if line.version == 1 and line.operation == "insert":
                self._handed_out.add(record.number)
            self._put(record, logged.change(NOTHING), entry, (logged.salt, logged.body))
        require_hash(row.head, logged)

    def _send_transfer(self, name: str, **bindings: Any) -> None:
        self.has_sent = True
        sql = transfer_queries(self._transaction.schema)[name]
        self._transaction.send(sql, {**self._bindings, **bindings})

    def put_extras(self, extras: NamespaceExtras, *, is_new: bool) -> None:
        row = self._row_to_change()
        row.number = max(row.number, extras.number)
        row.unversioned = max(row.unversioned, extras.unversioned)
        row.max_items, row.max_tokens = extras.max_items, extras.max_tokens
        if is_new:
            self._secret = extras.secret
            self._send_transfer("set_secret", secret=extras.secret)
        for number, recalls, recalled_at, accesses, accessed_at in extras.uses:
            times = {"recalled_at": recalled_at, "accessed_at": accessed_at}
            self._send_transfer("put_use", number=number, recalls=recalls, accesses=accesses, **times)
        for number, first_at, at, rank in extras.reviews:
            self._send("note_review", number=number, first_at=first_at, at=at, rank=rank)
        self._send_transfer("clear_tombstones")
        for digest, at, reason in extras.tombstones:
            self._send("add_tombstone", digest=digest, at=at, reason=reason)
        self._send_transfer("clear_parked")
        for each in extras.parked:
            self.park(parked_columns(each))
        for checkpoint in extras.checkpoints:
            sql = transfer_queries(self._transaction.schema)["copy_checkpoint"]
            self._transaction.send(sql, columns(checkpoint))

    def finish(self) -> bool:
        """Send what is left. False when nothing was changed, and there is nothing to commit."""
        for generation in self._new_generations.values():
            self._make_generation(generation)
        if self._changed:
            row = self._row
            self._send(
                "close_namespace", seq=row.seq, number=row.number, head=row.head, documents=row.documents,
                words=row.words, tokens=row.tokens, max_items=row.max_items, max_tokens=row.max_tokens,
                parked=row.parked, unversioned=row.unversioned,
            )  # fmt: skip
        elif self._is_new and self.has_sent:
            self._send("delete_namespace")
        self._ahead.send_rows()
        return self.has_sent

    @property
    def last_line(self) -> tuple[int, bytes] | None:
        """The position and the hash of the last line that this transaction has appended, if it has appended any."""
        return (self._row.seq, self._row.head) if self._row.seq > self._first_seq else None

    @property
    def doubled_to(self) -> int:
        """How many lines or vectors there are, when they have grown past a power of two that is worth new statistics;
        else 0.
        """
        grown = (self._first_seq, self._row.seq), (self._first_vector, self._row.vector)
        doubled = (after for before, after in grown if before.bit_length() < after.bit_length())
        return max((after for after in doubled if after >= SMALLEST_COUNTED), default=0)

    @property
    def noted_lines(self) -> NotedLines | None:
        """The lines that this transaction has appended, if it has appended any."""
        if self.last_line is None:
            return None
        return NotedLines(self.key, self._first_seq + 1, *self.last_line)

    @property
    def log_end(self) -> Row:
        """As the statement `namespaces` has it."""
        return self.key.bytes, self._name, self._row.seq, self._row.documents

    def _row_to_change(self) -> _Counters:
        self._changed = self.has_sent = True
        return self._row

    def _append(self, number: int, memory: MemoryId, version: int, change: Change, digest: bytes) -> None:
        """Append a line to the log and link it into the hash chain."""
        if change.request is not None and change.request in self._requests:
            # The caller looked for the key and found a line without a record, so what it wrote was erased since.
            raise Conflict(f"The idempotency key {change.request!r:.80} was used before.")
        line = Line(
            self._row.seq + 1, number, memory, version, change.operation, change.actor, change.surface, change.session,
            change.request, to_micros(change.at), change.batch, digest,
        )  # fmt: skip
        self._row.seq, self._row.head = line.seq, link(self._row.head, line)
        line_columns = (
            self.key, line.seq, number, UUID(bytes=pack_id(memory)), version, line.operation, line.actor, line.surface,
            line.session, line.request, line.at, line.batch, digest, self._row.head,
        )  # fmt: skip
        self._ahead.put(self._sql["append_revision"], line.seq, line_columns)
        if change.request is not None:
            self._requests.add(change.request)

    def park(self, bindings: Mapping[str, Any]) -> int | None:
        """The id under which it is kept; None when there is no such memory any more."""
        row = self._row
        rows = self._ask("park", id=row.parked + 1, **bindings)
        if not rows:
            return None
        if rows[0][0] > row.parked:
            self._row_to_change().parked = rows[0][0]
        self.has_sent = True
        return rows[0][0]


def _before(tags: str | None, links: Row, terms: bytes | None, tokens: int | None) -> _Before:
    return _Before(tuple(json.loads(tags or "[]")), encoded_links(links), terms, tokens or 0)


def _first_in_scope(question: Question, rows: list[Row]) -> list[Row]:
    """As the condition `by_content` has it."""
    asked = cast("dict[str, Any]", question[1])
    scope = tuple(asked[name] for name in _SCOPE)
    return [row for row in rows if tuple(row[at] for at in _SCOPE.values()) == scope][:1]


def _newest_tombstone(question: Question, rows: list[Row]) -> list[Row]:
    """As the statement `tombstone_since` has it."""
    digests = cast("dict[str, Any]", question[1])["digests"]
    return [(max((at for digest, at in rows if digest in digests), default=None),)]


_NOTHING_BEFORE: Final = _Before((), set(), None, 0)
