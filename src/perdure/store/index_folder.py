"""The folder of derived index files beside a store. Whoever finds one behind writes it anew, one process at a time;
readers take no lock. What a file holds can always be read from the store again, so that all of them may go at any time.

Whoever writes holds a lock, and whoever clears the folder takes the lock's name away: that is how a writer learns that
its turn is over, and that it must not finish what it read before. So nobody who erases waits for one who writes.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import Final, NamedTuple

from perdure.embed.port import Generation
from perdure.files import private_folder

SUFFIX: Final = ".index"
_UNFINISHED: Final = ".new"
_LOCK: Final = "lock"
# What we write. A folder may be shared with, or a link to, what is somebody's own: that is left alone.
_OURS: Final = re.compile(rf"[0-9a-f]{{32}}(\.[0-9a-f]+)?({re.escape(SUFFIX)}|{re.escape(_UNFINISHED)})")
_BOOT_ID: Final = Path("/proc/sys/kernel/random/boot_id")


class WritingTurn(NamedTuple):
    """The right to write in a folder, for one process alone and until the folder is cleared."""

    lock: Path
    held: os.stat_result

    def is_over(self) -> bool:
        try:
            return not os.path.samestat(self.lock.lstat(), self.held)
        except FileNotFoundError:
            return True


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
    def writing(self) -> Generator[WritingTurn | None]:
        """None when somebody else writes. An OSError where the folder is a link, or somebody else's."""
        import fcntl

        private_folder(self.path)
        if not self._is_own():
            raise PermissionError(f"{self.path} is not a folder of this user")
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self.path / _LOCK, flags, 0o600)
        try:
            turn = WritingTurn(self.path / _LOCK, os.fstat(descriptor))
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                yield None
            else:
                # Somebody may have cleared the folder after the lock was opened.
                yield None if turn.is_over() else turn
        finally:
            os.close(descriptor)

    def clear(self) -> None:
        """Remove all files. From now on there is none of what was read before, also by a process that is about to
        write it: either its file is here by now and goes, or it notices before it writes that its turn is over.
        """
        if not os.path.lexists(self.path):
            return
        if self._is_own():
            (self.path / _LOCK).unlink(missing_ok=True)
        while self._remove_files():
            pass
        # Who lists a folder may miss a file that gets its name meanwhile. It gets no other.
        self._remove_files()

    def remove(self) -> None:
        """The folder goes with its store, unless somebody keeps something else in it."""
        if os.path.lexists(self.path):
            self.clear()
            with suppress(OSError):
                self.path.rmdir()

    def unfinished(self, path: Path) -> Path:
        """The name of a file until it is whole: another one for each that writes it."""
        return path.with_suffix(f".{os.urandom(8).hex()}{_UNFINISHED}")

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
                known.append((status.st_atime_ns, status.st_size, path))
        size = sum(each for _, each, _ in known)
        for _, each, path in sorted(known):
            if size <= self.most_bytes:
                break
            if path != keep:
                path.unlink(missing_ok=True)
                size -= each

    def index_files(self) -> list[Path]:
        """Those that are finished."""
        return sorted(path for path in self._files() if path.suffix == SUFFIX)

    def _is_own(self) -> bool:
        status = self.path.lstat()
        return stat.S_ISDIR(status.st_mode) and (not hasattr(os, "geteuid") or status.st_uid == os.geteuid())

    def _files(self) -> list[Path]:
        return [path for path in self.path.iterdir() if _OURS.fullmatch(path.name)] if self.path.is_dir() else []

    def _remove_files(self) -> int:
        """How many there were."""
        paths = self._files()
        for path in paths:
            path.unlink(missing_ok=True)
        return len(paths)


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
