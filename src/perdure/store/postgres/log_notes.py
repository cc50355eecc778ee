"""What this machine was told that it has written, noted in a file outside the database.

A standby that takes over may lack lines that were acknowledged, and a database may be restored to an earlier moment:
both leave a log that is sound in itself. Only a note beside it can show which lines are gone.

A note is made after the commit, so the file is never ahead of what was acknowledged. Processes of one machine write it
one after the other, and none waits for the server while another wants to write. It is synced once a second at most: a
sync for each would double what a commit waits for the disk. A note that is lost leaves a missing line unnoticed, and
that is no error. A note gives way to another only after the log was seen to have its line, which a later transaction on
the namespace looks at with its other questions.
"""

from __future__ import annotations

import os
import struct
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from types import MappingProxyType
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
_MOST_PARSED: Final = 100
_LOST: Final = (
    "Bring them back from the server that had them, if it can still be read, or say them again; "
    "`perdure doctor --repair` accepts the log as it is now."
)
_WRITABLE: Final = "Free some space, and check the permissions of your data directory."

_SYNC_SECONDS: Final = 1.0
_FLAGS: Final = getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_CLOEXEC", 0)
NOTHING_FOUND: Final[Mapping[int, bytes]] = MappingProxyType({})

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

    def __init__(self, path: Path, hashes_at: HashesAt, seconds: Callable[[], float] = time.monotonic) -> None:
        self._path = path
        self._hashes_at = hashes_at
        self._seconds = seconds
        # Where the block of each namespace is.
        self._blocks: dict[UUID, int] = {}
        self._wanted: dict[UUID, Sequence[int]] = {}
        # The blocks as they were written last, by their places.
        self._parsed: dict[int, tuple[bytearray, list[NotedLines | None]]] = {}
        self._synced_at = seconds()
        self._is_dirty = False

    def wanted(self, namespace: UUID) -> Sequence[int]:
        """The noted lines that the next transaction on the namespace shall look at, because room for notes gets scarce:
        `note` wants to know what it found.
        """
        return self._wanted.get(namespace, ())

    def note(self, noted: NotedLines, found: Mapping[int, bytes] = NOTHING_FOUND) -> None:
        """After a commit. It has happened, so nothing here may fail. `found`: the hashes of earlier lines, as the log
        had them a moment ago.
        """
        try:
            if not self._noted(noted, found):
                self._noted(noted, self._hashes_at(noted.namespace, self.wanted(noted.namespace)))
            if self._seconds() >= self._synced_at + _SYNC_SECONDS:
                self.sync()
        except (OSError, StoreError):
            return

    def sync(self) -> None:
        """Have everything that was noted on the disk."""
        if self._is_dirty:
            self._is_dirty, self._synced_at = False, self._seconds()
            with suppress(OSError):
                descriptor = os.open(self._path, os.O_RDONLY | _FLAGS)
                try:
                    os.fsync(descriptor)
                finally:
                    os.close(descriptor)

    def _noted(self, noted: NotedLines, found: Mapping[int, bytes]) -> bool:
        """False when every slot names lines that nobody has found in the log."""
        with self._opened(os.O_RDWR | os.O_CREAT) as descriptor:
            start = self._block_of(descriptor, noted.namespace)
            if start is None:
                return True
            content = bytearray(os.pread(descriptor, _BLOCK, start).ljust(_BLOCK, b"\0"))
            slots = self._slots_of(start, content)
            offsets = range(0, _BLOCK, _SLOT.size)
            seen = [n for n, slot in enumerate(slots) if slot is not None and found.get(slot.last) == slot.head]
            free = [n for n, slot in enumerate(slots) if slot is None]
            if not seen and not free:
                self._wanted[noted.namespace] = [slot.last for slot in slots if slot is not None]
                return False
            # The first slot says whose the block is, so it stays until it is written again.
            place = min(seen + free)
            for n in seen:
                if n:
                    content[offsets[n] : offsets[n] + _SLOT.size] = _FREE
            content[offsets[place] : offsets[place] + _SLOT.size] = _packed(noted)
            os.pwrite(descriptor, content, start)
        self._is_dirty = True
        kept = [slot.last for n, slot in enumerate(slots) if slot is not None and n not in seen]
        for n in seen:
            if n:
                slots[n] = None
        slots[place] = noted
        self._parsed[start] = content, slots
        if len(kept) + 1 < NOTES // 2:
            self._wanted.pop(noted.namespace, None)
        else:
            self._wanted[noted.namespace] = [*kept, noted.last]
        return True

    def _slots_of(self, start: int, content: bytearray) -> list[NotedLines | None]:
        """Reading a block takes as long as all the rest, so one that nobody else has written is not read again."""
        if len(self._parsed) > _MOST_PARSED:
            self._parsed.clear()
        known = self._parsed.pop(start, None)
        return known[1] if known and known[0] == content else _slots(content)

    def _block_of(self, descriptor: int, namespace: UUID) -> int | None:
        """Where the block of the namespace is, or goes. None when the file is full."""
        known = self._blocks.get(namespace)
        if known is not None and os.pread(descriptor, 16, known) == namespace.bytes:
            return known
        size = os.fstat(descriptor).st_size
        content = os.pread(descriptor, size, 0)
        end = -(-size // _BLOCK) * _BLOCK
        starts = range(0, size, _BLOCK)
        found = next((start for start in starts if content[start : start + 16] == namespace.bytes), end)
        if found >= _MOST_BYTES:
            return None
        self._blocks[namespace] = found
        return found

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
        return sorted(noted for noted in _slots(content) if noted is not None)

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
        self._blocks.clear()
        self._wanted.clear()
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
        if flags & os.O_CREAT and not self._blocks:
            private_folder(self._path.parent)
        descriptor = os.open(self._path, flags | _FLAGS, 0o600)
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


def _slots(content: bytes | bytearray) -> list[NotedLines | None]:
    return [_parsed(content[start : start + _SLOT.size]) for start in range(0, len(content), _SLOT.size)]


def _parsed(slot: bytes | bytearray) -> NotedLines | None:
    if len(slot) < _SLOT.size:
        return None
    namespace, first, last, head, checksum = _SLOT.unpack(slot)
    sound = last and checksum == _checksum(namespace, first, last, head)
    return NotedLines(UUID(bytes=namespace), first, last, head) if sound else None


def _checksum(namespace: bytes, first: int, last: int, head: bytes) -> int:
    return crc32(namespace + b"%d %d " % (first, last) + head)
