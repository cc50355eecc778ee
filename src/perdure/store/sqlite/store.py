"""The Store port on SQLite: each method borrows a connection and lets the module of its noun do the work."""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime

import apsw

from perdure.clock import Clock, system_clock, to_micros
from perdure.embed.port import Generation
from perdure.errors import StoreClosed, StoreError, StoreReadOnly, StoreReplaced
from perdure.ids import MemoryId, Reference
from perdure.model import Filter, Finding, Record, Revision
from perdure.store.port import Found, IndexChanges, IndexRow, Link, Pending, Position, StoreStats, Use
from perdure.store.sqlite import check, feed, fork, links, reader, repair, search, statistics
from perdure.store.sqlite.connection import Patience, Role, choose_journal, connect, set_journal
from perdure.store.sqlite.database import Database
from perdure.store.sqlite.file import IN_MEMORY, MEMORY, Place, identity_of, prepare, size_of
from perdure.store.sqlite.migrate import check_ours, migrate, newest_schema
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.rows import NUMBER_MASK, slot_of
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.surroundings import running_engine
from perdure.store.sqlite.vectors import generation_id, pending, pending_count, put_vectors
from perdure.store.sqlite.writer import SqliteWriter
from perdure.text.bm25 import WordCounts


class SqliteStore:
    """One file, or one memory of this process. Safe to use from any thread."""

    def __init__(self, place: Place, pool: Pool, clock: Clock) -> None:
        self._place = place
        self._pool = pool
        self._clock = clock
        self._ids: dict[str, int] = {}
        self._signed = False

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        *,
        busy_seconds: float = 30.0,
        clock: Clock = system_clock,
        vfs: str | None = None,
    ) -> SqliteStore:
        """None or `:memory:` is a store that is gone when it is closed. `vfs` is for tests: it has one connection."""
        place = IN_MEMORY if path is None or os.fspath(path) == MEMORY else prepare(path)
        if place.identity in fork.inherited:
            raise StoreClosed(fork.FORKED)

        def open_connection(role: Role, patience: Patience) -> Database:
            return connect(place, role, patience, vfs)

        pool = Pool(place, open_connection, busy_seconds, shared=place is IN_MEMORY or vfs is not None)
        store = cls(place, pool, clock)
        try:
            pool.configure(store._set_up)
        except BaseException:
            pool.close()
            raise
        return store

    def _set_up(self, connection: Database, patience: Patience) -> None:
        version = check_ours(connection, self._place)
        if self._place.identity != (self._place.identity and identity_of(self._place.path)):
            raise StoreReplaced
        if self._place.identity is not None and connection.readonly("main"):
            if version != newest_schema():
                raise StoreReadOnly(f"{self._place.path} needs to be brought up to date, but cannot be written.")
            return
        set_journal(connection, choose_journal(self._place), patience)
        if version != newest_schema():
            migrate(connection, self._place)

    @contextmanager
    def write(self, namespace: str) -> Generator[SqliteWriter]:
        with self._pool.writing() as connection:
            self._sign(connection)
            writer = SqliteWriter(connection, namespace, self._clock)
            try:
                yield writer
                writer.finish()
            finally:
                writer.end()

    def _sign(self, connection: Database) -> None:
        """Leave the name of the engine with the first write, for doctor: some may not share a store with others."""
        if self._signed:
            return
        engine = running_engine()
        if connection.execute(SQL["get_meta"], ("engine",)).get != engine:
            connection.execute(SQL["change_meta"], ("engine", engine))
        else:
            self._signed = True

    def find(self, namespace: str, reference: Reference) -> list[Record]:
        with self._pool.reading() as connection:
            known = self._id(connection, namespace)
            return [] if known is None else reader.find(connection, known, namespace, reference)

    def fetch(self, namespace: str, numbers: Sequence[int]) -> list[Record]:
        with self._pool.reading() as connection:
            known = self._id(connection, namespace)
            return [] if known is None else reader.fetch(connection, known, namespace, numbers)

    def page(self, namespace: str, filter: Filter, *, after: int | None, limit: int, newest: bool) -> list[Record]:
        with self._pool.reading() as connection:
            known = self._id(connection, namespace)
            if known is None:
                return []
            return reader.page(connection, known, namespace, filter, after=after, limit=limit, newest=newest)

    def matching(self, namespace: str, filter: Filter) -> Sequence[int]:
        with self._pool.reading() as connection:
            known = self._id(connection, namespace)
            return () if known is None else reader.matching(connection, known, filter)

    def damaged(self, namespace: str) -> list[int]:
        with self._pool.snapshot() as connection:
            known = self._id(connection, namespace)
            return [] if known is None else reader.damaged(connection, known)

    def revisions(self, namespace: str, number: int) -> list[Revision]:
        with self._pool.reading() as connection:
            known = self._id(connection, namespace)
            return [] if known is None else reader.revisions(connection, known, namespace, number)

    def keyword(
        self,
        namespace: str,
        words: Sequence[str],
        filter: Filter,
        now: datetime,
        limit: int,
        counts: WordCounts | None = None,
    ) -> Found:
        with self._pool.snapshot() as connection:
            known = self._id(connection, namespace)
            return Found([]) if known is None else search.keyword(connection, known, words, filter, now, limit, counts)

    def word_counts(self, namespace: str, words: Sequence[str]) -> WordCounts:
        with self._pool.snapshot() as connection:
            known = self._id(connection, namespace)
            return WordCounts(0, 0, {}) if known is None else search.word_counts(connection, known, words)

    def links(self, namespace: str, memory: MemoryId) -> list[Link]:
        with self._pool.reading() as connection:
            known = self._id(connection, namespace)
            return [] if known is None else links.links(connection, known, memory)

    def position(self, namespace: str, generation: Generation | None) -> Position:
        with self._pool.reading() as connection:
            return feed.position(connection, namespace, generation)

    def index_rows(self, namespace: str, generation: Generation | None, after: int, limit: int) -> Sequence[IndexRow]:
        with self._pool.reading() as connection:
            known = self._id(connection, namespace)
            return [] if known is None else feed.index_rows(connection, known, generation, after, limit)

    def index_changes(self, namespace: str, generation: Generation | None, since: Position) -> IndexChanges:
        with self._pool.reading() as connection:
            known = self._id(connection, namespace)
            if known is None:
                return IndexChanges((), ())
            return feed.index_changes(connection, known, generation, since)

    def pending(self, generation: Generation, limit: int) -> list[Pending]:
        with self._pool.snapshot() as connection:
            return pending(connection, generation, limit)

    def put_vectors(self, generation: Generation, vectors: Sequence[tuple[str, bytes, bytes]]) -> int:
        with self._pool.writing() as connection:
            ids = {name: self._id(connection, name) for name in {name for name, _, _ in vectors}}
            rows = [(known, passage, data) for name, passage, data in vectors if (known := ids[name]) is not None]
            return put_vectors(connection, generation, rows)

    def pending_count(self, generation: Generation) -> int:
        with self._pool.snapshot() as connection:
            known = generation_id(connection, generation)
            every = connection.execute(SQL["namespace_names"]).fetchall()
            return sum(pending_count(connection, known, namespace) for namespace, _ in every)

    def note_use(self, uses: Sequence[Use], *, patience: float) -> bool:
        """Counting use is never worth an error."""
        try:
            with self._pool.writing(patience) as connection:
                for use in uses:
                    known = self._id(connection, use.namespace)
                    if known is not None and 0 < use.number <= NUMBER_MASK:
                        connection.execute(SQL["note_use"], _use_row(known, use))
        except StoreClosed:
            raise
        except StoreError:
            return False
        return True

    def namespaces(self) -> list[str]:
        with self._pool.reading() as connection:
            return [name for _, name in connection.execute(SQL["namespace_names"])]

    def stats(self, generation: Generation | None) -> StoreStats:
        with self._pool.snapshot() as connection:
            known = generation_id(connection, generation) if generation else statistics.newest_generation(connection)
            return StoreStats(
                location=self._place.path,
                engine=f"SQLite {apsw.sqlite_lib_version()}",
                schema=newest_schema(),
                bytes=statistics.size(connection) + size_of(self._place.log),
                namespaces=statistics.namespace_statistics(connection, known),
            )

    def check(self) -> Iterator[Finding]:
        return check.check(self._pool, self._place)

    def repair(self) -> Iterator[Finding]:
        return repair.repair(self._pool)

    def close(self) -> None:
        self._pool.close()

    def _id(self, connection: Database, namespace: str) -> int | None:
        known = self._ids.get(namespace)
        if known is None:
            known = connection.execute(SQL["namespace_id"], (namespace,)).get
            # Inside a transaction of our own the namespace may still be taken back.
            if known is not None and not self._pool.is_writing(connection):
                self._ids[namespace] = known
        return known


def _use_row(namespace: int, use: Use) -> tuple[int | None, ...]:
    return (
        slot_of(namespace, use.number),
        use.recalls,
        None if use.recalled_at is None else to_micros(use.recalled_at),
        use.accesses,
        None if use.accessed_at is None else to_micros(use.accessed_at),
    )
