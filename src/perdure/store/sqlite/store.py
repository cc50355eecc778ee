"""The Store port on SQLite: each method borrows a connection and lets the module of its noun do the work."""

from __future__ import annotations

import os
from collections.abc import Collection, Generator, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Final

import apsw

from perdure.buggify import point
from perdure.clock import Clock, from_micros, system_clock, to_micros
from perdure.embed.port import Generation
from perdure.errors import PerdureError, StoreFull, StoreReadOnly, StoreReplaced
from perdure.model import BY_MODEL, Checkpoint, Finding, Record
from perdure.store.capabilities import Scrubbed
from perdure.store.index_folder import IndexFolder
from perdure.store.port import About, IndexChanges, IndexRow, Pending, Position, Progress, Review, Use, UseCount
from perdure.store.rows import ALL_WRITTEN, NUMBER_BITS, NUMBER_MASK, range_of
from perdure.store.sqlite import fork, index_feed, scrub
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.backup import partial_files
from perdure.store.sqlite.connection import Patience, Role, choose_journal, connect, set_journal
from perdure.store.sqlite.erasure_ledger import Ledger
from perdure.store.sqlite.file import IN_MEMORY, MEMORY, StoreFile, file_identity, prepare, size_of
from perdure.store.sqlite.log_head import LogHead, current_header
from perdure.store.sqlite.migrate import check_schema_version, migrate, newest_schema
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.reader import NO_NAMESPACE, SqliteReader, generation_id
from perdure.store.sqlite.sidecar import Reserve
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.use import SqliteUse
from perdure.text.entry import passage

if TYPE_CHECKING:
    from perdure.llm.port import Parked
    from perdure.model import Backup, BackupRestored
    from perdure.providers.call import ProviderCall
    from perdure.store.hash_chain import LogEnd
    from perdure.store.sqlite.writer import SqliteWriter
    from perdure.store.stats import GenerationStats, StoreStats
    from perdure.store.transfer import LoggedLine, NamespaceExtras, VectorRow

# Of the remarks and the leases among the facts about the store.
_NOTE: Final = "note:"
_LEASE: Final = "lease:"
# Above every hash of a passage.
_LAST_HASH: Final = b"\xff" * 33
_LONG_AGO: Final = -(1 << 62)
# As SQLite reads it.
_NO_LIMIT: Final = -1
# Seconds that a writer of an index file has to notice that the file is not wanted any more.


class SqliteStore:
    """One file, or one memory of this process. Safe to use from any thread."""

    def __init__(self, file: StoreFile, pool: Pool, clock: Clock, *, threaded: bool) -> None:
        self._file = file
        self._pool = pool
        self._clock = clock
        self._ids: dict[str, int] = {}
        self._engine_recorded = False
        # The meta value and what it means, as it was last read; None when it has to be read again.
        self._serving: tuple[object, Generation | None] | None = None
        self._log_head: LogHead | None = None
        self._ledger: Ledger | None = None
        self._reserve: Reserve | None = None
        self._has_reserve = True
        self._use = SqliteUse(pool, file.identity, thread=threaded)

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str] | None,
        *,
        create: bool = True,
        busy_seconds: float = 30.0,
        clock: Clock = system_clock,
        vfs: str | None = None,
    ) -> SqliteStore:
        """None or `:memory:` is a store that is gone when it is closed. `vfs` is for tests: it has one connection."""
        file = IN_MEMORY if path is None or os.fspath(path) == MEMORY else prepare(path, create=create)
        if file.identity in fork.inherited:
            raise fork.forked()

        def open_connection(role: Role, patience: Patience) -> Database:
            return connect(file, role, patience, vfs)

        shared = file is IN_MEMORY or vfs is not None
        pool = Pool(file, open_connection, busy_seconds, shared=shared)
        store = cls(file, pool, clock, threaded=not shared)
        try:
            pool.configure(store._set_up)
            if vfs is None and file.identity is not None and not pool.read_only:
                store._log_head, store._ledger, store._reserve = LogHead(file, pool), Ledger(file), Reserve(file)
                store._reserve.keep()
                partial_files.remove_abandoned([file.path], "restoring")
            scrub.scrub_in_passing(pool, file, store._ledger, store.index_folder)
        except BaseException:
            pool.close()
            raise
        return store

    @property
    def address(self) -> str:
        return self._file.path

    @cached_property
    def index_folder(self) -> IndexFolder | None:
        return None if self._file.identity is None else IndexFolder(Path(f"{self._file.path}-index"))

    def _set_up(self, connection: Database, patience: Patience) -> None:
        version = check_schema_version(connection, self._file)
        if self._file.identity != (self._file.identity and file_identity(self._file.path)):
            raise StoreReplaced
        if self._file.identity is not None and connection.readonly("main"):
            if version != newest_schema():
                raise StoreReadOnly(f"{self._file.path} needs to be brought up to date, but cannot be written.")
            return
        set_journal(connection, choose_journal(self._file), patience)
        if version != newest_schema():
            migrate(connection, self._file)
            # Out of the log at once: a store that lost its log must not be taken for one that was never made.
            with suppress(apsw.Error):
                connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)

    @contextmanager
    def write(
        self,
        namespace: str,
        about: Sequence[About] = (),  # noqa: ARG002 - a question costs nothing here
        *,
        frees_space: bool = False,
    ) -> Generator[SqliteWriter]:
        try:
            with self.write_together([namespace]) as (writer,):
                yield writer
        except StoreFull:
            if frees_space and self._reserve is not None:
                self._reserve.release()
                self._has_reserve = False
            raise

    @contextmanager
    def write_together(
        self, namespaces: Sequence[str], *, patience: float | None = None
    ) -> Generator[Sequence[SqliteWriter]]:
        from perdure.store.sqlite.writer import SqliteWriter

        with self._pool.writing(patience) as connection:
            if not self._engine_recorded:
                self._record_engine(connection)
            unwritten = self._use.unwritten
            writers = [
                SqliteWriter(connection, name, self._clock, unwritten.get(name, ALL_WRITTEN)) for name in namespaces
            ]
            before = [writer.end_of_log for writer in writers]
            header = None if self._log_head is None else current_header(connection)
            try:
                yield writers
                for writer in writers:
                    writer.finish()
            finally:
                for writer in writers:
                    writer.end()
        # The commit has happened, so nothing may fail that brings the files beside the store up to date.
        for writer, end in zip(writers, before, strict=True):
            if self._serving is not None and self._serving[0] != writer.serving:
                self._serving = None
            if writer.erased and self._ledger is not None:
                # What is not noted now is noted by the scrub, which the erasure has asked for.
                with suppress(OSError):
                    self._ledger.append(writer.erased)
                point("erase: noted")
            if self._reserve is not None and not self._has_reserve:
                self._has_reserve = self._reserve.keep()
            if self._log_head is not None:
                self._log_head.note(header, writer.namespace_id, end, writer.end_of_log)

    def _record_engine(self, connection: Database) -> None:
        """Note the SQLite version with the first write, for doctor: some versions may not share a store with others."""
        from perdure.store.sqlite.doctor.environment import running_engine

        engine = running_engine()
        self._engine_recorded = connection.execute(SQL["get_meta"], ("engine",)).get == engine
        if not self._engine_recorded:
            # Whether it is committed shows the next write.
            connection.execute(SQL["change_meta"], ("engine", engine))

    @contextmanager
    def read(self, namespace: str) -> Generator[SqliteReader]:
        with self._pool.reading() as connection:
            unwritten = self._use.unwritten.get(namespace, ALL_WRITTEN)
            reader = SqliteReader(connection, self._id(connection, namespace), namespace, unwritten)
            try:
                yield reader
            finally:
                reader.end()

    def position(self, namespace: str, generation: Generation | None) -> Position:
        with self._pool.reading() as connection:
            rows = connection.execute(SQL["position"], (namespace,)).fetchall()
        if not rows:
            return Position()
        seq, vector, repairs, head, serving = rows[0]
        if self._serving is not None and self._serving[0] != serving:
            self._serving = None
        return Position(seq, vector if generation else 0, repairs, head)

    def index_rows(
        self,
        namespace: str,
        generation: Generation | None,
        after: int,
        limit: int,
        *,
        with_triggers: bool = False,
        categories: Sequence[str] = (),
        vectors: bool = True,
    ) -> Sequence[IndexRow]:
        with self._pool.reading() as connection:
            return index_feed.index_rows(
                connection, self._id(connection, namespace), generation, after, limit, with_triggers=with_triggers,
                categories=categories, vectors=vectors,
            )  # fmt: skip

    def index_changes(self, namespace: str, generation: Generation | None, since: Position) -> IndexChanges:
        with self._pool.reading() as connection:
            return index_feed.index_changes(connection, self._id(connection, namespace), generation, since)

    def use_counts(self, namespace: str, numbers: Sequence[int] | None = None) -> Sequence[UseCount]:
        with self._pool.reading() as connection:
            unwritten = self._use.unwritten.get(namespace, ALL_WRITTEN)
            return index_feed.use_counts(connection, self._id(connection, namespace), numbers, unwritten)

    def pending(self, generation: Generation, limit: int, start: bytes = b"") -> list[Pending]:
        with self._pool.reading() as connection:
            return self._pending(connection, generation, limit, start)

    def _pending(self, connection: Database, generation: Generation, limit: int, start: bytes = b"") -> list[Pending]:
        generation_key = generation_id(connection, generation)
        namespaces = connection.execute(SQL["namespace_names"]).fetchall()
        passages: list[Pending] = []
        for first, last in ((start, _LAST_HASH), (b"", start)) if start else ((b"", _LAST_HASH),):
            for namespace, name in namespaces:
                bindings = {"namespace": namespace, "generation": generation_key, "first": first, "last": last}
                # No name holds the cursor: it must end before the transaction does.
                for passage_hash, slot in connection.execute(SQL["pending"], bindings):
                    if len(passages) >= limit:
                        return passages
                    if record := SqliteReader(connection, namespace, name).sound(slot):
                        passages.append(Pending(name, passage_hash, passage(record)))
        return passages

    def pending_count(self, generation: Generation) -> int:
        from perdure.store.sqlite import statistics

        with self._pool.reading() as connection:
            generation_key = generation_id(connection, generation)
            namespaces = connection.execute(SQL["namespace_names"]).fetchall()
            return sum(statistics.pending_count(connection, generation_key, namespace) for namespace, _ in namespaces)

    def serving_generation(self) -> Generation | None:
        if self._serving is None:
            with self._pool.reading() as connection:
                rows = connection.execute(SQL["serving"]).fetchall()
            key, generation = None, None
            if rows:
                key, provider, model, dimensions, version = rows[0]
                # A generation that was damaged is gone.
                generation = None if provider is None else Generation(provider, model, dimensions, version)
            self._serving = key, generation
            return generation
        return self._serving[1]

    def serve(self, generation: Generation, without: Collection[bytes] = ()) -> bool:
        from perdure.store.sqlite.models import require_generation

        with self._pool.writing() as connection:
            missing = self._pending(connection, generation, len(without) + 1)
            if any(pending.passage_hash not in without for pending in missing):
                return False
            connection.execute(SQL["change_meta"], ("serving", require_generation(connection, generation)))
        self._serving = None
        point("serve: committed")
        return True

    def generations(self) -> list[GenerationStats]:
        from perdure.store.sqlite.models import generations

        with self._pool.reading() as connection:
            return generations(connection)

    def drop_vectors(self, generation: Generation, limit: int) -> int:
        from perdure.store.sqlite.models import drop_vectors

        with self._pool.writing() as connection:
            return drop_vectors(connection, generation, limit)

    def calibration(self, generation: Generation) -> float | None:
        with self._pool.reading() as connection:
            return connection.execute(SQL["calibration"], (generation.name,)).get

    def put_calibration(self, generation: Generation, unrelated: float) -> None:
        from perdure.store.sqlite.models import require_generation

        with self._pool.writing() as connection:
            connection.execute(SQL["put_calibration"], (unrelated, require_generation(connection, generation)))

    def record_calls(self, calls: Sequence[ProviderCall]) -> None:
        self._use.note_calls(calls)

    def calls(self, since: datetime | None, limit: int | None = None) -> list[ProviderCall]:
        from perdure.store.sqlite.models import calls

        earliest = _LONG_AGO if since is None else to_micros(since)
        with self._use.unwritten_calls() as unwritten, self._pool.reading() as connection:
            written = calls(connection, earliest, _NO_LIMIT if limit is None else limit)
        newest = [call for call in reversed(unwritten) if since is None or call.at >= since]
        return sorted((*newest, *written), key=lambda call: call.at, reverse=True)[:limit]

    def calls_total(self, since: datetime) -> tuple[int, float]:
        with self._use.unwritten_calls() as unwritten, self._pool.reading() as connection:
            ((tokens, cost),) = connection.execute(SQL["calls_total"], (to_micros(since),)).fetchall()
        recent = [call for call in unwritten if call.at >= since]
        tokens += sum(call.input_tokens + call.output_tokens for call in recent)
        return tokens, cost + sum(call.cost or 0.0 for call in recent)

    def park(
        self,
        namespace: str,
        *,
        purpose: str,
        memory: int | None,
        model: str,
        error: str,
        output: str,
        attempts: int,
        at: datetime,
    ) -> Parked | None:
        from perdure.llm.port import Parked
        from perdure.store.sqlite.models import park

        parked = Parked(
            id=0, namespace=namespace, purpose=purpose, memory=memory, model=model, error=error, output=output,
            attempts=attempts, at=at,
        )  # fmt: skip
        with self._pool.writing() as connection:
            own = self._id(connection, namespace)
            if own == NO_NAMESPACE or not (memory is None or 0 < memory <= NUMBER_MASK):
                return None
            return park(connection, own, parked)

    def parked(self, namespace: str) -> list[Parked]:
        from perdure.store.sqlite.models import parked

        with self._pool.reading() as connection:
            return parked(connection, self._id(connection, namespace), namespace)

    def unpark(self, namespace: str, id: int) -> bool:
        with self._pool.writing() as connection:
            connection.execute(SQL["unpark"], (self._id(connection, namespace), id))
            return connection.changes() > 0

    def note_use(self, uses: Sequence[Use]) -> None:
        self._use.count(uses)

    def note_reviews(self, reviews: Sequence[Review]) -> None:
        self._use.note_reviews(reviews)

    def pending_reviews(self, namespace: str) -> list[Review]:
        with self._pool.reading() as connection:
            rows = connection.execute(SQL["pending_reviews"], range_of(self._id(connection, namespace)))
            return [
                Review(namespace, slot & NUMBER_MASK, rank, from_micros(first), from_micros(last))
                for slot, rank, first, last in rows
            ]

    def flush_use(self, *, patience: float) -> bool:
        """Counting use is never worth an error."""
        try:
            self._use.flush(patience=patience)
        except PerdureError:
            return False
        return True

    def namespaces(self) -> list[str]:
        with self._pool.reading() as connection:
            return [name for _, name in connection.execute(SQL["namespace_names"])]

    def due(self, now: datetime, limit: int) -> list[Record]:
        return self._sound_records(SQL["due"], {"moment": to_micros(now)}, limit)

    def purgeable(self, until: datetime, limit: int, *, by_models: bool = False) -> list[Record]:
        bindings = {"moment": to_micros(until), "by_model": None if by_models else BY_MODEL}
        return self._sound_records(SQL["purgeable"], bindings, limit)

    def _sound_records(self, sql: str, bindings: Mapping[str, int | str | None], limit: int) -> list[Record]:
        """Damaged memories are left out, and others take their place."""
        records: list[Record] = []
        with self._pool.reading() as connection:
            for name, slot in connection.execute(sql, bindings):
                if len(records) >= limit:
                    break
                if record := SqliteReader(connection, slot >> NUMBER_BITS, name).sound(slot):
                    records.append(record)
        return records

    def write_times_after(self, moment: datetime) -> list[datetime]:
        with self._pool.reading() as connection:
            return [from_micros(at) for (at,) in connection.execute(SQL["times_after"], (to_micros(moment),))]

    def note(self, name: str, namespace: str | None = None) -> str | None:
        with self._pool.reading() as connection:
            return connection.execute(SQL["get_meta"], (_note_key(name, namespace),)).get

    def put_note(self, name: str, value: str, namespace: str | None = None) -> None:
        with self._pool.writing() as connection:
            connection.execute(SQL["change_meta"], (_note_key(name, namespace), value))

    def lease(self, name: str, owner: str, seconds: float) -> bool:
        now = to_micros(self._clock())
        with self._pool.writing() as connection:
            until, _, holder = (connection.execute(SQL["get_meta"], (_LEASE + name,)).get or "0 ").partition(" ")
            if holder != owner and int(until) > now:
                return False
            until = now + int(seconds * 1_000_000)
            connection.execute(SQL["change_meta"], (_LEASE + name, f"{until} {owner}"))
            return True

    def put_checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        from perdure.store.sqlite import checkpoints

        with self._pool.writing() as connection:
            return checkpoints.put_checkpoint(connection, checkpoint, self._clock)

    def checkpoints(self, namespace: str) -> list[Checkpoint]:
        from perdure.store.sqlite import checkpoints

        with self._pool.reading() as connection:
            return checkpoints.checkpoints(connection, self._id(connection, namespace))

    def delete_checkpoint(self, namespace: str | None, name: str) -> bool:
        from perdure.store.sqlite import checkpoints

        with self._pool.writing() as connection:
            own = checkpoints.EVERYTHING if namespace is None else self._id(connection, namespace)
            if namespace is not None and own == NO_NAMESPACE:
                return False
            connection.execute(SQL["delete_checkpoint"], (own, name))
            return connection.changes() > 0

    def stats(self, generation: Generation | None) -> StoreStats:
        from perdure.store.sqlite import statistics
        from perdure.store.sqlite.models import generations
        from perdure.store.stats import StoreStats

        with self._pool.reading() as connection:
            generation_key = (
                generation_id(connection, generation) if generation else statistics.serving_generation(connection)
            )
            return StoreStats(
                address=self.address,
                engine=f"SQLite {apsw.sqlite_lib_version()}",
                schema=newest_schema(),
                bytes=statistics.size(connection) + size_of(self._file.wal_path),
                namespaces=statistics.namespace_statistics(connection, generation_key),
                generations=tuple(generations(connection)),
            )

    def check(self) -> Iterator[Finding]:
        from perdure.store.sqlite.doctor import check

        return check.check(self._pool, self._file, self._log_head)

    def repair(self) -> Iterator[Finding]:
        from perdure.store.sqlite.doctor import repair

        yield from repair.repair(self._pool)
        if self._log_head is not None:
            yield from self._log_head.accept()

    def scrub(self, *, patience: float) -> Scrubbed:
        return Scrubbed(scrub.scrub(self._pool, self._file, self._ledger, self.index_folder, patience))

    def backup(self, path: str, progress: Progress | None = None, *, overwrite: bool = False) -> Backup:
        from perdure.store.sqlite.backup import create

        return create.backup(self._pool, self._file, path, self._clock, overwrite=overwrite, progress=progress)

    def restore_backup(
        self, path: str, *, keep: bool, erased: str | None = None, progress: Progress | None = None
    ) -> BackupRestored:
        from perdure.store.sqlite.backup import restore

        if self._file.identity is not None and self._log_head is None:
            raise StoreReadOnly(f"{self._file.path} cannot be written.")
        target = restore.RestoreTarget(self._pool, self._file, self._log_head, self._ledger, self._clock)
        try:
            return restore.restore_backup(target, path, keep=keep, erased=erased, progress=progress)
        finally:
            self._use.clear()
            self._ids.clear()
            self._engine_recorded = False
            self._serving = None
            # They are of another log now; what they hold may have been erased since the backup was made.
            with suppress(OSError):
                if self.index_folder is not None:
                    self.index_folder.clear()

    def log_end(self, namespace: str) -> LogEnd | None:
        from perdure.store.sqlite import transfer

        with self._pool.reading() as connection:
            return transfer.log_end(connection, self._id(connection, namespace))

    def logged_lines(self, namespace: str, after: int, limit: int) -> list[LoggedLine]:
        from perdure.store.sqlite import transfer

        with self._pool.reading() as connection:
            return transfer.logged_lines(connection, self._id(connection, namespace), after, limit)

    def extras(self, namespace: str) -> NamespaceExtras:
        from perdure.store.sqlite import transfer

        checkpoints = self.checkpoints(namespace)
        with self._pool.reading() as connection:
            return transfer.extras(connection, self._id(connection, namespace), namespace, checkpoints)

    def vector_rows(self, namespace: str, generation: Generation, after: int, limit: int) -> list[VectorRow]:
        from perdure.store.sqlite import transfer

        with self._pool.reading() as connection:
            return transfer.vector_rows(connection, self._id(connection, namespace), generation, after, limit)

    def receiving(self, namespace: str) -> AbstractContextManager[SqliteWriter]:
        return self.write(namespace)

    def copy_checkpoint(self, checkpoint: Checkpoint) -> None:
        from perdure.store.sqlite import transfer

        with self._pool.writing() as connection:
            transfer.copy_checkpoint(connection, checkpoint)

    def close(self) -> None:
        self._use.close()
        scrub.scrub_in_passing(self._pool, self._file, self._ledger, self.index_folder)
        self._pool.close()

    def remove_if_unused(self) -> bool:
        """Remove the file, and close, if nothing was ever stored in it and nobody else has it open. True when it is
        gone.
        """
        from perdure.store.sqlite.unused import remove_if_unused

        self._use.close()
        try:
            return remove_if_unused(self._pool, self._file)
        finally:
            self._pool.close()

    def _id(self, connection: Database, namespace: str) -> int:
        """The id of a namespace; NO_NAMESPACE when there is none. Ids never change, so they are remembered."""
        namespace_id = self._ids.get(namespace)
        if namespace_id is None:
            namespace_id = connection.execute(SQL["namespace_id"], (namespace,)).get or NO_NAMESPACE
            # Inside a transaction of our own a new namespace may still be taken back.
            if namespace_id != NO_NAMESPACE and not self._pool.is_writing(connection):
                self._ids[namespace] = namespace_id
        return namespace_id


def _note_key(name: str, namespace: str | None) -> str:
    return f"{_NOTE}{name}" if namespace is None else f"{_NOTE}{name} {namespace}"
