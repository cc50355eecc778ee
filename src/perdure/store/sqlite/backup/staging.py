"""The staging copy: a whole database of this process alone, before it becomes a backup or goes into the store."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final, cast

from perdure.buggify import point
from perdure.errors import BackupFailed
from perdure.store.port import Progress
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.connection import Patience, Role, connect, set_journal
from perdure.store.sqlite.file import StoreFile, file_identity
from perdure.store.sqlite.filesystem import detect_file_system
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL

if TYPE_CHECKING:
    import apsw

# Small enough that others are let in between, large enough that a store of a gigabyte takes a few hundred.
PAGES: Final = 1024
_SECONDS: Final = 30.0


@contextmanager
def opened(path: str) -> Generator[tuple[StoreFile, Pool]]:
    """The file and a pool with a single connection to it."""
    file = StoreFile(path, file_identity(path), detect_file_system(path))

    def open_connection(role: Role, patience: Patience) -> Database:
        return connect(file, role, patience)

    pool = Pool(file, open_connection, _SECONDS, shared=True)
    try:
        yield file, pool
    finally:
        pool.close()


def leave_wal(pool: Pool) -> None:
    """Without a write-ahead log the database is one file."""
    pool.configure(lambda connection, patience: set_journal(connection, "delete", patience))


def copy_pages(target: Database, source: Database, progress: Progress | None, label: str) -> None:
    """All pages, in one transaction of the target's: the last step commits."""
    with cast("apsw.Connection", target).backup("main", cast("apsw.Connection", source), "main") as steps:
        while not steps.done:
            steps.step(PAGES)
            if progress is not None:
                progress(steps.page_count - steps.remaining, steps.page_count)
            point(label)


def damage_of(pool: Pool) -> str | None:
    """The sentence of the first problem that doctor finds."""
    from perdure.store.sqlite.doctor.check import check_content

    problems = (finding.sentence for finding in check_content(pool) if finding.level == "problem")
    return next(problems, None)


def counts(pool: Pool) -> tuple[int, int]:
    """The number of memories and of log entries."""
    with pool.reading() as connection:
        ((memories, revisions),) = connection.execute(SIDECAR_SQL["contents"]).fetchall()
        return memories, revisions


def failed(error: OSError, path: str) -> BackupFailed:
    return BackupFailed(f"{path}: {error.strerror or error}.")
