"""One connection: how it is opened, how long it waits for others, and what it may do."""

from __future__ import annotations

import itertools
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import Final, Literal, TypeAlias, cast

import apsw

from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.file import MEMORY, StoreFile, can_write
from perdure.store.sqlite.filesystem import is_local
from perdure.store.sqlite.sql import SQL

Journal: TypeAlias = Literal["wal", "delete", "truncate"]
Role: TypeAlias = Literal["write", "read"]

WAL_LIMIT: Final = 64 * 1024 * 1024

# Engines that may write ahead: below the floor, a reset of the log during a checkpoint can damage the file.
_SAFE_ENGINE: Final = 3_051_003
# Lines that got the repair ported back: from the first number on, below the second.
_REPAIRED: Final = ((3_050_007, 3_051_000), (3_044_006, 3_045_000))

# Waits that grow, as SQLite's own do, starve the process that has waited longest; short random ones are fair.
_MIN_WAIT_SECONDS: Final = 0.0002
_MAX_WAIT_SECONDS: Final = 0.002
RECENT: Final = 0.1


class Patience:
    """A busy handler: asks again after a short random sleep, until `seconds` are over."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._deadline = 0.0
        self.waited_at = -RECENT

    def __call__(self, attempts: int) -> bool:
        now = time.monotonic()
        if attempts == 0:
            self._deadline = now + self.seconds
        if now >= self._deadline:
            return False
        self.waited_at = now
        pause()
        return True


def connect(file: StoreFile, role: Role, patience: Patience, vfs: str | None = None) -> Database:
    """A connection with every setting but the journal's, which a new file gets only once it is known to be ours."""
    if file.path == MEMORY:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_MEMORY
    else:
        access = apsw.SQLITE_OPEN_READWRITE if can_write(file.path) else apsw.SQLITE_OPEN_READONLY
        flags = access | apsw.SQLITE_OPEN_NOFOLLOW
    connection = apsw.Connection(file.path, flags, vfs)
    connection.set_busy_handler(patience)
    # Shadow tables and the schema cannot be edited by a slip of ours; "x" is a name, never a string.
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DML, 0)
    connection.config(apsw.SQLITE_DBCONFIG_DQS_DDL, 0)
    # One plan for all values: else a statement is prepared anew for each, which costs a third of a write.
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
    database = cast("Database", connection)
    if vfs is not None:
        run(database, SQL["sole_owner"])
    run(database, SQL["settings"])
    if role == "read":
        run(database, SQL["read_only"])
    return database


def deny_all(database: Database) -> None:
    """No statement of this connection may run any more, nor what it has prepared."""

    def deny(*_: object) -> int:
        return apsw.SQLITE_DENY

    cast("apsw.Connection", database).set_authorizer(deny)


def choose_journal(file: StoreFile) -> Journal:
    safe = engine_is_safe(version_number(apsw.sqlite_lib_version()))
    return "wal" if safe and is_local(file.file_system) else "delete"


def set_journal(database: Database, journal: Journal, patience: Patience) -> None:
    """SQLite does not always ask the busy handler when the mode changes, so we ask again ourselves."""
    if database.pragma("journal_mode") in (journal, "memory"):
        return
    for attempt in itertools.count():
        try:
            database.pragma("journal_mode", journal)
        except apsw.BusyError:
            if not patience(attempt):
                raise
        else:
            return


@contextmanager
def exclusive(database: Database, patience: Patience) -> Generator[None]:
    """While no other connection, of any process, has the file open; an apsw.BusyError when one has.

    SQLite leaves the write-ahead log only for a connection that is alone, and in its exclusive locking mode the lock is
    kept from then on. Where there is no write-ahead log, a connection that does nothing does not count as open.
    """
    journal: Journal = database.pragma("journal_mode")
    try:
        database.pragma("locking_mode", "exclusive")
        # Truncated at the commit, so that nothing is left of the old pages.
        set_journal(database, "truncate", patience)
        run(database, SQL["begin_exclusive"])
        run(database, SQL["commit"])
        # Without a write-ahead log SQLite judges its page cache by a counter that commits to that log do not advance:
        # pages read before other processes wrote would pass for current ones.
        database.pragma("shrink_memory")
        yield
    finally:
        with suppress(apsw.Error):
            database.pragma("locking_mode", "normal")
            if database.pragma("journal_mode") == "truncate":
                # Removes the empty journal, and lets go of the lock.
                set_journal(database, "delete", patience)
                set_journal(database, journal, patience)


def pause() -> None:
    from random import uniform

    time.sleep(uniform(_MIN_WAIT_SECONDS, _MAX_WAIT_SECONDS))  # noqa: S311


def engine_is_safe(version_number: int) -> bool:
    """`version_number` as SQLite counts: 3.51.3 is 3051003."""
    return version_number >= _SAFE_ENGINE or any(first <= version_number < end for first, end in _REPAIRED)


def version_number(version: str) -> int:
    """3.51.3 as 3051003."""
    major, minor, patch = (int(part) for part in version.split(".")[:3])
    return major * 1_000_000 + minor * 1_000 + patch
