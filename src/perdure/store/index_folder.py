"""The folder of derived index files beside a store. Whoever finds one behind writes it anew, one process at a time;
readers take no lock. What a file holds can always be read from the store again, so that all of them may go at any time.
"""

from __future__ import annotations

import os
import stat
import time
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final

from perdure.embed.port import Generation
from perdure.files import private_folder

SUFFIX: Final = ".index"
_LOCK: Final = "lock"
_PAUSE: Final = 0.005
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class IndexFolder:
    """`most_bytes`: the limit of the folder; a write above it removes the least recently used files. `is_cache`: the
    store is elsewhere, so an erasure made on another machine cannot reach this folder.
    """

    def __init__(self, path: Path, most_bytes: int | None = None, *, is_cache: bool = False) -> None:
        self.path = path
        self.most_bytes = most_bytes
        self.is_cache = is_cache

    def file(self, namespace: str, generation: Generation | None) -> Path:
        """The name says nothing about the namespace: a folder may be listed by others than its files are read by."""
        named = f"{namespace}\0{generation.name if generation else ''}".encode("utf-8", "surrogatepass")
        return self.path / f"{blake2b(named, digest_size=16).hexdigest()}{SUFFIX}"

    @contextmanager
    def writing(self, patience: float = 0.0) -> Generator[bool]:
        """Whether this process alone may write here, after at most `patience` seconds."""
        import fcntl

        private_folder(self.path)
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self.path / _LOCK, flags, 0o600)
        try:
            until = time.monotonic() + patience
            while True:
                try:
                    fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    if time.monotonic() >= until:
                        yield False
                        return
                time.sleep(_PAUSE)
            yield True
        finally:
            os.close(descriptor)

    def clear(self, patience: float) -> bool:
        """Remove all files, also one that somebody is writing: whoever does that notices, and stops. True when none is
        left, and none can come that was begun before.
        """
        if not os.path.lexists(self.path):
            return True
        self._remove_files()
        with self.writing(patience) as is_alone:
            if is_alone:
                self._remove_files()
            return is_alone

    def remove(self) -> None:
        """The folder goes with its store."""
        if os.path.lexists(self.path):
            self._remove_files()
            (self.path / _LOCK).unlink(missing_ok=True)
            self.path.rmdir()

    def remove_unfinished(self) -> None:
        """Remove what processes left behind that died while they wrote. The caller must be allowed to write."""
        for path in self._files():
            if path.suffix != SUFFIX:
                path.unlink(missing_ok=True)

    def prune(self, keep: Path) -> None:
        """Remove the least recently used files until the others take no more than they may."""
        if self.most_bytes is None:
            return
        known: list[tuple[int, int, Path]] = []
        for path in self._files():
            with suppress(OSError):
                status = path.stat()
                known.append((status.st_mtime_ns, status.st_size, path))
        size = sum(each for _, each, _ in known)
        for _, each, path in sorted(known):
            if size <= self.most_bytes:
                break
            if path != keep:
                path.unlink(missing_ok=True)
                size -= each

    def index_files(self) -> list[Path]:
        """Those that are finished."""
        return sorted(path for path in self._files() if path.suffix == SUFFIX) if self.path.is_dir() else []

    def _files(self) -> list[Path]:
        return [path for path in self.path.iterdir() if path.name != _LOCK]

    def _remove_files(self) -> None:
        for path in self._files():
            path.unlink(missing_ok=True)


def open_own(path: Path, flags: int = os.O_RDONLY) -> int:
    """A descriptor of a file that is ours alone; an OSError for any other."""
    descriptor = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0))
    status = os.fstat(descriptor)
    own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
    if not stat.S_ISREG(status.st_mode) or not own or status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        os.close(descriptor)
        raise PermissionError(f"{path} is not a file of this user alone")
    return descriptor


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Another one after every start of the machine; empty where that cannot be told."""
    try:
        return _BOOT_ID.read_text(encoding="ascii").strip()
    except OSError:
        return ""
