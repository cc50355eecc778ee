"""Make a store what a backup was, all or nothing, under the feet of every open connection.

The backup is copied beside the store, brought up to date, checked, and rid of everything that was erased since. Only
then does it go into the store, in one transaction of SQLite's own: whoever reads sees the old content or the new.
"""

from __future__ import annotations

import os
import stat
import tempfile
from collections import defaultdict
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from perdure.buggify import point
from perdure.clock import Clock
from perdure.errors import BackupFailed, StoreBusy, StoreError
from perdure.ids import new_id
from perdure.model import BackupRestored, Change
from perdure.store.port import Progress
from perdure.store.sqlite import copies, fork
from perdure.store.sqlite.backup import CHECKSUM, backup
from perdure.store.sqlite.beside import BESIDE, write_all
from perdure.store.sqlite.chain import genesis
from perdure.store.sqlite.connection import Patience
from perdure.store.sqlite.database import Database, run
from perdure.store.sqlite.file import Place, identity_of, size_of
from perdure.store.sqlite.ledger import Erasure, Ledger, erasures, fingerprint
from perdure.store.sqlite.migrate import check_ours, migrate
from perdure.store.sqlite.mirror import End, Mirror, ends_of, owner_of
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.rows import NUMBER_BITS, NUMBER_MASK, unpack_id
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.writer import SqliteWriter

if TYPE_CHECKING:
    import apsw

_ATTEMPTS: Final = 3
_PIECE: Final = 1 << 20
_SECONDS: Final = 30.0
# What a store remembers beside its memories, and does not forget because it is set back.
_CARRIED: Final = ("note:backups", "note:clock")
_ACTOR: Final = "perdure"


@dataclass(frozen=True, slots=True)
class Home:
    """The store that is replaced, and what lies beside it."""

    pool: Pool
    place: Place
    mirror: Mirror | None
    ledger: Ledger | None
    clock: Clock


class Numbering(NamedTuple):
    namespace: int
    name: str
    number: int
    vector: int
    created_at: int


class Standing(NamedTuple):
    """How a store stands: when this is the same, nothing was written, forgotten or erased meanwhile."""

    numbering: tuple[Numbering, ...]
    ends: dict[int, End]


class Present(NamedTuple):
    standing: Standing
    secret: object
    meta: dict[str, Any]
    erased: list[Erasure]


def restore_backup(home: Home, path: str, *, keep: bool, progress: Progress | None) -> BackupRestored:
    source = _source(path)
    stem = home.place.path if home.place.identity is not None else str(Path(tempfile.gettempdir()) / "perdure-memory")
    partial = copies.temporary(stem, "restoring")
    try:
        copies.create(partial)
        proved = _fetch(source, partial, progress)
        point("restore: fetched")
        with copies.opened(partial) as (place, copy):
            _bring_up_to_date(copy, place, source)
            point("restore: checked")
            erased, kept = _put_in_place(home, copy, source, keep=keep, progress=progress)
            memories, _ = copies.contents(copy)
    except OSError as error:
        raise copies.failed(error, source) from error
    finally:
        copies.discard(partial)
    mirror_anew(home)
    point("restore: mirrored")
    notes = () if proved else ("There is no checksum beside the backup; what it holds was checked all the same.",)
    return BackupRestored(source, memories, erased, kept, notes)


def mirror_anew(home: Home) -> None:
    if home.mirror is None:
        return
    try:
        with home.pool.snapshot() as connection:
            owner, ends = owner_of(connection), ends_of(connection)
        home.mirror.replace(owner, ends)
    except (OSError, StoreError):
        return  # The era tells doctor that the mirror is an old one.


def _source(path: str) -> str:
    source = str(Path(path).absolute())
    try:
        found = Path(source).stat()
    except (OSError, ValueError) as error:
        raise BackupFailed(f"{path}: there is no such file.") from error
    if not stat.S_ISREG(found.st_mode):
        raise BackupFailed(f"{source} is not a plain file.")
    if fork.is_open((found.st_dev, found.st_ino)):
        raise BackupFailed(f"{source} is a store that is in use.", remedy="Name a file that `perdure backup` wrote.")
    if size_of(f"{source}-wal"):
        raise BackupFailed(
            f"{source} has a write-ahead log beside it, so it is not a finished backup.",
            remedy=f"Make one from it: perdure backup FILE --store {source}",
        )
    return source


def _fetch(source: str, partial: str, progress: Progress | None) -> bool:
    """Byte by byte: SQLite never touches the backup itself. True when a checksum proves it."""
    expected = _expected(source)
    total, done, digest = size_of(source), 0, sha256()
    descriptor = os.open(partial, os.O_WRONLY)
    try:
        with Path(source).open("rb") as stream:
            while piece := stream.read(_PIECE):
                write_all(descriptor, piece)
                digest.update(piece)
                done += len(piece)
                if progress is not None:
                    progress(done, total)
    finally:
        os.close(descriptor)
    if expected is not None and digest.hexdigest() != expected:
        raise BackupFailed(f"{source} is not as it was written: its checksum is another one.")
    return expected is not None


def _expected(source: str) -> str | None:
    try:
        words = Path(source + CHECKSUM).read_text("utf-8", "replace").split()
    except FileNotFoundError:
        return None
    return words[0].lstrip("\\").lower() if words else ""


def _bring_up_to_date(copy: Pool, place: Place, source: str) -> None:
    try:
        copies.stand_alone(copy)
        with copy.maintaining() as connection:
            if check_ours(connection, place) == 0:
                raise BackupFailed(f"{source} is empty.")
            migrate(connection, place)
        damage = copies.damage_of(copy)
    except StoreError as error:
        sentence = error.sentence.replace(place.path, source)
        raise BackupFailed(f"{source} cannot be used: {sentence}", remedy=error.remedy) from error
    if damage is not None:
        raise BackupFailed(f"{source} is damaged: {damage}")


def _put_in_place(
    home: Home, copy: Pool, source: str, *, keep: bool, progress: Progress | None
) -> tuple[int, str | None]:
    """How many memories were erased again, and where the store as it was is kept."""
    erased, kept = 0, None
    for attempt in range(1, _ATTEMPTS + 1):
        with ExitStack() as stack:
            # When others write all the time, they have to wait until everything is done.
            steps = stack.enter_context(_begun(home, copy)) if attempt == _ATTEMPTS else None
            with home.pool.snapshot() as connection:
                present = _present(connection)
            _refuse_strangers(copy, present, source)
            erased += _erase_again(home, copy, present)
            _adapt(copy, present)
            point("restore: adapted")
            if keep and home.place.identity is not None:
                kept = _keep(home, kept)
            point("restore: kept")
            if _replace(home, copy, present, steps, progress):
                point("restore: written")
                return erased, kept
    raise StoreBusy("Others kept writing to the store.", remedy="Try again when they are done; the store is as it was.")


@contextmanager
def _begun(home: Home, copy: Pool) -> Generator[apsw.Backup | None]:
    """The store with its write lock taken. None in rollback mode, where the lock would keep us from reading it."""
    with home.pool.maintaining() as target, copy.reading() as source:
        if target.pragma("journal_mode") != "wal":
            yield None
            return
        with copies.apsw_backup(target, source) as steps:
            copies.lock(steps, Patience(_SECONDS))
            yield steps


def _present(connection: Database) -> Present:
    names = ("secret", "era", "repairs", *_CARRIED)
    meta = {name: connection.execute(SQL["get_meta"], (name,)).get for name in names}
    return Present(_standing(connection), meta["secret"], meta, erasures(connection))


def _standing(connection: Database) -> Standing:
    rows = connection.execute(BESIDE["numbering"])
    return Standing(tuple(Numbering(*row) for row in rows), ends_of(connection))


def _refuse_strangers(copy: Pool, present: Present, source: str) -> None:
    """Other processes remember the ids of namespaces: one id must never come to mean another namespace."""
    if not present.standing.numbering:
        return
    elsewhere = "Choose a new file for it: perdure restore-backup FILE --store NEW"
    with copy.reading() as connection:
        if connection.execute(SQL["get_meta"], ("secret",)).get != present.secret:
            raise BackupFailed(f"{source} is the backup of another store, and this one is not empty.", remedy=elsewhere)
        theirs = {name: namespace for namespace, name in connection.execute(SQL["namespace_names"])}
    ours = {each.name: each.namespace for each in present.standing.numbering}
    crossed = any(theirs[name] != ours[name] for name in theirs.keys() & ours.keys())
    if crossed or {theirs[name] for name in theirs.keys() - ours.keys()} & set(ours.values()):
        raise BackupFailed(f"{source} and this store went different ways from one beginning.", remedy=elsewhere)


def _erase_again(home: Home, copy: Pool, present: Present) -> int:
    gone = {fingerprint(each.memory) for each in present.erased}
    if home.ledger is not None:
        # The log that names them is about to be replaced; other backups may still hold them.
        home.ledger.complete(present.erased)
        gone |= home.ledger.known()
    with copy.reading() as connection:
        names = dict(connection.execute(SQL["namespace_names"]).fetchall())
        alive: dict[int, list[int]] = defaultdict(list)
        for slot, memory in connection.execute(BESIDE["memory_ids"]):
            if fingerprint(unpack_id(memory)) in gone:
                alive[slot >> NUMBER_BITS].append(slot & NUMBER_MASK)
    for namespace, numbers in alive.items():
        _erase(copy, names[namespace], numbers, home.clock)
    if alive:
        with copy.maintaining() as connection:
            run(connection, BESIDE["compact"])
    point("restore: erased")
    return sum(map(len, alive.values()))


def _erase(copy: Pool, namespace: str, numbers: list[int], clock: Clock) -> None:
    now = clock()
    change = Change("erase", now, new_id(), _ACTOR, "restore")
    with copy.writing() as connection:
        writer = SqliteWriter(connection, namespace, clock)
        for number in numbers:
            record = writer.by_number(number)
            writer.erase(number, change)
            if record is not None and writer.by_content(record.content_hash) is None:
                writer.bury(record.content_hash, "erased", now)
        writer.finish()


def _adapt(copy: Pool, present: Present) -> None:
    """Nothing that was handed out is handed out again, and everyone sees that all may be different."""
    with copy.writing() as connection:
        known = {name for _, name in connection.execute(SQL["namespace_names"])}
        for each in present.standing.numbering:
            if each.name in known:
                connection.execute(BESIDE["raise_numbers"], (each.number, each.vector, each.namespace))
            else:
                row = (each.namespace, each.name, each.number, each.vector, genesis(each.name), each.created_at)
                connection.execute(BESIDE["reserve_namespace"], row)
        for name in ("era", "repairs"):
            own: int = connection.execute(SQL["get_meta"], (name,)).get or 0
            connection.execute(SQL["change_meta"], (name, max(own, present.meta[name] or 0) + 1))
        for name in _CARRIED:
            if present.meta[name] is not None:
                connection.execute(SQL["change_meta"], (name, present.meta[name]))
        # The log of the store still has pages as they were: whoever opens it next empties it.
        connection.execute(SQL["change_meta"], ("scrub", f"log {new_id()}"))


def _keep(home: Home, earlier: str | None) -> str:
    """A store that is damaged is kept as it is: that may be why it is replaced."""
    if earlier is not None:
        path = earlier
    else:
        stem = f"{home.place.path}.before-{home.clock().astimezone(UTC):%Y%m%dT%H%M%SZ}"
        names = (stem if n == 1 else f"{stem}-{n}" for n in range(1, 1000))
        path = next(name for name in names if identity_of(name) is None)
    return backup(home.pool, home.place, path, home.clock, overwrite=earlier is not None, insist=False).path


def _replace(home: Home, copy: Pool, present: Present, steps: apsw.Backup | None, progress: Progress | None) -> bool:
    """False when somebody wrote meanwhile; then nothing has happened."""
    if steps is not None:
        copies.advance(steps, progress, "restore: writing")
        return True
    with _begun(home, copy) as begun:
        with home.pool.reading() as connection:
            if _standing(connection) != present.standing:
                return False
        if begun is not None:
            # Nobody could write any more when we looked, but reading goes on.
            copies.advance(begun, progress, "restore: writing")
            return True
    with home.pool.maintaining() as target, copy.reading() as source, copies.apsw_backup(target, source) as late:
        copies.lock(late, Patience(_SECONDS))
        copies.advance(late, progress, "restore: writing")
    return True
