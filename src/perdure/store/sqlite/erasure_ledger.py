"""What was erased, noted outside the database by a hash of its id, so that no backup brings it back.

The `erase` lines of the log are the ledger of record. This file survives when the database itself is lost, and is what
a backup of it from before is measured against.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from perdure.clock import format_time, from_micros
from perdure.ids import MemoryId
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.file import Place, sync_directory
from perdure.store.sqlite.rows import unpack_id
from perdure.store.sqlite.sidecar import SIDECAR_SQL, lock, opened, write_all

_LINE: Final = re.compile(rb"^([0-9a-f]{64}) ([0-9TZ:.+-]{0,40})$", re.MULTILINE)
_PIECE: Final = 1 << 20


Lines: TypeAlias = Mapping[str, str]


class Erasure(NamedTuple):
    """`at` in microseconds."""

    memory: MemoryId
    at: int


def fingerprint(memory: str) -> str:
    """An id is random enough that nobody finds it by guessing."""
    return sha256(memory.encode()).hexdigest()


def erasures(connection: Database) -> list[Erasure]:
    return [Erasure(unpack_id(memory), at) for memory, at in connection.execute(SIDECAR_SQL["erasures"])]


def lines_in(content: bytes) -> Lines:
    """The hash of each id, and when it was erased. What is torn or foreign is left out."""
    return {memory.decode(): at.decode() for memory, at in _LINE.findall(content)}


class Ledger:
    """The file `<store>-erased`: a line for each memory, a hash of its id and when it was erased."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._path = f"{place.path}-erased"

    def append(self, erased: Iterable[Erasure]) -> None:
        """On disk when this returns; an OSError when it is not."""
        self._append({fingerprint(each.memory): format_time(from_micros(each.at)) for each in erased})

    def _append(self, erased: Lines) -> None:
        if not erased:
            return
        lines = "".join(f"{memory} {at}\n" for memory, at in erased.items())
        with opened(self._place, self._path, os.O_RDWR | os.O_CREAT | os.O_APPEND) as descriptor:
            lock(descriptor)
            size = os.fstat(descriptor).st_size
            torn = size > 0 and os.pread(descriptor, 1, size - 1) != b"\n"
            write_all(descriptor, (b"\n" if torn else b"") + lines.encode())
            os.fsync(descriptor)
            if not size:
                sync_directory(Path(self._place.directory))

    def complete(self, erased: Iterable[Erasure]) -> None:
        """Add what is missing: a process may have died between its commit and its line here."""
        known = self.known()
        self.append(each for each in erased if fingerprint(each.memory) not in known)

    def adopt(self, erased: Lines) -> None:
        """What another store's ledger says: from here on it counts here as well."""
        known = self.known()
        self._append({memory: at for memory, at in erased.items() if memory not in known})

    def known(self) -> set[str]:
        """The hashes of the ids; an OSError when there is a file that cannot be read."""
        try:
            with opened(self._place, self._path, os.O_RDONLY) as descriptor:
                content = b"".join(_pieces(descriptor))
        except FileNotFoundError:
            return set()
        return set(lines_in(content))


def _pieces(descriptor: int) -> Iterator[bytes]:
    while piece := os.read(descriptor, _PIECE):
        yield piece
