"""Files that somebody else may have put there: a pipe or a device of that name would never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import BinaryIO, Final

NOT_REGULAR: Final = "not a regular file"


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """A regular file, open for reading; OSError for anything else, before it is waited for."""
    # Looked at before it is opened too: opening alone makes some devices do something.
    if not stat.S_ISREG(Path(path).stat().st_mode):
        raise OSError(errno.EINVAL, NOT_REGULAR)
    descriptor = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, NOT_REGULAR)
    return os.fdopen(descriptor, "rb")


def read_regular(path: str | os.PathLike[str], most: int) -> bytes:
    """The beginning of a regular file: one byte more than `most` tells that there is more of it."""
    with open_regular(path) as stream:
        return stream.read(most + 1)
