"""The store's file: created safely, checked before it is trusted, recognised later.

Nothing here opens an existing file. Closing any descriptor of it would drop the locks that SQLite holds on it in this
process, and acknowledged writes would be lost.
"""

from __future__ import annotations

import errno
import os
import stat
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeAlias

from perdure.errors import (
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    StoreUnreadable,
    StoreUnsafe,
)
from perdure.files import private_folder
from perdure.store.sqlite.filesystem import detect_file_system
from perdure.values import value_class

MEMORY: Final = ":memory:"

FileIdentity: TypeAlias = tuple[int, int]

# The ends of the names of the files that stand beside a store.
_BESIDE: Final = (
    "-wal",
    "-shm",
    "-journal",
    "-head",
    "-reserve",
    "-erased",
    "-tokens",
    "-local-token",
    "-spool",
    ".sha256",
)


@value_class
class StoreFile:
    """Where a store is. `identity` is None for one that lives in memory alone."""

    path: str
    identity: FileIdentity | None
    file_system: str

    @property
    def directory(self) -> str:
        return str(Path(self.path).parent)

    @property
    def wal_path(self) -> str:
        return f"{self.path}-wal"


IN_MEMORY: Final = StoreFile(MEMORY, None, "memory")


def prepare(path: str | os.PathLike[str], *, create: bool = True) -> StoreFile:
    """Create the file if there is none, and refuse one that is not safely ours. Without `create`, a missing file is
    an error.
    """
    absolute = Path(path).absolute()
    try:
        if not create and not _exists(str(absolute)):
            beside = absolute.parent.iterdir() if absolute.parent.is_dir() else ()
            stores = [entry.name for entry in beside if entry.is_file() and not entry.name.endswith(_BESIDE)]
            from difflib import get_close_matches

            close = get_close_matches(absolute.name, stores, n=1)
            remedy = f"Did you mean {absolute.with_name(close[0])}?" if close else None
            raise StoreMissing(f"There is no store at {absolute}.", remedy=remedy)
        # What is missing of the path is created for its owner alone, and is on disk before anything is put into it.
        for directory in private_folder(absolute.parent):
            sync_directory(directory.parent)
        # Links on the way are the user's own business; the last step may not be one.
        real = str(absolute.parent.resolve() / absolute.name)
        if not _exists(real):
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
            # Another process may be faster; its file is checked like any other.
            with suppress(FileExistsError):
                descriptor = os.open(real, flags, 0o600)
                try:
                    os.fchmod(descriptor, 0o600)
                finally:
                    os.close(descriptor)
        status = os.lstat(real)
        if stat.S_ISLNK(status.st_mode):
            raise StoreUnsafe(
                f"{real} is a symbolic link.", remedy="Name the file it leads to, or choose another path."
            )
        if stat.S_ISDIR(status.st_mode):
            raise StoreUnreadable(f"{real} is a directory.", remedy="Name a file in it, for example memory.db.")
        if not stat.S_ISREG(status.st_mode):
            raise StoreUnreadable(f"{real} is not a regular file.")
        if hasattr(os, "geteuid") and os.geteuid() not in (status.st_uid, 0):
            raise StoreUnsafe(f"{real} belongs to another user.")
        if not os.access(real, os.R_OK, effective_ids=os.access in os.supports_effective_ids):
            raise StoreUnreadable(f"{real} cannot be opened: permission is missing.")
        if not status.st_size and can_write(real):
            # An empty file that somebody made becomes a store, and a store is its owner's alone.
            Path(real).chmod(0o600)
        return StoreFile(real, (status.st_dev, status.st_ino), detect_file_system(real))
    except (OSError, ValueError) as error:
        raise explain(error, str(absolute)) from error


def file_identity(path: str) -> FileIdentity | None:
    try:
        status = os.lstat(path)
    except OSError:
        return None
    return status.st_dev, status.st_ino


def size_of(path: str) -> int:
    try:
        return Path(path).stat().st_size
    except OSError:
        return 0


def can_write(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def explain(error: OSError | ValueError, path: str) -> StoreError:
    """The operating system's refusal as one of our own."""
    reason = error.errno if isinstance(error, OSError) else None
    if reason in (errno.ENOSPC, errno.EDQUOT):
        return StoreFull(f"The disk is full, so {path} cannot be created.")
    try:
        is_missing = not _exists(path)
    except (OSError, ValueError):
        is_missing = False
    if reason == errno.EROFS or (reason in (errno.EACCES, errno.EPERM) and is_missing):
        return StoreReadOnly(f"{path} cannot be created: its directory cannot be written.")
    if reason in (errno.EACCES, errno.EPERM):
        return StoreUnreadable(f"{path} cannot be opened: permission is missing.")
    detail = os.strerror(reason) if reason else str(error)
    return StoreUnreadable(f"{path} cannot be opened: {detail}.")


def _exists(path: str) -> bool:
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def sync_directory(directory: Path) -> None:
    """A new name survives power loss only once its directory is on disk."""
    try:
        descriptor = os.open(directory, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    except OSError:
        pass
    finally:
        os.close(descriptor)
