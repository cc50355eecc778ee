"""Where the log of each namespace ends, noted once more outside the database.

SQLite drops the tail of a damaged write-ahead log without a word, and the file may be replaced by an older one: both
leave a store that is sound in itself. Only something outside can say that changes are missing.

The database is on disk before a line of the mirror is written, so the mirror is never ahead. It is not synced: when it
is lost or older, nothing is known, and nothing is wrong.
"""

from __future__ import annotations

import hmac
import os
import struct
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final
from zlib import crc32

from perdure.errors import StoreDamaged, StoreError
from perdure.model import Finding
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.file import Place
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL, lock, opened
from perdure.store.sqlite.sql import SQL

_MAGIC: Final = b"perdure-head-1\x00\x00"
_HEADER: Final = struct.Struct("<16s16sQI20x")
_SLOT: Final = struct.Struct("<Q32sI20x")
# A namespace beyond it is not mirrored: the file stays below 64 MiB, whatever an id claims to be.
_MOST: Final = 1_000_000

LOST: Final = (
    "Bring the changes back from a backup, or from another copy of the file and its log; "
    "`perdure doctor --repair` accepts the store as it is now."
)
_WRITABLE: Final = "Free some space, and check the permissions of the store's directory."
_ACCEPT: Final = "Look at its history; `perdure doctor --repair` accepts the store as it is now."


@dataclass(frozen=True, slots=True)
class Owner:
    """Whose mirror it is. The era is a higher one each time the whole store was replaced on purpose."""

    store: bytes
    era: int


@dataclass(frozen=True, slots=True)
class End:
    """Where a log ends."""

    seq: int
    head: bytes


@dataclass(frozen=True, slots=True)
class Mirrored:
    owner: Owner
    ends: Mapping[int, End] = field(default_factory=dict[int, End])


def owner_of(connection: Database) -> Owner:
    secret = connection.execute(SQL["get_meta"], ("secret",)).get
    if not isinstance(secret, bytes):
        raise StoreDamaged("The store has lost its secret.")
    era = connection.execute(SQL["get_meta"], ("era",)).get or 0
    if not isinstance(era, int) or era < 0:
        raise StoreDamaged("The store does not know any more how often it was brought back.")
    return Owner(hmac.digest(secret, b"mirror", "sha256")[:16], era)


class Mirror:
    """The file `<store>-head`. Whoever writes it must not fail because of it: only `replace` raises an OSError."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._path = f"{place.path}-head"

    def note(
        self, owner: Owner, namespace: int, before: End, after: End, hash_at: Callable[[int], bytes | None]
    ) -> None:
        """After a commit that took the log from one end to another. A line that the log no longer knows stays, for
        doctor to find, however far the log has come since.
        """
        if namespace >= _MOST:
            return
        with opened(self._place, self._path, os.O_RDWR | os.O_CREAT) as descriptor:
            lock(descriptor)
            found = _read_owner(descriptor)
            if found is None or found.store != owner.store or found.era < owner.era:
                _write(descriptor, owner, {})
            elif found.era > owner.era:
                return
            old = _read_end(descriptor, namespace)
            if old is None or old == before or (old.seq < before.seq and hash_at(old.seq) == old.head):
                os.pwrite(descriptor, _packed(after), _offset(namespace))

    def replace(self, owner: Owner, ends: Mapping[int, End]) -> None:
        with opened(self._place, self._path, os.O_RDWR | os.O_CREAT) as descriptor:
            lock(descriptor)
            _write(descriptor, owner, ends)

    def read(self) -> Mirrored | None:
        """None when there is none, or what is there is not one."""
        try:
            with opened(self._place, self._path, os.O_RDONLY) as descriptor:
                owner = _read_owner(descriptor)
                if owner is None:
                    return None
                count = (min(os.fstat(descriptor).st_size, _offset(_MOST)) - _HEADER.size) // _SLOT.size
                ends = ((n, _read_end(descriptor, n)) for n in range(1, count + 1))
                return Mirrored(owner, {n: end for n, end in ends if end is not None})
        except OSError:
            return None


def compare(connection: Database, mirrored: Mirrored | None) -> Iterator[Finding]:
    """The mirror has to be read before the database: commits may come between, and the mirror follows them."""
    if mirrored is None:
        yield Finding("mirror", "ok", "The ends of the log are not mirrored yet; the next change does it.")
        return
    owner = owner_of(connection)
    if mirrored.owner.store != owner.store:
        sentence = (
            "The mirror beside the store is that of another store, so nobody can say whether changes are missing."
        )
        yield Finding("mirror", "warning", sentence, "The next change replaces it; `perdure doctor --repair` as well.")
        return
    if mirrored.owner.era < owner.era:
        yield Finding("mirror", "ok", "The store was brought back from a backup; the next change mirrors it.")
        return
    if mirrored.owner.era > owner.era:
        sentence = "The file was replaced by one from before it was last brought back from a backup."
        yield Finding("mirror", "problem", sentence, LOST)
        return
    wrong = list(_differences(connection, mirrored.ends))
    yield from wrong or [Finding("mirror", "ok", "The log ends where it ended after the last change.")]


def _differences(connection: Database, ends: Mapping[int, End]) -> Iterator[Finding]:
    known = {namespace: (name, seq) for namespace, name, seq in connection.execute(SQL["namespace_statistics"])}
    for namespace, end in ends.items():
        name, seq = known.get(namespace, (None, 0))
        shown = (
            f"Namespace {name!r}" if name is not None else f"A namespace whose name is gone (its id was {namespace})"
        )
        if seq < end.seq:
            missing = end.seq - seq
            gone = f"the last {missing} changes are gone" if missing > 1 else "the last change is gone"
            cause = "the write-ahead log was cut or the file was replaced by an older one"
            yield Finding("mirror", "problem", f"{shown}: {gone}: {cause}.", LOST)
        elif hash_at(connection, namespace, end.seq) != end.head:
            sentence = f"{shown}: change {end.seq} is not the one that was made: the log was written anew from there."
            yield Finding("mirror", "problem", sentence, _ACCEPT)


def accept(pool: Pool, mirror: Mirror) -> Iterator[Finding]:
    """The store as it is now becomes what the mirror shows."""
    mirrored = mirror.read()
    try:
        with pool.reading() as connection:
            owner, ends = owner_of(connection), ends_of(connection)
            wrong = [finding for finding in compare(connection, mirrored) if finding.level != "ok"]
        mirror.replace(owner, ends)
    except StoreError:
        return  # Doctor says so.
    except OSError as error:
        yield Finding("repair_mirror", "warning", f"The mirror of the log cannot be written: {error}.", _WRITABLE)
        return
    for finding in wrong:
        yield Finding("repair_mirror", "ok", f"Accepted as it is now. {finding.sentence}")


def hash_at(connection: Database, namespace: int, seq: int) -> bytes | None:
    return connection.execute(SIDECAR_SQL["hash_at"], (namespace, seq)).get


def ends_of(connection: Database) -> dict[int, End]:
    rows = connection.execute(SIDECAR_SQL["ends_of_logs"]).fetchall()
    return {namespace: End(seq, head) for namespace, seq, head in rows if seq}


def _offset(namespace: int) -> int:
    """Ids begin at 1."""
    return _HEADER.size + (namespace - 1) * _SLOT.size


def _packed(end: End) -> bytes:
    return _SLOT.pack(end.seq, end.head, crc32(b"%d" % end.seq + end.head))


def _write(descriptor: int, owner: Owner, ends: Mapping[int, End]) -> None:
    os.ftruncate(descriptor, 0)
    header = (_MAGIC, owner.store, owner.era)
    os.pwrite(descriptor, _HEADER.pack(*header, crc32(_MAGIC + owner.store + b"%d" % owner.era)), 0)
    for namespace, end in _mirrorable(ends):
        os.pwrite(descriptor, _packed(end), _offset(namespace))


def _mirrorable(ends: Mapping[int, End]) -> Iterable[tuple[int, End]]:
    return ((namespace, end) for namespace, end in ends.items() if namespace < _MOST)


def _read_owner(descriptor: int) -> Owner | None:
    content = os.pread(descriptor, _HEADER.size, 0)
    if len(content) < _HEADER.size:
        return None
    magic, store, era, checksum = _HEADER.unpack(content)
    sound = magic == _MAGIC and checksum == crc32(_MAGIC + store + b"%d" % era)
    return Owner(store, era) if sound else None


def _read_end(descriptor: int, namespace: int) -> End | None:
    content = os.pread(descriptor, _SLOT.size, _offset(namespace))
    if len(content) < _SLOT.size:
        return None
    seq, head, checksum = _SLOT.unpack(content)
    return End(seq, head) if seq and checksum == crc32(b"%d" % seq + head) else None
