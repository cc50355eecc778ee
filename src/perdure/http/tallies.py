"""What a server counts: in one process, or in the files of several that serve together, each in one of its own, where
all of them can read it.
"""

from __future__ import annotations

import mmap
import os
import struct
import threading
from collections import defaultdict
from collections.abc import Collection
from pathlib import Path
from typing import Final

_VALUE: Final = struct.Struct("<d")
_LENGTH: Final = struct.Struct("<Q")
# A value and its name.
_ENTRY: Final = 256
_MOST: Final = 4095
_FILE: Final = "tallies-"


class Tallies:
    """Numbers by name, of one process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._values: dict[str, float] = {}

    def add(self, name: str, amount: float = 1) -> None:
        with self._lock:
            self._put(name, self._values.get(name, 0) + amount)

    def _put(self, name: str, value: float) -> None:
        self._values[name] = value

    def totals(self) -> dict[str, float]:
        with self._lock:
            return dict(self._values)


class SharedTallies(Tallies):
    """The same, of all processes that count in one folder. A process that takes the place of another counts on; what
    is `passing`, by how its names begin, is zero again then.
    """

    def __init__(self, folder: Path, place: int, passing: Collection[str]) -> None:
        super().__init__()
        self._folder = folder
        self._offsets: dict[str, int] = {}
        path = folder / f"{_FILE}{place}"
        for name, value in _read(path).items():
            self._offsets[name] = (1 + len(self._offsets)) * _ENTRY
            self._values[name] = value
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            os.ftruncate(descriptor, (1 + _MOST) * _ENTRY)
            self._file = mmap.mmap(descriptor, 0)
        finally:
            os.close(descriptor)
        for name in self._values:
            if name.startswith(tuple(passing)):
                self._put(name, 0)

    def _put(self, name: str, value: float) -> None:
        offset = self._offsets.get(name)
        if offset is None:
            if len(self._offsets) == _MOST:
                return
            offset = self._offsets[name] = (1 + len(self._offsets)) * _ENTRY
            self._file[offset + _VALUE.size : offset + _ENTRY] = name.encode()[: _ENTRY - _VALUE.size].ljust(
                _ENTRY - _VALUE.size, b"\0"
            )
            _VALUE.pack_into(self._file, offset, value)
            # Last, so that readers only ever see whole entries.
            _LENGTH.pack_into(self._file, 0, len(self._offsets))
        super()._put(name, value)
        _VALUE.pack_into(self._file, offset, value)

    def totals(self) -> dict[str, float]:
        totals: defaultdict[str, float] = defaultdict(float)
        for path in self._folder.glob(f"{_FILE}*"):
            for name, value in _read(path).items():
                totals[name] += value
        return dict(totals)


def _read(path: Path) -> dict[str, float]:
    try:
        with path.open("rb") as file:
            first = file.read(_LENGTH.size)
            count = _LENGTH.unpack(first)[0] if first else 0
            content = first + file.read((1 + count) * _ENTRY)
    except FileNotFoundError:
        return {}
    starts = range(_ENTRY, (1 + count) * _ENTRY, _ENTRY)
    names = (content[start + _VALUE.size : start + _ENTRY].rstrip(b"\0").decode() for start in starts)
    return {name: _VALUE.unpack_from(content, start)[0] for name, start in zip(names, starts, strict=True)}
