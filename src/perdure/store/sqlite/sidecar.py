"""Opens a file beside the store: never the store itself, never through a link, readable by its owner alone."""

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
from perdure.store.sqlite.file import StoreFile, file_identity

SIDECAR_SQL: Final = load_queries(Path(__file__).with_name("sidecar.sql"))

_ATTEMPTS: Final = 50
_PAUSE: Final = 0.0002


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
        for attempt in range(_ATTEMPTS if lock else 0):
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if attempt == _ATTEMPTS - 1:
                    raise
                time.sleep(_PAUSE)
        yield descriptor
    finally:
        os.close(descriptor)
