"""Marks: small files in the user's data directory, named by the hash of what they are about. A mark is made and removed
in one step, and read without a store, so that what it says holds also while the store is locked or broken.
"""

from __future__ import annotations

import os
from hashlib import sha256
from pathlib import Path
from typing import Final

from perdure.files import private_folder

_MOST_BYTES: Final = 4096


def mark_name(what: str) -> str:
    return sha256(what.encode("utf-8", "surrogatepass")).hexdigest()[:32]


def is_marked(folder: Path, what: str) -> bool:
    """Raises OSError where it cannot be told: who asks decides what is safe."""
    try:
        (folder / mark_name(what)).stat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def has_marks(folder: Path) -> bool:
    """Whether anything is marked there: most people mark nothing, and every call of a server asks. Raises OSError where
    it cannot be told.
    """
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except (FileNotFoundError, NotADirectoryError):
        return False


def set_mark(folder: Path, what: str) -> bool:
    """Whether it is new."""
    private_folder(folder)
    try:
        descriptor = os.open(folder / mark_name(what), os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return False
    with os.fdopen(descriptor, "wb") as file:
        file.write(what.encode("utf-8", "surrogatepass"))
    return True


def remove_mark(folder: Path, what: str) -> bool:
    """Whether there was one."""
    try:
        (folder / mark_name(what)).unlink()
    except (FileNotFoundError, NotADirectoryError):
        return False
    return True


def marked(folder: Path) -> list[str]:
    """Everything that is marked."""
    try:
        paths = list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    return sorted(path.read_bytes()[:_MOST_BYTES].decode("utf-8", "surrogatepass") for path in paths)
