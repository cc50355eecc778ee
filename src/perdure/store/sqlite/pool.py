"""The connections of one open store: one that writes, and as many that read as there are readers at a time."""

from __future__ import annotations

import errno
import threading
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager, suppress
from typing import Final, TypeAlias

import apsw

from perdure.buggify import point
from perdure.errors import (
    Conflict,
    InvalidInput,
    PerdureError,
    StoreBusy,
    StoreClosed,
    StoreDamaged,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
    StoreReplaced,
    StoreUnreadable,
)
from perdure.store.sqlite import fork
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.connection import RECENT, Patience, Role, deny_all, exclusive, pause
from perdure.store.sqlite.file import FileIdentity, StoreFile, can_write, file_identity
from perdure.store.sqlite.sql import SQL

_BY_FORCE: Final = True
_ALONE_SECONDS: Final = 2.0
_OPEN_ELSEWHERE: Final = "Another process, or another Memory object of this process, has the store open."
_CLOSE_OTHERS: Final = "Close every other program that uses the store, then try again; the store is as it was."
_BEGIN_READ: Final = SQL["begin_read"]
_BEGIN_WRITE: Final = SQL["begin_write"]
_COMMIT: Final = SQL["commit"]
_ROLLBACK: Final = SQL["rollback"]

ErrorFactory: TypeAlias = Callable[[Exception, StoreFile], PerdureError]

_NO_SPACE: Final = (errno.ENOSPC, errno.EDQUOT)

_TRANSLATIONS: Final[tuple[tuple[type[Exception], ErrorFactory], ...]] = (
    (apsw.BusyError, lambda _, __: StoreBusy()),
    (apsw.LockedError, lambda _, __: StoreBusy()),
    (apsw.FullError, lambda _, __: StoreFull()),
    (apsw.ReadOnlyError, lambda _, file: _read_only(file)),
    (apsw.CorruptError, lambda error, file: StoreDamaged(f"{file.path} is damaged: {error}.")),
    (UnicodeDecodeError, lambda error, file: StoreDamaged(f"{file.path} is damaged: {error}.")),
    (apsw.NotADBError, lambda _, file: StoreForeign(f"{file.path} is not a Perdure store, nor any database.")),
    (apsw.ConnectionClosedError, lambda _, __: StoreClosed()),
    # Only a connection that was inherited through a fork is denied anything.
    (apsw.AuthError, lambda _, __: fork.forked()),
    (apsw.ConstraintError, lambda error, _: Conflict(f"That contradicts what is stored: {error}.")),
    (apsw.TooBigError, lambda _, __: InvalidInput("A value is too large to be stored.")),
    (OverflowError, lambda _, __: InvalidInput("A value is too large to be stored.")),
    (UnicodeEncodeError, lambda _, __: InvalidInput("Half of a surrogate pair cannot be stored as text.")),
)
_OF_THE_DRIVER: Final = (apsw.Error, UnicodeError, OverflowError)
_SYSTEM: Final = (apsw.CantOpenError, apsw.IOError, apsw.PermissionsError)

# Inherited through a fork, and never closed by this process: see fork.py.
_inherited: Final[list[Database]] = []


class Pool:
    """`connect` opens a connection in a role. With `shared`, one connection does everything, one thread at a time."""

    def __init__(
        self, file: StoreFile, connect: Callable[[Role, Patience], Database], seconds: float, *, shared: bool
    ) -> None:
        self._file = file
        self._wal_path = file.wal_path
        self._connect = connect
        self._seconds = seconds
        self._patience = Patience(seconds)
        self._shared = shared
        self._turn = threading.RLock()
        self._writing = False
        self._writer: Database | None = None
        self._writer_uses = 0
        self._wal: FileIdentity | None = None
        self._gate = threading.Lock()
        self._idle: list[Database] = []
        self._borrowed = 0
        self._closed = False
        # A store in memory is simply another store in a child.
        if file.identity is not None:
            fork.watch(self)

    @contextmanager
    def reading(self, *, fresh: bool = False) -> Generator[Database]:
        """A connection of one's own, in a transaction that sees one moment; with `fresh`, one that has not read
        anything yet. Where one connection is shared, its lock takes the place of the transaction.
        """
        if self._shared:
            with self.maintaining(nested=True) as connection:
                yield connection
            return
        with self._gate:
            self._require_usable()
            self._borrowed += 1
            connection = self._idle.pop() if self._idle and not fresh else None
        reusable = False
        try:
            if connection is None:
                connection = self._connect("read", Patience(self._seconds))
            connection.execute(_BEGIN_READ)
            yield connection
            connection.execute(_COMMIT)
            reusable = not fresh
        except _OF_THE_DRIVER as error:
            raise _translated(error, self._file, connection) from error
        finally:
            if self._file.identity in fork.inherited:
                _inherited.extend([connection] if connection else [])
            else:
                if connection is not None and not reusable:
                    # A cursor may still be held by a traceback; closing by force ends its read transaction.
                    connection.close(_BY_FORCE)
                with self._gate:
                    if connection is not None and reusable:
                        if self._closed:
                            connection.close(_BY_FORCE)
                        else:
                            self._idle.append(connection)
                    # Last: a fork between two of these lines must find the connection in one place or the other.
                    self._borrowed -= 1

    @contextmanager
    def writing(self, patience: float | None = None, *, keep: bool = True) -> Generator[Database]:
        """One transaction. It is committed on leaving, or nothing of it happened. Without `keep`, nothing ever does."""
        with self.maintaining(patience) as connection:
            if self._file.identity is not None and connection.readonly("main"):
                raise _read_only(self._file)
            connection.execute(_BEGIN_WRITE)
            if self._wal is None and self._file.identity is not None:
                self._wal = file_identity(self._wal_path)
            self._writing = True
            try:
                yield connection
                if keep:
                    # What is acknowledged must be found by others: neither the file nor its log may be taken away.
                    self._require_usable(wal=self._wal)
                    point("before commit")
                    connection.execute(_COMMIT)
                else:
                    self._roll_back(connection)
            except BaseException:
                self._roll_back(connection)
                raise
            finally:
                self._writing = False
            point("after commit")
        # A process that had to wait a moment ago knows of others, and lets them go first.
        if time.monotonic() - self._patience.waited_at < RECENT:
            pause()

    @contextmanager
    def maintaining(self, patience: float | None = None, *, nested: bool = False) -> Generator[Database]:
        """The writing connection outside any transaction, for what SQLite does in none. One thread at a time uses it.
        With `nested` it may be in a transaction of this thread, and other threads wait for ever.
        """
        seconds = self._seconds if patience is None else patience
        turn = self._turn
        if not turn.acquire(timeout=-1 if nested else seconds):
            raise StoreBusy("Another thread held the store for too long.")
        # Counted before the connection is opened, so that a fork sees it.
        self._writer_uses += 1
        connection: Database | None = None
        try:
            self._require_usable()
            if self._writer is None:
                self._writer = self._connect("write", self._patience)
                self._wal = None
            connection = self._writer
            if not nested:
                if self._writing:
                    raise RuntimeError("a write transaction cannot begin inside another one")
                self._patience.seconds = seconds
            yield connection
        except _OF_THE_DRIVER as error:
            raise _translated(error, self._file, connection) from error
        finally:
            self._writer_uses -= 1
            turn.release()

    @contextmanager
    def alone(self) -> Generator[Database]:
        """The writing connection while no other connection, of any process, has the file open; StoreBusy when one has.
        Meanwhile it serves every call of this pool.
        """
        with self.maintaining() as connection:
            if self._file.identity is None:
                yield connection
                return
            with ExitStack() as stack:
                try:
                    with self._gate:
                        while self._idle:
                            self._idle.pop().close(_BY_FORCE)
                        self._shared = True
                    stack.enter_context(exclusive(connection, Patience(min(self._seconds, _ALONE_SECONDS))))
                    yield connection
                except apsw.BusyError as error:
                    raise StoreBusy(_OPEN_ELSEWHERE, remedy=_CLOSE_OTHERS) from error
                finally:
                    # The write-ahead log is a new file.
                    self._shared, self._wal = False, None

    def _require_usable(self, *, wal: FileIdentity | None = None) -> None:
        """What is written must reach the file that others open by this path, and what is read must come from it."""
        path, identity = self._file.path, self._file.identity
        if identity in fork.inherited:
            raise fork.forked()
        if self._closed:
            raise StoreClosed("This store has been closed.")
        if identity is not None and file_identity(path) != identity:
            raise StoreReplaced(f"{path} was moved, replaced or deleted while it was open.")
        if wal is not None and file_identity(self._wal_path) != wal:
            raise StoreReplaced(f"{self._wal_path} was deleted or replaced while the store was open.")

    @property
    def read_only(self) -> bool:
        with self.maintaining(nested=True) as connection:
            return self._file.identity is not None and connection.readonly("main")

    def is_writing(self, connection: Database) -> bool:
        return self._writing and connection is self._writer

    def configure(self, set_up: Callable[[Database, Patience], None]) -> None:
        """What has to be done on the writing connection outside any transaction, once, when the store is opened."""
        with self.maintaining(nested=True) as connection:
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

    def holds(self, identity: FileIdentity) -> bool:
        return not self._closed and self._file.identity == identity

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
        connections = [*self._idle, *([self._writer] if self._writer else [])]
        _inherited.extend(connections)
        self._idle, self._writer, self._writing, self._closed = [], None, False, True
        if self._file.identity is not None:
            fork.inherited.add(self._file.identity)
        for connection in connections:
            # A connection in which a thread of the parent was working is locked here for ever: nothing can use it.
            with suppress(apsw.Error):
                deny_all(connection)

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

    def _close_all(self) -> None:
        for connection in (*self._idle, *([self._writer] if self._writer else [])):
            with suppress(apsw.Error):
                connection.close(_BY_FORCE)
        self._idle, self._writer = [], None


def _translated(error: Exception, file: StoreFile, connection: Database | None) -> PerdureError:
    """The driver's exception as our own. Nothing above the store ever sees an exception of apsw."""
    if not isinstance(error, _SYSTEM):
        matching = (make(error, file) for kind, make in _TRANSLATIONS if isinstance(error, kind))
        return next(matching, StoreError(f"SQLite refused: {error}."))
    system_error = 0
    with suppress(apsw.ConnectionClosedError):
        system_error = connection.system_errno if connection else 0
    if system_error in _NO_SPACE:
        return StoreFull()
    if system_error == errno.EROFS or _is_closed(file):
        return _read_only(file)
    if isinstance(error, apsw.CantOpenError):
        return StoreUnreadable(f"{file.path} cannot be opened: {error}.")
    return StoreError(
        f"Reading or writing {file.path} failed: {error}.",
        remedy="Check the disk, then try again; everything reported as stored is safe.",
    )


def _is_closed(file: StoreFile) -> bool:
    return file.identity is not None and not can_write(file.directory)


def _read_only(file: StoreFile) -> StoreReadOnly:
    if not _is_closed(file):
        # SQLite opened it for reading only, and stays with that.
        reopen = "It may be written now: open it again." if can_write(file.path) else None
        return StoreReadOnly(f"{file.path} cannot be written.", remedy=reopen)
    return StoreReadOnly(
        f"{file.path} is in a directory that cannot be written, and SQLite needs its side files there.",
        remedy=f"Give yourself write permission on {file.directory}, or copy the store to another directory.",
    )
