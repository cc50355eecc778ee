"""A file of ours beside the store's: never the store's own, never through a link, for its owner alone."""

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
from perdure.store.sqlite.file import Place, identity_of

SIDECAR_SQL: Final = load_queries(Path(__file__).with_name("sidecar.sql"))

_ATTEMPTS: Final = 50
_PAUSE: Final = 0.0002


@contextmanager
def opened(place: Place, path: str, flags: int) -> Generator[int]:
    """A descriptor of `path`. An OSError when it is not a plain file, or is the store's own by another name: closing
    that would drop the locks that SQLite holds on it.
    """
    if identity_of(path) is not None and identity_of(path) == place.identity:
        raise OSError("it is the store itself")
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is not a plain file")
        yield descriptor
    finally:
        os.close(descriptor)


def lock(descriptor: int) -> None:
    """For a moment only: whoever stopped while holding it must not stop others, so waiting ends in an OSError."""
    for attempt in range(_ATTEMPTS):
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE)
        else:
            return


def write_all(descriptor: int, content: bytes) -> None:
    """The system may take a part at a time."""
    rest = memoryview(content)
    while rest:
        rest = rest[os.write(descriptor, rest) :]


def remove(path: str) -> None:
    """A file that is gone already is gone."""
    Path(path).unlink(missing_ok=True)
