"""The connections of one open store: one that writes, and as many that read as there are readers at a time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from typing import Final

import apsw

from perdure.buggify import point
from perdure.errors import StoreBusy, StoreClosed, StoreReadOnly, StoreReplaced
from perdure.store.sqlite import fork
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.connection import Patience, Role, deny_all
from perdure.store.sqlite.failure import translating
from perdure.store.sqlite.file import Identity, Place, identity_of
from perdure.store.sqlite.sql import SQL

_BY_FORCE: Final = True
_BEGIN_READ: Final = SQL["begin_read"]
_BEGIN_WRITE: Final = SQL["begin_write"]
_COMMIT: Final = SQL["commit"]
_ROLLBACK: Final = SQL["rollback"]

# Inherited through a fork, and never closed by this process: see fork.py.
_inherited: Final[list[Database]] = []


class Pool:
    """`connect` opens a connection in a role. With `shared`, one connection does everything, one thread at a time."""

    def __init__(
        self, place: Place, connect: Callable[[Role, Patience], Database], seconds: float, *, shared: bool
    ) -> None:
        self._place = place
        self._connect = connect
        self._seconds = seconds
        self._patience = Patience(seconds)
        self._shared = shared
        self._turn = threading.RLock()
        self._writing = False
        self._writer: Database | None = None
        self._writer_uses = 0
        self._log: Identity | None = None
        self._gate = threading.Lock()
        self._idle: list[Database] = []
        self._borrowed = 0
        self._closed = False
        # A store in memory is simply another store in a child.
        if place.identity is not None:
            fork.watch(self)

    @contextmanager
    def reading(self, *, fresh: bool = False) -> Generator[Database]:
        """A connection of one's own for a moment; with `fresh`, one that has not read anything yet."""
        if self._shared:
            with self._turn, self._use_of_writer() as connection:
                yield connection
            return
        connection = self._borrow(fresh=fresh)
        sound = False
        try:
            with translating(self._place, connection):
                yield connection
            sound = True
        finally:
            self._give_back(connection, sound=sound and not fresh)

    @contextmanager
    def snapshot(self) -> Generator[Database]:
        """Several statements that see one moment. Where one connection is shared, its lock alone is enough."""
        with self.reading() as connection:
            if self._shared:
                yield connection
                return
            connection.execute(_BEGIN_READ)
            try:
                yield connection
            finally:
                with suppress(apsw.Error):
                    connection.execute(_COMMIT)

    @contextmanager
    def writing(self, patience: float | None = None, *, keep: bool = True) -> Generator[Database]:
        """One transaction. It is committed on leaving, or nothing of it happened. Without `keep`, nothing ever does."""
        seconds = self._seconds if patience is None else patience
        with self._own_turn(seconds, "a write transaction cannot begin inside another one") as connection:
            self._begin(connection, seconds)
            yield from self._transaction(connection, keep=keep)
            point("after commit")
        self._patience.give_way()

    @contextmanager
    def maintaining(self, patience: float | None = None) -> Generator[Database]:
        """The writing connection outside any transaction, for what SQLite does in none."""
        seconds = self._seconds if patience is None else patience
        with self._own_turn(seconds, "a store cannot be maintained inside a write transaction") as connection:
            self._patience.seconds = seconds
            yield connection

    @contextmanager
    def _own_turn(self, seconds: float, refusal: str) -> Generator[Database]:
        """The writing connection, of which one thread at a time makes use."""
        turn = self._turn
        if not turn.acquire(timeout=seconds):
            raise StoreBusy("Another thread held the store for too long.")
        try:
            if self._writing:
                raise RuntimeError(refusal)
            with self._use_of_writer() as connection:
                yield connection
        finally:
            turn.release()

    @contextmanager
    def _use_of_writer(self) -> Generator[Database]:
        """For whoever has the turn. Counted before the connection is opened, so that a fork sees it."""
        self._writer_uses += 1
        try:
            connection = self._open_writer()
            with translating(self._place, connection):
                yield connection
        finally:
            self._writer_uses -= 1

    @property
    def read_only(self) -> bool:
        with self._turn, self._use_of_writer() as connection:
            return self._place.identity is not None and connection.readonly("main")

    def is_writing(self, connection: Database) -> bool:
        return self._writing and connection is self._writer

    def configure(self, set_up: Callable[[Database, Patience], None]) -> None:
        """What has to be done on the writing connection outside any transaction, once, when the store is opened."""
        with self._turn, self._use_of_writer() as connection:
            set_up(connection, self._patience)

    def close(self) -> None:
        """Waits for the transaction that is being written; readers close theirs when they come back."""
        with self._turn, self._gate:
            if self._writing:
                raise RuntimeError("a store cannot be closed inside a write transaction")
            if self._closed:
                return
            self._closed = True
            if self._writer is not None and not self._shared:
                with suppress(apsw.Error):
                    self._writer.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_PASSIVE)
            self._close_all()

    def holds(self, identity: Identity) -> bool:
        return not self._closed and self._place.identity == identity

    def before_fork(self) -> None:
        """Close the connections, unless one of them is in use."""
        if not self._turn.acquire(blocking=False):
            return
        try:
            with self._gate:
                if not self._writer_uses and not self._borrowed:
                    self._close_all()
        finally:
            self._turn.release()

    def after_fork_in_child(self) -> None:
        """What is still open, or was just being opened, is the parent's. The locks may be held by threads that do not
        exist here.
        """
        self._turn, self._gate = threading.RLock(), threading.Lock()
        if self._writer is None and not (self._writer_uses or self._idle or self._borrowed):
            return
        for connection in (*self._idle, *([self._writer] if self._writer else [])):
            deny_all(connection)
            _inherited.append(connection)
        self._idle, self._writer, self._writing, self._closed = [], None, False, True
        if self._place.identity is not None:
            fork.inherited.add(self._place.identity)

    def _transaction(self, connection: Database, *, keep: bool) -> Generator[Database]:
        self._writing = True
        try:
            yield connection
            if not keep:
                self._roll_back(connection)
                return
            self._check_open()
            self._verify()
            point("before commit")
            connection.execute(_COMMIT)
        except BaseException:
            self._roll_back(connection)
            raise
        finally:
            self._writing = False

    def _borrow(self, *, fresh: bool) -> Database:
        with self._gate:
            self._check_open()
            self._place.verify()
            self._borrowed += 1
            connection = self._idle.pop() if self._idle and not fresh else None
        if connection is None:
            try:
                with translating(self._place):
                    connection = self._connect("read", Patience(self._seconds))
            except BaseException:
                with self._gate:
                    self._borrowed -= 1
                raise
        return connection

    def _give_back(self, connection: Database, *, sound: bool) -> None:
        if self._place.identity in fork.inherited:
            _inherited.append(connection)
            return
        keep = sound and not connection.in_transaction
        if not keep:
            # A cursor may still be held by a traceback; closing by force ends its read transaction.
            connection.close(_BY_FORCE)
        with self._gate:
            if keep and self._closed:
                connection.close(_BY_FORCE)
            elif keep:
                self._idle.append(connection)
            # Last: a fork between two of these lines must find the connection in one place or the other.
            self._borrowed -= 1

    def _open_writer(self) -> Database:
        self._check_open()
        if self._writer is None:
            with translating(self._place):
                self._writer = self._connect("write", self._patience)
            self._log = None
        return self._writer

    def _begin(self, connection: Database, seconds: float) -> None:
        if self._place.identity is not None and connection.readonly("main"):
            raise StoreReadOnly(f"{self._place.path} cannot be written.")
        self._patience.seconds = seconds
        connection.execute(_BEGIN_WRITE)
        if self._log is None and self._place.identity is not None:
            self._log = identity_of(self._place.log)

    def _verify(self) -> None:
        """Neither the file nor its log may have been taken away: what is acknowledged must be found by others."""
        self._place.verify()
        if self._log is not None and identity_of(self._place.log) != self._log:
            raise StoreReplaced(f"{self._place.log} was deleted or replaced while the store was open.")

    def _roll_back(self, connection: Database) -> None:
        if connection is not self._writer:
            return  # It belongs to the process that this one was forked from.
        try:
            if connection.in_transaction:
                run(connection, _ROLLBACK)
        except apsw.Error:
            if not self._shared:
                self._writer = None
                with suppress(apsw.Error):
                    connection.close(_BY_FORCE)

    def _check_open(self) -> None:
        if self._place.identity in fork.inherited:
            raise fork.forked()
        if self._closed:
            raise StoreClosed("This store has been closed.")

    def _close_all(self) -> None:
        for connection in (*self._idle, *([self._writer] if self._writer else [])):
            with suppress(apsw.Error):
                connection.close(_BY_FORCE)
        self._idle, self._writer = [], None
