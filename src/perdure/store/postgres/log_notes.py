"""What this machine was told that it has written, noted in a file outside the database.

A standby that takes over may lack lines that were acknowledged, and a database may be restored to an earlier moment:
both leave a log that is sound in itself. Only a note beside it can show which lines are gone.

A note is made after the commit, so the file is never ahead of what was acknowledged. Processes of one machine write it
one after the other. It is not synced: a note is of use when the server lost lines and this machine went on, and a sync
would double what a commit waits for the disk. A note that is lost leaves a missing line unnoticed, and that is no
error. A note gives way to another only after the log was seen to have its line.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias
from uuid import UUID
from zlib import crc32

from perdure.errors import StoreError
from perdure.files import private_folder
from perdure.model import Finding

try:
    import fcntl
except ImportError:  # Not on Windows, where two processes may take the same place.
    fcntl = None

# A namespace, the first and the last line of one commit, the hash of the last, and a checksum of these.
_SLOT: Final = struct.Struct("<16sQQ32sI4x")
_FREE: Final = bytes(_SLOT.size)
# The notes that a namespace has room for: with as many commits, the log is looked at once.
NOTES: Final = 32
_BLOCK: Final = NOTES * _SLOT.size
_MOST_BYTES: Final = 64 << 20
_LOST: Final = (
    "Bring them back from the server that had them, if it can still be read, or say them again; "
    "`perdure doctor --repair` accepts the log as it is now."
)
_WRITABLE: Final = "Free some space, and check the permissions of your data directory."

# The hash of each of these lines that a namespace's log has.
HashesAt: TypeAlias = Callable[[UUID, Sequence[int]], Mapping[int, bytes]]


class NotedLines(NamedTuple):
    """The lines of one commit."""

    namespace: UUID
    first: int
    last: int
    head: bytes


class LogNotes:
    """The file of one store: a block of slots for each namespace."""

    def __init__(self, path: Path, hashes_at: HashesAt) -> None:
        self._path = path
        self._hashes_at = hashes_at
        # Where the next note of each namespace goes.
        self._next: dict[UUID, int] = {}

    def note(self, noted: NotedLines) -> None:
        """After a commit. It has happened, so nothing here may fail."""
        try:
            with self._opened(os.O_RDWR | os.O_CREAT) as descriptor:
                offset = self._next.get(noted.namespace)
                # Another process on this machine may have been there.
                if offset is None or os.pread(descriptor, _SLOT.size, offset).strip(b"\0"):
                    offset = self._free_slot(descriptor, noted.namespace)
                if offset is None:
                    return
                os.pwrite(descriptor, _packed(noted), offset)
                following = offset + _SLOT.size
                if following % _BLOCK:
                    self._next[noted.namespace] = following
                else:
                    self._next.pop(noted.namespace, None)
        except (OSError, StoreError):
            return

    def _free_slot(self, descriptor: int, namespace: UUID) -> int | None:
        """A slot of the namespace that may be written. None when all of them name lines that are gone, or the file is
        full.
        """
        size = os.fstat(descriptor).st_size
        content = os.pread(descriptor, size, 0)
        end = -(-size // _BLOCK) * _BLOCK
        starts = range(0, size, _BLOCK)
        block = next((start for start in starts if content[start : start + 16] == namespace.bytes), None)
        if block is None:
            return end if end < _MOST_BYTES else None
        offsets = range(block, block + _BLOCK, _SLOT.size)
        if free := [offset for offset in offsets if not content[offset : offset + _SLOT.size].strip(b"\0")]:
            return free[0]
        slots = {offset: _parsed(content[offset : offset + _SLOT.size]) for offset in offsets}
        gone = set(self._gone([noted for noted in slots.values() if noted is not None]))
        kept = [offset for offset, noted in slots.items() if noted is None or noted not in gone]
        # The first slot of a block says whose it is, so it stays until it is written again.
        for offset in kept[1:]:
            os.pwrite(descriptor, _FREE, offset)
        return kept[0] if kept else None

    def _gone(self, notes: Sequence[NotedLines]) -> Iterator[NotedLines]:
        for namespace, own in groupby(sorted(notes), key=attrgetter("namespace")):
            lines = list(own)
            hashes = self._hashes_at(namespace, [noted.last for noted in lines])
            yield from (noted for noted in lines if hashes.get(noted.last) != noted.head)

    def read(self) -> list[NotedLines]:
        """Everything that is noted, by namespace and position. A slot that is torn or foreign is skipped."""
        try:
            with self._opened(os.O_RDONLY) as descriptor:
                content = os.pread(descriptor, min(os.fstat(descriptor).st_size, _MOST_BYTES), 0)
        except OSError:
            return []
        slots = (content[start : start + _SLOT.size] for start in range(0, len(content), _SLOT.size))
        return sorted(noted for noted in map(_parsed, slots) if noted is not None)

    def check(self, names: Mapping[UUID, str]) -> Iterator[Finding]:
        """A problem for each namespace whose log lacks lines. `names` are those of the namespaces that are there."""
        found = False
        for namespace, own in groupby(self._gone(self.read()), key=attrgetter("namespace")):
            found = True
            name = names.get(namespace)
            shown = f"Namespace {name!r}" if name is not None else f"A namespace that is missing ({namespace})"
            lines = _in_words([(noted.first, noted.last) for noted in own])
            why = "a server without the latest commits took over, or the database was restored"
            yield Finding("mirror", "problem", f"{shown}: {lines} gone, although acknowledged: {why}.", _LOST)
        if not found:
            yield Finding("mirror", "ok", "No line that this machine has written lately is missing from the log.")

    def accept(self, names: Mapping[UUID, str]) -> Iterator[Finding]:
        """Forget what is gone, and report it."""
        accepted = [finding for finding in self.check(names) if finding.level != "ok"]
        if not accepted:
            return
        self._next.clear()
        try:
            with self._opened(os.O_WRONLY) as descriptor:
                os.ftruncate(descriptor, 0)
        except OSError as error:
            yield Finding("repair_mirror", "warning", f"{self._path} cannot be written: {error}.", _WRITABLE)
            return
        for finding in accepted:
            yield Finding("repair_mirror", "ok", f"The log is accepted as it is now. {finding.sentence}")

    @contextmanager
    def _opened(self, flags: int) -> Generator[int]:
        if flags & os.O_CREAT and not self._next:
            private_folder(self._path.parent)
        descriptor = os.open(self._path, flags | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0), 0o600)
        try:
            if flags & (os.O_RDWR | os.O_WRONLY) and fcntl is not None:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)


def _in_words(spans: Sequence[tuple[int, int]]) -> str:
    """Such as `line 6 of the log is`, or `lines 6 to 7 and 9 of the log are`; spans that touch are one."""
    joined: list[tuple[int, int]] = []
    for first, last in spans:
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = (joined[-1][0], max(last, joined[-1][1]))
        else:
            joined.append((first, last))
    told = [f"{first}" if first == last else f"{first} to {last}" for first, last in joined]
    if told == [f"{joined[0][1]}"]:
        return f"line {told[0]} of the log is"
    listed = told[0] if len(told) == 1 else f"{', '.join(told[:-1])} and {told[-1]}"
    return f"lines {listed} of the log are"


def _packed(noted: NotedLines) -> bytes:
    fields = (noted.namespace.bytes, noted.first, noted.last, noted.head)
    return _SLOT.pack(*fields, _checksum(*fields))


def _parsed(slot: bytes) -> NotedLines | None:
    if len(slot) < _SLOT.size:
        return None
    namespace, first, last, head, checksum = _SLOT.unpack(slot)
    sound = last and checksum == _checksum(namespace, first, last, head)
    return NotedLines(UUID(bytes=namespace), first, last, head) if sound else None


def _checksum(namespace: bytes, first: int, last: int, head: bytes) -> int:
    return crc32(namespace + b"%d %d " % (first, last) + head)
