"""The list of erased memories, kept outside the database as hashes of their ids, so that no backup brings them back.

The `erase` entries of the log are the ledger of record. This file survives when the database itself is lost, and a
backup that is older than an erasure is compared with it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from perdure.clock import format_time, from_micros
from perdure.ids import MemoryId
from perdure.store.rows import unpack_id
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.file import StoreFile, sync_directory
from perdure.store.sqlite.sidecar import SIDECAR_SQL, opened

if TYPE_CHECKING:
    from perdure.store.erasure import LedgerLines


class Erasure(NamedTuple):
    """`at` in microseconds."""

    memory: MemoryId
    at: int


def erasures(connection: Database) -> list[Erasure]:
    return [Erasure(unpack_id(memory), at) for memory, at in connection.execute(SIDECAR_SQL["erasures"])]


class Ledger:
    """The file `<store>-erased`: a line for each memory, a hash of its id and when it was erased."""

    def __init__(self, file: StoreFile) -> None:
        self._file = file
        self._path = f"{file.path}-erased"

    def append(self, erased: Iterable[Erasure]) -> None:
        """On disk when this returns; an OSError when it is not."""
        from perdure.store.erasure import fingerprint

        self._append({fingerprint(erasure.memory): format_time(from_micros(erasure.at)) for erasure in erased})

    def complete(self, erased: Iterable[Erasure]) -> None:
        """Add the missing ones: a process may have died between its commit and its line in the ledger."""
        from perdure.store.erasure import fingerprint

        listed = self.fingerprints()
        self.append(erasure for erasure in erased if fingerprint(erasure.memory) not in listed)

    def adopt(self, lines: LedgerLines) -> None:
        """Add the lines of another store's ledger: from now on they count here as well."""
        listed = self.fingerprints()
        self._append({memory: at for memory, at in lines.items() if memory not in listed})

    def fingerprints(self) -> set[str]:
        """An OSError when there is a file that cannot be read."""
        from perdure.store.erasure import parse_ledger

        try:
            with opened(self._file, self._path, os.O_RDONLY) as descriptor:
                return set(parse_ledger(os.read(descriptor, os.fstat(descriptor).st_size)))
        except FileNotFoundError:
            return set()

    def _append(self, lines: LedgerLines) -> None:
        if not lines:
            return
        from perdure.store.erasure import append_lines

        with opened(self._file, self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND, lock=True) as descriptor:
            is_new = not os.fstat(descriptor).st_size
            append_lines(descriptor, lines)
            if is_new:
                sync_directory(Path(self._file.directory))
