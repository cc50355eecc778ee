"""Files beside the store: never the store itself, never through a link, readable by its owner alone."""

from __future__ import annotations

import fcntl
import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from perdure.store.queries import load_queries
from perdure.store.sqlite.file import StoreFile, file_identity, size_of

SIDECAR_SQL: Final = load_queries(Path(__file__).with_name("sidecar.sql"))

_LOCK_ATTEMPTS: Final = 50
_LOCK_PAUSE_SECONDS: Final = 0.0002
_RESERVE_BYTES: Final = 1 << 20
# With less free space than this, no reserve is made: others need the space more.
_RESERVE_ROOM: Final = 3 * _RESERVE_BYTES


@contextmanager
def opened(file: StoreFile, path: str, flags: int, *, lock: bool = False) -> Generator[int]:
    """A descriptor of `path`, locked on request. An OSError when the file is not a regular one, is the store itself
    (closing it would drop the locks that SQLite holds on it), or stays locked: a process that hangs while it holds the
    lock must not stop others.
    """
    if file.identity is not None and file_identity(path) == file.identity:
        raise OSError("it is the store itself")
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is not a regular file")
        for attempt in range(_LOCK_ATTEMPTS if lock else 0):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if attempt == _LOCK_ATTEMPTS - 1:
                    raise
                time.sleep(_LOCK_PAUSE_SECONDS)
        yield descriptor
    finally:
        os.close(descriptor)


class Reserve:
    """The file `<store>-reserve`, a little disk space: forgetting a memory needs space too, also when the disk is full.
    Nothing here is worth an error.
    """

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._path = f"{file.path}-reserve"

    def keep(self) -> bool:
        """Make the reserve if it is missing. True when it is there."""
        if size_of(self._path) >= _RESERVE_BYTES:
            return True
        try:
            free = os.statvfs(self._file.directory)
            if free.f_bavail * free.f_frsize < _RESERVE_ROOM:
                return False
            with opened(self._file, self._path, os.O_RDWR | os.O_CREAT) as descriptor:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(descriptor, 0, _RESERVE_BYTES)
                else:
                    os.pwrite(descriptor, bytes(_RESERVE_BYTES), 0)
        except OSError:
            self.release()
            return False
        return True

    def release(self) -> bool:
        """Give the reserve up. True when there was one."""
        had = size_of(self._path) > 0
        try:
            Path(self._path).unlink(missing_ok=True)
        except OSError:
            return False
        return had
