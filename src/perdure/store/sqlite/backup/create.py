"""A copy of the whole store, made while others read and write, and checked before it gets its name."""

from __future__ import annotations

import hashlib
import json
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from perdure.buggify import point
from perdure.clock import Clock
from perdure.errors import BackupFailed, Conflict, StoreError
from perdure.remedies import Flag, Remedy, Run
from perdure.store.port import Progress
from perdure.store.sqlite import fork
from perdure.store.sqlite.apsw_types import run
from perdure.store.sqlite.backup import partial_files, staging
from perdure.store.sqlite.file import StoreFile, file_identity, sync_directory
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL
from perdure.store.sqlite.sql import SQL

if TYPE_CHECKING:
    from perdure.model import Backup

CHECKSUM: Final = ".sha256"
BACKUP_PATHS: Final = "note:backups"
_MOST_PATHS: Final = 100
_NEW_FILE: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_OWN: Final = ("", "-wal", "-shm", "-journal", "-head", "-erased", "-reserve")


def backup(
    pool: Pool, file: StoreFile, path: str, clock: Clock, *, overwrite: bool, progress: Progress | None = None
) -> Backup:
    absolute = Path(path).absolute()
    try:
        target = str(absolute.parent.resolve(strict=True) / absolute.name)
        status = os.lstat(target) if file_identity(target) is not None else None
    except (OSError, ValueError) as error:
        raise BackupFailed(f"{path}: there is no such directory.") from error
    own = {file.path + side for side in _OWN} if file.identity is not None else set[str]()
    if target in own or (status is not None and fork.is_open((status.st_dev, status.st_ino))):
        raise BackupFailed(f"{target} is a store that is in use.", remedy="Choose another place for the backup.")
    if status is not None and not stat.S_ISREG(status.st_mode):
        raise BackupFailed(f"{target} is not a regular file.", remedy="Name a file for the backup.")
    if status is not None and not overwrite:
        raise _exists(target)
    noted = note_paths(pool, target)
    made = copy_to(pool, target, clock, overwrite=overwrite, progress=progress)
    if not noted:
        note_paths(pool, target)
    return made


def copy_to(
    pool: Pool, target: str, clock: Clock, *, overwrite: bool, sound: bool = True, progress: Progress | None = None
) -> Backup:
    """Copy the store to a path that is noted already. `sound`: a copy in which doctor finds a problem is refused."""
    created_at = clock()
    try:
        with partial_files.create_partial(target, "partial") as partial:
            with staging.opened(partial) as (_, copy):
                with pool.reading() as source, copy.maintaining() as connection:
                    staging.copy_pages(connection, source, progress, "backup: copying")
                point("backup: copied")
                staging.leave_wal(copy)
                with copy.maintaining() as connection:
                    # While the store waits for its scrub, erased text may stand in the unused parts of pages.
                    if connection.execute(SQL["get_meta"], ("scrub",)).get is not None:
                        connection.execute(SIDECAR_SQL["delete_scrub"])
                        run(connection, SIDECAR_SQL["compact"])
                damage = staging.damage_of(copy) if sound else None
                if damage is not None:
                    remedy = Remedy("Run ", Run("doctor"), "; no backup was made.")
                    raise BackupFailed(f"The store is damaged: {damage}", remedy=remedy)
                memories, revisions = staging.counts(copy)
            point("backup: checked")
            with Path(partial).open("rb+") as file:
                os.fsync(file.fileno())
                digest, size = hashlib.file_digest(file, "sha256").hexdigest(), os.fstat(file.fileno()).st_size
            if not overwrite and file_identity(target) is not None:
                raise _exists(target)
            # A checksum of an earlier file would be wrong for this one.
            Path(target + CHECKSUM).unlink(missing_ok=True)
            Path(partial).replace(target)
            point("backup: named")
            # In the form that `sha256sum --check` reads.
            checksum = os.open(target + CHECKSUM, _NEW_FILE, 0o600)
            with os.fdopen(checksum, "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(f"{digest}  {Path(target).name}\n")
                file.flush()
                os.fsync(checksum)
            sync_directory(Path(target).parent)
    except OSError as error:
        raise staging.failed(error, target) from error
    from perdure.model import Backup

    return Backup(target, size, digest, memories, revisions, created_at)


def note_paths(pool: Pool, *paths: str) -> bool:
    """Note the paths of copies, newest first, so that an erasure can name the copies that still hold the erased text.

    This happens before a copy is made: a process that dies in the middle leaves a part of it. False when it failed.
    """
    with suppress(StoreError):
        with pool.writing() as connection:
            earlier = connection.execute(SQL["get_meta"], (BACKUP_PATHS,)).get
            connection.execute(SQL["change_meta"], (BACKUP_PATHS, merge_paths(json.dumps(paths), earlier)))
        return True
    return False


def noted_paths(pool: Pool) -> list[str]:
    with pool.reading() as connection:
        return _parse_paths(connection.execute(SQL["get_meta"], (BACKUP_PATHS,)).get)


def merge_paths(*notes: object) -> str:
    """One list of the paths in several, none of them twice."""
    paths = dict.fromkeys(path for note in notes for path in _parse_paths(note))
    return json.dumps([*paths][:_MOST_PATHS])


def _parse_paths(note: object) -> list[str]:
    try:
        parsed: object = json.loads(note) if isinstance(note, str) else None
    except ValueError:
        return []
    return [path for path in cast("list[object]", parsed) if isinstance(path, str)] if isinstance(parsed, list) else []


def _exists(target: str) -> Conflict:
    return Conflict(
        f"{target} exists.", remedy=Remedy("Choose another name, or replace it with ", Flag("overwrite"), ".")
    )
