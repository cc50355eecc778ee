"""A copy that is being made: `<path>.<kind>-<number>`, which its maker keeps locked.

A lock ends with the process that holds it, however that ends, and is seen from every container. So whoever finds such a
file and can lock it knows that nobody will finish it, and removes it: it may hold what was erased since.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from perdure.store.sqlite.file import identity_of

Kind: TypeAlias = Literal["partial", "restoring"]

_NUMBER: Final = re.compile(r"\d+")
# The copy itself last, so that a removal that is cut short is taken up again.
_SIDES: Final = ("-journal", "-wal", "-shm", "")
_FLAGS: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)

# What this process is making. To open such a file a second time and close it would drop its locks on some file systems.
_in_progress: Final[set[str]] = set()


@contextmanager
def begun(path: str, kind: Kind) -> Generator[str]:
    """A new empty file beside `path`, for its owner alone. On leaving, it is gone or has another name."""
    sweep([path], kind)
    maker = os.getpid()
    copy, descriptor = _create(f"{path}.{kind}-")
    try:
        yield copy
    finally:
        # A child that was forked meanwhile leaves the file to its parent.
        if os.getpid() == maker:
            _remove(copy)
        _in_progress.discard(copy)
        os.close(descriptor)


def sweep(paths: Iterable[str], kind: Kind) -> bool:
    """Remove what nobody will finish. True when nothing unfinished is left beside any of the paths."""
    left = False
    for path in map(Path, set(paths)):
        prefix = f"{path.name}.{kind}-"
        with suppress(OSError, ValueError), os.scandir(path.parent) as entries:
            copies = [entry.name for entry in entries if entry.is_file(follow_symlinks=False)]
            for name in copies:
                if name.startswith(prefix) and _NUMBER.fullmatch(name[len(prefix) :]):
                    left |= not _removed(str(path.parent / name))
    return not left


def _create(prefix: str) -> tuple[str, int]:
    while True:
        copy = f"{prefix}{secrets.randbelow(10**12)}"
        try:
            descriptor = os.open(copy, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        if _is_locked_by_us(copy, descriptor):
            _in_progress.add(copy)
            return copy, descriptor
        # Somebody took it for a dead process's in the moment before it was locked.
        os.close(descriptor)


def _removed(copy: str) -> bool:
    """False while its maker is at work, or when it cannot be removed."""
    if copy in _in_progress:
        return False
    try:
        descriptor = os.open(copy, _FLAGS)
    except FileNotFoundError:
        return True
    except OSError:
        return False
    try:
        if _is_locked_by_us(copy, descriptor):
            _remove(copy)
    finally:
        os.close(descriptor)
    return identity_of(copy) is None


def _is_locked_by_us(copy: str, descriptor: int) -> bool:
    """True when the lock is ours and the file still has its name."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    status = os.fstat(descriptor)
    return identity_of(copy) == (status.st_dev, status.st_ino)


def _remove(copy: str) -> None:
    for side in _SIDES:
        with suppress(OSError):
            Path(copy + side).unlink(missing_ok=True)
