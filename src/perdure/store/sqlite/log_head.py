"""A note of where the log of each namespace ends, kept outside the database.

SQLite drops the tail of a damaged write-ahead log without a word, and the file may be replaced by an older one: both
leave a store that is sound in itself. Only a file beside it can show that changes are missing.

The database is on disk before this file is written, so the file is never ahead. The file is not synced: when it is lost
or older, missing changes go unnoticed, and that is no error.
"""

from __future__ import annotations

import hmac
import os
import struct
from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple
from zlib import crc32

from perdure.errors import StoreDamaged, StoreError
from perdure.model import Finding
from perdure.store.hash_chain import LogEnd
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.file import StoreFile
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL, opened
from perdure.store.sqlite.sql import SQL

_MAGIC: Final = b"perdure-head-1\x00\x00"
_HEADER: Final = struct.Struct("<16s16sQI20x")
# The header is as long as a slot. Ids of namespaces begin at 1, so it stands where slot 0 would be.
_SLOT: Final = struct.Struct("<Q32sI20x")
# Namespaces with larger ids are not noted: the file stays below 64 MiB, whatever a damaged id says.
_MAX_NAMESPACES: Final = 1_000_000

_LOST: Final = (
    "Bring the changes back from a backup, or from another copy of the file and its log; "
    "`perdure doctor --repair` accepts the store as it is now."
)
_WRITABLE: Final = "Free some space, and check the permissions of the store's directory."
_ACCEPT: Final = "Look at its history; `perdure doctor --repair` accepts the store as it is now."


class NotedEnds(NamedTuple):
    """The store, its era (how often a backup was restored into it), and the end of each namespace's log."""

    store: bytes
    era: int
    ends: Mapping[int, LogEnd]


class LogHead:
    """The file `<store>-head`: a header that names the store and its era, then a slot for each namespace."""

    def __init__(self, file: StoreFile, pool: Pool) -> None:
        self._file = file
        self._path = f"{file.path}-head"
        self._pool = pool

    def note(self, header: bytes | None, namespace: int, before: LogEnd, after: LogEnd) -> None:
        """After a commit that took a log from one end to another; `header` is that of the store in the transaction.
        The commit has happened, so nothing here may fail.
        """
        if header is None or before == after or namespace >= _MAX_NAMESPACES:
            return
        try:
            with opened(self._file, self._path, os.O_RDWR | os.O_CREAT, lock=True) as descriptor:
                stored = os.pread(descriptor, _HEADER.size, 0)
                if stored != header:
                    (store, era), noted = _parse_header(header) or (b"", 0), _parse_header(stored)
                    if noted is not None and noted[0] == store and noted[1] > era:
                        return
                    os.ftruncate(descriptor, 0)
                    os.pwrite(descriptor, header, 0)
                offset = namespace * _SLOT.size
                slot = os.pread(descriptor, _SLOT.size, offset)
                earlier = _parse_end(slot) if slot != _pack_end(before) else None
                if earlier is not None:
                    with self._pool.reading() as connection:
                        known = _hash_at(connection, namespace, earlier.seq) == earlier.head
                    # An end that the log no longer has stays for doctor to find, however far the log has come since.
                    if earlier.seq >= before.seq or not known:
                        return
                os.pwrite(descriptor, _pack_end(after), offset)
        except (OSError, StoreError):
            return

    def renew(self, connection: Database) -> None:
        """Note the ends of all logs anew. An OSError when the file cannot be written."""
        header = current_header(connection)
        if header is None:
            raise StoreDamaged("The store has lost its secret.")
        rows = connection.execute(SIDECAR_SQL["ends_of_logs"]).fetchall()
        with opened(self._file, self._path, os.O_RDWR | os.O_CREAT, lock=True) as descriptor:
            os.ftruncate(descriptor, 0)
            os.pwrite(descriptor, header, 0)
            for namespace, seq, head in rows:
                if seq and namespace < _MAX_NAMESPACES:
                    os.pwrite(descriptor, _pack_end(LogEnd(seq, head)), namespace * _SLOT.size)

    def read(self) -> NotedEnds | None:
        """None when there is no such file, or its content is not ours."""
        try:
            with opened(self._file, self._path, os.O_RDONLY) as descriptor:
                header = _parse_header(os.pread(descriptor, _HEADER.size, 0))
                if header is None:
                    return None
                slots = min(os.fstat(descriptor).st_size // _SLOT.size, _MAX_NAMESPACES)
                ends = ((n, _parse_end(os.pread(descriptor, _SLOT.size, n * _SLOT.size))) for n in range(1, slots))
                return NotedEnds(*header, {namespace: end for namespace, end in ends if end is not None})
        except OSError:
            return None

    def accept(self) -> Iterator[Finding]:
        """Renew the file, and report what that accepts."""
        noted = self.read()
        try:
            with self._pool.reading() as connection:
                accepted = [finding for finding in check_log_head(connection, noted) if finding.level != "ok"]
                self.renew(connection)
        except StoreError:
            return  # Doctor reports it.
        except OSError as error:
            yield Finding("repair_mirror", "warning", f"{self._path} cannot be written: {error}.", _WRITABLE)
            return
        for finding in accepted:
            yield Finding("repair_mirror", "ok", f"The store is accepted as it is now. {finding.sentence}")


def current_header(connection: Database) -> bytes | None:
    """The header of the store as it is in this transaction; None when its metadata is damaged."""
    ((secret, era),) = connection.execute(SIDECAR_SQL["era"]).fetchall()
    if not isinstance(secret, bytes) or not isinstance(era, int) or era < 0:
        return None
    store = hmac.digest(secret, b"mirror", "sha256")[:16]
    return _HEADER.pack(_MAGIC, store, era, crc32(_MAGIC + store + b"%d" % era))


def check_log_head(connection: Database, noted: NotedEnds | None) -> list[Finding]:
    """The file has to be read before the database: commits may come between, and the file follows them."""
    current = _parse_header(current_header(connection) or b"")
    if current is None:
        return [Finding("mirror", "problem", "The store has lost its secret.", _LOST)]
    if noted is None:
        return [Finding("mirror", "ok", "The end of the log is not noted yet; the next change notes it.")]
    store, era = current
    if noted.store != store:
        sentence = "The file that notes the end of the log belongs to another store, so missing changes go unnoticed."
        return [Finding("mirror", "warning", sentence, "The next change replaces it, or `perdure doctor --repair`.")]
    if noted.era < era:
        return [Finding("mirror", "ok", "A backup was restored; the next change notes the end of the log.")]
    if noted.era > era:
        sentence = "The file was replaced by one from before a backup was restored."
        return [Finding("mirror", "problem", sentence, _LOST)]
    namespaces = {namespace: (name, seq) for namespace, name, seq in connection.execute(SQL["namespace_statistics"])}
    problems: list[Finding] = []
    for namespace, end in noted.ends.items():
        name, seq = namespaces.get(namespace, (None, 0))
        shown = f"Namespace {name!r}" if name is not None else f"A namespace that is missing (id {namespace})"
        if seq < end.seq:
            missing = f"the last {end.seq - seq} changes are" if end.seq - seq > 1 else "the last change is"
            cause = "the write-ahead log was cut, or the file was replaced by an older one"
            problems.append(Finding("mirror", "problem", f"{shown}: {missing} missing: {cause}.", _LOST))
        elif _hash_at(connection, namespace, end.seq) != end.head:
            sentence = f"{shown}: change {end.seq} is not the original one: the log was rewritten from there."
            problems.append(Finding("mirror", "problem", sentence, _ACCEPT))
    return problems or [Finding("mirror", "ok", "No recent changes are missing from the log.")]


def _hash_at(connection: Database, namespace: int, seq: int) -> bytes | None:
    return connection.execute(SQL["hash_at"], (namespace, seq)).get


def _pack_end(end: LogEnd) -> bytes:
    return _SLOT.pack(end.seq, end.head, crc32(b"%d" % end.seq + end.head))


def _parse_header(content: bytes) -> tuple[bytes, int] | None:
    if len(content) < _HEADER.size:
        return None
    magic, store, era, checksum = _HEADER.unpack(content)
    sound = magic == _MAGIC and checksum == crc32(_MAGIC + store + b"%d" % era)
    return (store, era) if sound else None


def _parse_end(content: bytes) -> LogEnd | None:
    if len(content) < _SLOT.size:
        return None
    seq, head, checksum = _SLOT.unpack(content)
    return LogEnd(seq, head) if seq and checksum == crc32(b"%d" % seq + head) else None
