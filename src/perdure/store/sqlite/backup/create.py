"""A copy of the whole store, made while others read and write, and checked before it gets its name."""

from __future__ import annotations

import json
import os
import stat
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, cast

from perdure.buggify import point
from perdure.clock import Clock
from perdure.errors import BackupFailed, Conflict, StoreError
from perdure.model import Backup
from perdure.store.port import Progress
from perdure.store.sqlite import fork
from perdure.store.sqlite.apsw_types import run
from perdure.store.sqlite.backup import partial_files, staging
from perdure.store.sqlite.file import Place, identity_of, sync_directory
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL, remove, write_all
from perdure.store.sqlite.sql import SQL

CHECKSUM: Final = ".sha256"
NOTED: Final = "note:backups"
_REMEMBERED: Final = 100
_PIECE: Final = 1 << 20
_OWN: Final = ("", "-wal", "-shm", "-journal", "-head", "-erased", "-reserve")


def backup(
    pool: Pool, place: Place, path: str, clock: Clock, *, overwrite: bool, progress: Progress | None = None
) -> Backup:
    target = _target(place, path, overwrite=overwrite)
    known = remember(pool, target)
    made = copy_to(pool, target, clock, overwrite=overwrite, progress=progress)
    if not known:
        remember(pool, target)
    return made


def copy_to(
    pool: Pool, target: str, clock: Clock, *, overwrite: bool, insist: bool = True, progress: Progress | None = None
) -> Backup:
    """To a place that is remembered already. Unless it is told not to `insist`, a copy that is not in order gets no
    name.
    """
    made_at = clock()
    try:
        with partial_files.begun(target, "partial") as partial:
            memories, revisions = _copy(pool, partial, progress, insist=insist)
            point("backup: checked")
            digest, size = _settled(partial)
            if not overwrite and identity_of(target) is not None:
                raise _exists(target)
            # A checksum of an earlier file would be wrong for this one.
            remove(target + CHECKSUM)
            Path(partial).replace(target)
            point("backup: named")
            _write_checksum(target, digest)
            sync_directory(Path(target).parent)
    except OSError as error:
        raise staging.failed(error, target) from error
    return Backup(target, size, digest, memories, revisions, made_at)


def remember(pool: Pool, *paths: str) -> bool:
    """Where copies are, newest first, so that an erasure can name those that still hold what was erased. Before the
    copy is made: whoever dies in the middle leaves a part of it. False when it could not be written down.
    """
    with suppress(StoreError):
        with pool.writing() as connection:
            known = connection.execute(SQL["get_meta"], (NOTED,)).get
            connection.execute(SQL["change_meta"], (NOTED, joined(json.dumps(paths), known)))
        return True
    return False


def remembered(pool: Pool) -> list[str]:
    with pool.reading() as connection:
        return _listed(connection.execute(SQL["get_meta"], (NOTED,)).get)


def joined(*notes: object) -> str:
    """One list of the paths in several, none of them twice."""
    paths = dict.fromkeys(path for note in notes for path in _listed(note))
    return json.dumps([*paths][:_REMEMBERED])


def hash_of(path: str) -> str:
    """Of a file that no connection of this process has open."""
    digest = sha256()
    with Path(path).open("rb") as stream:
        while piece := stream.read(_PIECE):
            digest.update(piece)
    return digest.hexdigest()


def _listed(note: object) -> list[str]:
    try:
        listed: object = json.loads(note) if isinstance(note, str) else None
    except ValueError:
        return []
    return [each for each in cast("list[object]", listed) if isinstance(each, str)] if isinstance(listed, list) else []


def _copy(pool: Pool, partial: str, progress: Progress | None, *, insist: bool) -> tuple[int, int]:
    with staging.opened(partial) as (_, copy):
        with pool.reading() as source, copy.maintaining() as target:
            staging.copy_pages(target, source, progress)
        point("backup: copied")
        staging.stand_alone(copy)
        _tidy(copy)
        damage = staging.damage_of(copy)
        if damage is not None and insist:
            raise BackupFailed(
                f"The copy is not in order: {damage}", remedy="Run `perdure doctor`; no backup was made."
            )
        return staging.contents(copy)


def _tidy(copy: Pool) -> None:
    """What was erased may still stand in the unused parts of pages when the store could not be scrubbed yet."""
    with copy.maintaining() as connection:
        if connection.execute(SQL["get_meta"], ("scrub",)).get is not None:
            connection.execute(SIDECAR_SQL["drop_meta"], ("scrub",))
            run(connection, SIDECAR_SQL["compact"])


def _target(place: Place, path: str, *, overwrite: bool) -> str:
    wanted = Path(path).absolute()
    try:
        target = str(wanted.parent.resolve(strict=True) / wanted.name)
        found = os.lstat(target) if identity_of(target) is not None else None
    except (OSError, ValueError) as error:
        raise BackupFailed(f"{path}: there is no such directory.") from error
    own = {place.path + side for side in _OWN} if place.identity is not None else set[str]()
    if target in own or (found is not None and fork.is_open((found.st_dev, found.st_ino))):
        raise BackupFailed(f"{target} is a store that is in use.", remedy="Choose another place for the backup.")
    if found is None:
        return target
    if not stat.S_ISREG(found.st_mode):
        raise BackupFailed(f"{target} is not a plain file.", remedy="Name a file for the backup.")
    if not overwrite:
        raise _exists(target)
    return target


def _exists(target: str) -> Conflict:
    return Conflict(f"{target} exists.", remedy="Choose another name, or replace it with --overwrite.")


def _settled(path: str) -> tuple[str, int]:
    """On disk, whole; its checksum and its size."""
    descriptor = os.open(path, os.O_RDWR)
    try:
        os.fsync(descriptor)
        size = os.fstat(descriptor).st_size
    finally:
        os.close(descriptor)
    return hash_of(path), size


def _write_checksum(target: str, digest: str) -> None:
    """As `sha256sum --check` reads it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
    descriptor = os.open(target + CHECKSUM, flags, 0o600)
    try:
        write_all(descriptor, f"{digest}  {Path(target).name}\n".encode(errors="surrogateescape"))
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
