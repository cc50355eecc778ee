"""The list of what this machine has erased, kept outside the database: one that is restored to an earlier moment has
lost the lines of the log that say it. `perdure doctor --erased` applies it again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

from perdure.clock import format_time
from perdure.files import private_folder
from perdure.ids import MemoryId
from perdure.store.erasure import append_lines, fingerprint


class ErasureLedger:
    """A line for each memory: a hash of its id, and when it was erased."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def append(self, erased: Sequence[MemoryId], at: datetime) -> None:
        """On disk when this returns; an OSError when it is not."""
        private_folder(self._path.parent)
        flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
        descriptor = os.open(self._path, flags, 0o600)
        try:
            append_lines(descriptor, {fingerprint(memory): format_time(at) for memory in erased})
        finally:
            os.close(descriptor)
