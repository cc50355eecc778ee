"""A copy that is being made: a file with a number for a name, and beside it one that its maker keeps locked.

A lock goes with the process that holds it, however that ends, and is seen from every container; the number of a process
is given to another one. So whoever finds a copy and can have its lock knows that nobody will finish it.
"""

from __future__ import annotations

import fcntl
import os
import re
import secrets
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final, Literal, TypeAlias

from perdure.store.sqlite.file import identity_of
from perdure.store.sqlite.sidecar import remove

Kind: TypeAlias = Literal["partial", "restoring"]

_OWNER: Final = "-owner"
_SIDES: Final = ("", "-journal", "-wal", "-shm")
_NUMBER: Final = re.compile(rf"(\d+)(?:{'|'.join((*_SIDES[1:], _OWNER))})?")
_FLAGS: Final = os.O_RDWR | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
_NONE: Final = -1

# The locks that this process holds. Some file systems would take one away when its file is opened here once more.
_held: Final[dict[str, int]] = {}


@contextmanager
def begun(path: str, kind: Kind) -> Generator[str]:
    """An empty file beside `path`, for its owner alone; when this is left, it is gone or has another name."""
    sweep([path], kind)
    copy = _claim(f"{path}.{kind}-")
    try:
        os.close(os.open(copy, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600))
        yield copy
    finally:
        # In a child that was forked meanwhile it is the parent's.
        if copy + _OWNER in _held:
            discard(copy)
            _let_go(copy + _OWNER)


def sweep(paths: Iterable[str], kind: Kind) -> bool:
    """Remove what nobody will finish. True when nothing unfinished is left beside any of the paths."""
    left = [copy for copy in _beside(paths, kind) if not _end(copy)]
    return not left


def discard(copy: str) -> None:
    for side in _SIDES:
        with suppress(OSError):
            remove(copy + side)


def _claim(stem: str) -> str:
    while True:
        copy = f"{stem}{secrets.randbelow(10**12)}"
        if _locked(copy + _OWNER):
            return copy


def _locked(owner: str) -> bool:
    """False when it was taken, or somebody took it for a dead one's in the moment before it was locked."""
    _held[owner] = _NONE
    try:
        _held[owner] = os.open(owner, _FLAGS | os.O_CREAT | os.O_EXCL, 0o600)
        fcntl.flock(_held[owner], fcntl.LOCK_EX | fcntl.LOCK_NB)
        found = os.fstat(_held[owner])
        if identity_of(owner) == (found.st_dev, found.st_ino):
            return True
    except (FileExistsError, BlockingIOError):
        pass
    except BaseException:
        _let_go(owner)
        raise
    _close(owner)
    return False


def _let_go(owner: str) -> None:
    if _held[owner] != _NONE:
        with suppress(OSError):
            remove(owner)
    _close(owner)


def _close(owner: str) -> None:
    descriptor = _held.pop(owner)
    if descriptor != _NONE:
        os.close(descriptor)


def _beside(paths: Iterable[str], kind: Kind) -> Iterator[str]:
    """The copies that are there, whole or in part. Each directory is read once."""
    mark = f".{kind}-"
    names: dict[Path, set[str]] = defaultdict(set)
    for path in paths:
        names[Path(path).parent].add(Path(path).name)
    for directory, stems in names.items():
        found: set[str] = set()
        with suppress(OSError, ValueError), os.scandir(directory) as entries:
            for entry in entries:
                if mark not in entry.name:
                    continue
                stem, _, rest = entry.name.rpartition(mark)
                number = _NUMBER.fullmatch(rest)
                if number and stem in stems and not entry.is_dir(follow_symlinks=False):
                    found.add(str(directory / f"{stem}{mark}{number[1]}"))
        yield from found


def _end(copy: str) -> bool:
    """True when nothing is left of it."""
    owner = copy + _OWNER
    if owner in _held:
        return False
    try:
        descriptor = os.open(owner, _FLAGS)
    except FileNotFoundError:
        # Whoever works on a copy has made this file first, and removes it last.
        discard(copy)
        return not _is_there(copy)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        discard(copy)
        if not _is_there(copy):
            remove(owner)
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return not _is_there(copy)


def _is_there(copy: str) -> bool:
    return any(identity_of(copy + side) is not None for side in _SIDES)


def _forget() -> None:
    """In a forked child: the locks are the parent's, and must end with it."""
    for owner in list(_held):
        with suppress(OSError):
            _close(owner)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
