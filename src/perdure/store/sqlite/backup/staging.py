"""A database of ours that nobody else uses: a copy, before it gets its name or its place."""

from __future__ import annotations

import itertools
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final, cast

import apsw

from perdure.buggify import point
from perdure.errors import BackupFailed
from perdure.store.port import Progress
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.connection import Patience, Role, connect, set_journal
from perdure.store.sqlite.doctor.check import check_content
from perdure.store.sqlite.file import Place, identity_of
from perdure.store.sqlite.filesystem import detect_file_system
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL

# Small enough that others are let in between, large enough that a store of a gigabyte takes a few hundred.
PAGES: Final = 1024
_SECONDS: Final = 30.0


@contextmanager
def opened(path: str) -> Generator[tuple[Place, Pool]]:
    """One connection, which nobody shares."""
    place = Place(path, identity_of(path), detect_file_system(path))

    def open_connection(role: Role, patience: Patience) -> Database:
        return connect(place, role, patience)

    pool = Pool(place, open_connection, _SECONDS, shared=True)
    try:
        yield place, pool
    finally:
        pool.close()


def stand_alone(pool: Pool) -> None:
    """Without a write-ahead log: when it is closed, there is one file."""
    pool.configure(lambda connection, patience: set_journal(connection, "delete", patience))


def copy_pages(target: Database, source: Database, progress: Progress | None) -> None:
    with apsw_backup(target, source) as steps:
        advance(steps, progress, "backup: copying")


def advance(steps: apsw.Backup, progress: Progress | None, label: str) -> None:
    """The last step commits."""
    while not steps.done:
        steps.step(PAGES)
        if progress is not None:
            progress(steps.page_count - steps.remaining, steps.page_count)
        point(label)


def lock(steps: apsw.Backup, patience: Patience) -> None:
    """Nobody else writes to the target from here on. SQLite does not always ask the busy handler, so we ask again."""
    for attempt in itertools.count():
        try:
            steps.step(0)
        except apsw.BusyError:
            if not patience(attempt):
                raise
        else:
            return


def apsw_backup(target: Database, source: Database) -> apsw.Backup:
    return cast("apsw.Connection", target).backup("main", cast("apsw.Connection", source), "main")


def damage_of(pool: Pool) -> str | None:
    """What is wrong with it, in one sentence."""
    problems = (finding.sentence for finding in check_content(pool) if finding.level == "problem")
    return next(problems, None)


def contents(pool: Pool) -> tuple[int, int]:
    """How many memories and how many changes."""
    with pool.reading() as connection:
        ((memories, revisions),) = connection.execute(SIDECAR_SQL["contents"]).fetchall()
        return memories, revisions


def failed(error: OSError, path: str) -> BackupFailed:
    return BackupFailed(f"{path}: {error.strerror or error}.")
