"""One namespace under examination: its memories beside what is derived from them, its log, and its vectors."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple
from uuid import UUID

from perdure.errors import StoreDamaged
from perdure.ids import content_hash
from perdure.store.doctor.chain import ChainEntry, walk_chain
from perdure.store.doctor.records import ExaminedRow
from perdure.store.erasure import ERASE
from perdure.store.postgres.connection import Row
from perdure.store.postgres.pool import Transaction
from perdure.store.postgres.sql import doctor_queries
from perdure.store.rows import decode_payload, decode_sound, has_dimensions, is_sound_vector
from perdure.text.entry import passage_hash, terms_length

# How many rows are in memory at a time.
_PORTION: Final = 1000
# Of `examine_memory`: the hash that a vector is found by, and where the columns of the record end.
_PASSAGE: Final = 3
_RECORD: Final = 47


class Counters(NamedTuple):
    seq: int
    number: int
    head: bytes
    documents: int
    words: int
    vector: int
    tokens: int
    unversioned: int
    secret_bytes: int
    max_items: int | None
    max_tokens: int | None


class ExaminedNamespace:
    """As one transaction sees it."""

    def __init__(self, transaction: Transaction, schema: str, key: bytes, name: str) -> None:
        self._transaction = transaction
        self.sql: Mapping[str, str] = doctor_queries(schema)
        self.key = UUID(bytes=key)
        self.name = name
        self.bindings: dict[str, Any] = {"namespace": self.key}

    def ask(self, name: str, **bindings: Any) -> list[Row]:
        return self._transaction.ask(self.sql[name], {**self.bindings, **bindings})

    def send(self, name: str, **bindings: Any) -> None:
        self._transaction.send(self.sql[name], {**self.bindings, **bindings})

    def label(self, number: int) -> str:
        return f"{number} of {self.name!r}"

    def counters(self) -> Counters:
        return Counters(*self.ask("counters")[0])

    def _portions(self, name: str) -> Iterator[Row]:
        after = 0
        while rows := self.ask(name, after=after, limit=_PORTION):
            yield from rows
            after = rows[-1][0]

    def rows(self) -> Iterator[ExaminedRow]:
        for row in self._portions("examine_memory"):
            number: int = row[0]
            record = decode_sound(row, self.name)
            if record is None or (content_hash(record.text), passage_hash(record)) != (
                record.content_hash,
                row[_PASSAGE],
            ):
                yield ExaminedRow(number)
                continue
            terms, tokens, tags, links, newest, body = row[_RECORD:]
            try:
                matches = newest == record.seq and (body is None or decode_payload(body).record == record)
            except StoreDamaged:
                matches = False
            yield ExaminedRow(number, record, matches, (terms,), tokens, tags, links)

    def chain(self) -> Iterator[ChainEntry]:
        return walk_chain(self._portions("examine_revisions"), self.name)

    def missing(self) -> list[int]:
        """Memories that the log knows and nobody erased, but that are not there."""
        return [
            number for number, _, operation, there, _ in self.ask("newest_lines") if operation != ERASE and not there
        ]

    def erased_leftovers(self) -> dict[int, int]:
        """Memories that were erased but are still there, each with the position of its `erase` log entry."""
        return {
            number: seq
            for number, seq, operation, there, has_payload in self.ask("newest_lines")
            if operation == ERASE and (there or has_payload)
        }

    def entry_counts(self) -> tuple[int, int, int]:
        """The number of index entries, of their words and of their tokens."""
        rows = self.ask("entry_terms")
        return len(rows), sum(terms_length(terms) for terms, _ in rows), sum(tokens for _, tokens in rows)

    def bad_vectors(self) -> list[int]:
        """Positions of vectors that were changed, or are not valid vectors."""
        import numpy as np

        bad: list[int] = []
        for position, passage, checksum, data, dimensions in self._portions("examine_vectors"):
            stored = is_sound_vector(checksum, passage, data) and dimensions and has_dimensions(data, dimensions)
            numbers = np.frombuffer(data, "<f4") if stored else None
            if numbers is None or not (
                np.isfinite(numbers).all() and numbers.reshape(-1, dimensions).any(axis=1).all()
            ):
                bad.append(position)
        return bad
