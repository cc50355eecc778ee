"""Files of others, where a pipe or a device would never end; and our own, where they are, so that nobody else reads
them.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import lru_cache
from io import BufferedReader, BufferedWriter
from pathlib import Path
from typing import Final, Literal

NOT_REGULAR: Final = "not a regular file"


def open_regular(path: str | os.PathLike[str]) -> BufferedReader:
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


def private_folder(folder: Path) -> list[Path]:
    """Make a folder, with all that is missing on the way to it, that its owner alone may look into, whatever the umask
    of the process; which folders are new.
    """
    ancestors = [folder, *folder.parents]
    missing = ancestors[: next(depth for depth, each in enumerate(ancestors) if os.path.lexists(each))]
    made: list[Path] = []
    for each in reversed(missing):
        # Another process may be faster.
        with suppress(FileExistsError):
            each.mkdir(mode=0o700)
            each.chmod(0o700)
            made.append(each)
    return made


def write_private(path: Path, content: bytes) -> None:
    """Put a file in the place of what was there; no reader ever sees half of it, and its owner alone may read it."""
    private_folder(path.parent)
    staged = path.with_name(f"{path.name}.{os.getpid()}")
    with open_private(staged, "wb") as file:
        file.write(content)
    staged.replace(path)


def open_private(path: Path, mode: Literal["wb", "xb"]) -> BufferedWriter:
    """A file that is open for writing; one that is new, its owner alone may read."""
    return open(path, mode, opener=lambda path, flags: os.open(path, flags, 0o600))


def directory(kind: Literal["data", "cache", "config"], environ: Mapping[str, str]) -> Path:
    """Where this system keeps a user's data, caches and settings."""
    named = "LOCALAPPDATA" if sys.platform == "win32" else f"XDG_{kind.upper()}_HOME"
    return _directory(sys.platform, kind, environ.get("HOME") or str(Path.home()), environ.get(named) or "")


@lru_cache(maxsize=16)
def _directory(platform: str, kind: Literal["data", "cache", "config"], user: str, given: str) -> Path:
    """Every call of a server asks for it, and a path is slow to make."""
    home = Path(user)
    if platform == "darwin":
        below = {"data": "Application Support", "cache": "Caches", "config": "Application Support"}[kind]
        return home / "Library" / below / "perdure"
    if platform == "win32":
        return Path(given or home / "AppData" / "Local") / "perdure" / kind
    usual = {"data": ".local/share", "cache": ".cache", "config": ".config"}[kind]
    return (Path(given) if given and Path(given).is_absolute() else home / usual) / "perdure"
