"""Disks that fail, for SQLite: one that refuses the n-th operation, and one that remembers what it was told to keep."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import apsw

SECTOR = 512


class FailingDisk(apsw.VFS):
    """Counts writes, syncs, truncations and deletions; at the n-th raises `error`, once or from then on."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.arm(0, OSError, persistent=False)
        super().__init__(name, "")

    def arm(self, nth: int, error: type[Exception], *, persistent: bool) -> None:
        self.calls, self._nth, self._error, self._persistent = 0, nth, error, persistent

    def disarm(self) -> bool:
        """Whether it has failed at all."""
        reached = 0 < self._nth <= self.calls
        self.calls, self._nth = 0, 0
        return reached

    def tick(self) -> None:
        self.calls += 1
        if self._nth and (self.calls == self._nth or (self._persistent and self.calls > self._nth)):
            raise self._error("the disk refuses")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _FailingFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.tick()
        super().xDelete(filename, syncdir)


class _FailingFile(apsw.VFSFile):
    def __init__(self, disk: FailingDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.tick()
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType]

    def xSync(self, flags: int) -> None:  # noqa: N802
        # That it may fail is what counts here. To wait for a real disk would prove nothing: the system does not crash.
        self._disk.tick()

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.tick()
        super().xTruncate(newsize)


@dataclass(slots=True)
class Operation:
    kind: str
    file: str
    offset: int = 0
    data: bytes = b""


class RecordingDisk(apsw.VFS):
    """Every operation in its order, so that a power loss can be played at any moment."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.operations: list[Operation] = []
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: list[int]) -> apsw.VFSFile:  # noqa: N802
        return _RecordingFile(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802
        self.operations.append(Operation("delete", Path(filename).name))
        super().xDelete(filename, syncdir)


class _RecordingFile(apsw.VFSFile):
    def __init__(self, disk: RecordingDisk, name: Any, flags: list[int]) -> None:
        self._disk = disk
        self._file = Path(name.filename() if isinstance(name, apsw.URIFilename) else name or "").name
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:  # noqa: N802
        self._disk.operations.append(Operation("write", self._file, offset, bytes(data)))
        super().xWrite(data, offset)  # pyright: ignore[reportUnknownMemberType]

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._disk.operations.append(Operation("sync", self._file))
        super().xSync(flags)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.operations.append(Operation("truncate", self._file, newsize))
        super().xTruncate(newsize)


@dataclass(slots=True)
class _File:
    """What is certainly on the platter, and what was only asked for."""

    content: bytearray = field(default_factory=bytearray)
    asked: list[Operation] = field(default_factory=list[Operation])
    synced: bool = False

    def apply(self, operation: Operation) -> None:
        if operation.kind == "truncate":
            del self.content[operation.offset :]
            return
        end = operation.offset + len(operation.data)
        if len(self.content) < end:
            self.content.extend(bytes(end - len(self.content)))
        self.content[operation.offset : end] = operation.data

    def settle(self) -> None:
        for operation in self.asked:
            self.apply(operation)
        self.asked.clear()


def lose_power(operations: list[Operation], source: random.Random) -> dict[str, bytes]:
    """The files as a disk may hold them after `operations`: unsynced writes kept, dropped or torn at a sector."""
    files: dict[str, _File] = {}
    deleted: dict[str, _File] = {}
    for operation in operations:
        if operation.kind == "delete":
            deleted[operation.file] = files.pop(operation.file)
            continue
        file = files.setdefault(operation.file, _File())
        if operation.kind != "sync":
            file.asked.append(operation)
            continue
        file.settle()
        # With the first sync of a new journal or log SQLite syncs the directory, and so every deletion before it.
        if not file.synced and operation.file.endswith(("-wal", "-journal")):
            deleted.clear()
        file.synced = True
    for name, file in deleted.items():
        if source.random() < 0.5:
            files.setdefault(name, file)
    for file in files.values():
        for operation in file.asked:
            for piece in _pieces(operation, source):
                file.apply(piece)
    return {name: bytes(file.content) for name, file in files.items() if name}


def _pieces(operation: Operation, source: random.Random) -> Iterator[Operation]:
    fate = source.choice(["kept", "dropped", "torn"])
    if operation.kind == "truncate" or fate == "kept":
        if fate != "dropped":
            yield operation
        return
    if fate == "torn":
        for at in range(0, len(operation.data), SECTOR):
            if source.random() < 0.5:
                yield Operation("write", operation.file, operation.offset + at, operation.data[at : at + SECTOR])
