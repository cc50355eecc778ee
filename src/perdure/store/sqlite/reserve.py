"""A little disk space in reserve: forgetting a memory needs space too, also when the disk is full."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

from perdure.store.sqlite.file import StoreFile, size_of
from perdure.store.sqlite.sidecar import opened

SIZE: Final = 1 << 20
# With less free space than this, no reserve is made: others need the space more.
_ROOM: Final = 3 * SIZE


class Reserve:
    """The file `<store>-reserve`. Nothing here is worth an error."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._path = f"{file.path}-reserve"

    def keep(self) -> bool:
        """Make the reserve if it is missing. True when it is there."""
        if size_of(self._path) >= SIZE:
            return True
        try:
            free = os.statvfs(self._file.directory)
            if free.f_bavail * free.f_frsize < _ROOM:
                return False
            with opened(self._file, self._path, os.O_RDWR | os.O_CREAT) as descriptor:
                if hasattr(os, "posix_fallocate"):
                    os.posix_fallocate(descriptor, 0, SIZE)
                else:
                    os.pwrite(descriptor, bytes(SIZE), 0)
        except OSError:
            self.release()
            return False
        return True

    def release(self) -> bool:
        """Give the reserve up. True when there was one."""
        had = size_of(self._path) > 0
        try:
            Path(self._path).unlink(missing_ok=True)
        except OSError:
            return False
        return had
