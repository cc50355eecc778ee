"""A copy that is being made: `<path>.<kind>-<number>`, which its maker keeps locked.

A lock ends with the process that holds it, however that ends, and is seen from every container. A process that can lock
such a file knows that it will not be finished, and removes it, because it may hold text that was erased since.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from perdure.store.sqlite.file import file_identity
from perdure.text.patterns import pattern

Kind: TypeAlias = Literal["partial", "restoring"]

_NUMBER: Final = pattern(r"\d+")
# The copy itself goes last, so that a removal that was cut short is found and finished later.
_SIDES: Final = ("-journal", "-wal", "-shm", "")
_FLAGS: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

# Files that this process is making. Opening and closing one a second time would drop its lock on some file systems.
_in_progress: Final[set[str]] = set()


@contextmanager
def create_partial(path: str, kind: Kind) -> Generator[str]:
    """A new empty file beside `path`, for its owner alone. On leaving, it is gone or has another name."""
    from secrets import randbelow

    remove_abandoned([path], kind)
    maker, copy, descriptor = os.getpid(), "", None
    while descriptor is None:
        copy = f"{path}.{kind}-{randbelow(10**12)}"
        with suppress(FileExistsError):
            descriptor = _lock(copy, os.O_CREAT | os.O_EXCL)
    _in_progress.add(copy)
    try:
        yield copy
    finally:
        # A child that was forked meanwhile leaves the file to its parent.
        if os.getpid() == maker:
            _remove(copy)
        _in_progress.discard(copy)
        os.close(descriptor)


def remove_abandoned(paths: Iterable[str], kind: Kind) -> bool:
    """Remove abandoned copies. True when no unfinished copy is left beside any of the paths."""
    copies: list[str] = []
    for path in map(Path, set(paths)):
        prefix = f"{path.name}.{kind}-"
        with suppress(OSError, ValueError), os.scandir(path.parent) as entries:
            names = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
            numbered = (name for name in names if name.startswith(prefix) and _NUMBER.fullmatch(name[len(prefix) :]))
            copies += (str(path.parent / name) for name in numbered)
    for copy in set(copies) - _in_progress:
        with suppress(OSError):
            descriptor = _lock(copy)
            if descriptor is not None:
                _remove(copy)
                os.close(descriptor)
    return all(file_identity(copy) is None for copy in copies)


def _lock(copy: str, flags: int = 0) -> int | None:
    """A descriptor that holds the lock. None when another process has it, or removed the file in between."""
    descriptor = os.open(copy, _FLAGS | flags, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        status = os.fstat(descriptor)
        if file_identity(copy) == (status.st_dev, status.st_ino):
            return descriptor
    except OSError:
        pass
    os.close(descriptor)
    return None


def _remove(copy: str) -> None:
    for side in _SIDES:
        with suppress(OSError):
            Path(copy + side).unlink(missing_ok=True)
