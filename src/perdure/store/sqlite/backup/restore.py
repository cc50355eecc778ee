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
from perdure.ids import ContentHash, new_id
from perdure.model import BackupRestored, Change
from perdure.store.port import Progress
from perdure.store.sqlite import fork
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.backup import partial_files, staging
from perdure.store.sqlite.backup.create import CHECKSUM, NOTED, copy_to, joined, remember
from perdure.store.sqlite.connection import Patience
from perdure.store.sqlite.erasure_ledger import Erasure, Ledger, Lines, erasures, fingerprint, lines_in
from perdure.store.sqlite.file import Place, identity_of, size_of
from perdure.store.sqlite.hash_chain import genesis
from perdure.store.sqlite.log_head import End, Mirror, ends_of, owner_of
from perdure.store.sqlite.migrate import check_ours, migrate
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.reader import SqliteReader
from perdure.store.sqlite.rows import NUMBER_BITS, NUMBER_MASK, unpack_id
from perdure.store.sqlite.sidecar import SIDECAR_SQL, write_all
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.writer import SqliteWriter

if TYPE_CHECKING:
    import apsw

_ATTEMPTS: Final = 3
_PIECE: Final = 1 << 20
_SECONDS: Final = 30.0
_CLOCK: Final = "note:clock"
_ACTOR: Final = "perdure"
_UNPROVED: Final = "There is no checksum beside the backup; what it holds was checked all the same."
_UNKNOWING: Final = (
    "If anything was erased after the backup was made, it is back. The list of it stands beside the store it was "
    "erased from, in a file whose name ends in -erased; restore once more with it, and keep no copy of this: "
    "erased=FILE, keep=False (--erased FILE --no-keep)."
)


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


class Grave(NamedTuple):
    """A text that was erased, by its digest. Whoever has the same secret has the same digests."""

    namespace: int
    digest: bytes
    at: int
    reason: str


class Standing(NamedTuple):
    """How a store stands: when this is the same, nothing was written, forgotten or erased meanwhile, nor copied."""

    numbering: tuple[Numbering, ...]
    ends: dict[int, End]
    copies: object


class Present(NamedTuple):
    standing: Standing
    secret: object
    meta: dict[str, Any]
    erased: list[Erasure]
    graves: list[Grave]


class Request(NamedTuple):
    """`kept` is where the store as it was goes, None for nowhere; `erased` says what else was erased, and where."""

    source: str
    kept: str | None
    erased: Lines
    progress: Progress | None


class Answer(NamedTuple):
    """`knowing` whether anything could be known of what was erased since the backup."""

    erased: int
    knowing: bool


def restore_backup(
    home: Home, path: str, *, keep: bool, erased: str | None, progress: Progress | None
) -> BackupRestored:
    source = _source(path)
    lines = None if erased is None else _list_of(erased)
    stem = home.place.path if home.place.identity is not None else str(Path(tempfile.gettempdir()) / "perdure-memory")
    try:
        with partial_files.begun(stem, "restoring") as partial:
            proved = _fetch(source, partial, progress)
            point("restore: fetched")
            with staging.opened(partial) as (place, copy):
                _bring_up_to_date(copy, place, source)
                point("restore: checked")
                kept = _place_for_the_old(home) if keep and home.place.identity is not None else None
                # Before a copy is made, and before what the store remembers is carried over.
                known = remember(home.pool, *filter(None, (kept, source)))
                answer = _put_in_place(home, copy, Request(source, kept, lines or {}, progress))
                memories, _ = staging.contents(copy)
    except OSError as error:
        raise staging.failed(error, source) from error
    if not known:
        remember(home.pool, *filter(None, (kept, source)))
    mirror_anew(home)
    point("restore: mirrored")
    knowing = answer.knowing or lines is not None
    notes = (*(() if proved else (_UNPROVED,)), *(() if knowing else (_UNKNOWING,)))
    return BackupRestored(source, memories, answer.erased, kept, notes)


def mirror_anew(home: Home) -> None:
    if home.mirror is None:
        return
    try:
        with home.pool.reading() as connection:
            owner, ends = owner_of(connection), ends_of(connection)
        home.mirror.replace(owner, ends)
    except (OSError, StoreError):
        return  # The era tells doctor that the mirror is an old one.


def _source(path: str) -> str:
    source = _plain(path, "Name a file that `perdure backup` wrote.")
    if size_of(f"{source}-wal"):
        raise BackupFailed(
            f"{source} has a write-ahead log beside it, so it is not a finished backup.",
            remedy=f"Make one from it: perdure backup FILE --store {source}",
        )
    return source


def _plain(path: str, remedy: str) -> str:
    """A file that may be read: no connection of this process has it open."""
    wanted = str(Path(path).absolute())
    try:
        found = Path(wanted).stat()
    except (OSError, ValueError) as error:
        raise BackupFailed(f"{path}: there is no such file.") from error
    if not stat.S_ISREG(found.st_mode):
        raise BackupFailed(f"{wanted} is not a plain file.")
    if fork.is_open((found.st_dev, found.st_ino)):
        raise BackupFailed(f"{wanted} is a store that is in use.", remedy=remedy)
    return wanted


def _list_of(path: str) -> Lines:
    remedy = "Name the file beside the store that it was erased from; its name ends in -erased."
    source = _plain(path, remedy)
    try:
        lines = lines_in(Path(source).read_bytes())
    except OSError as error:
        raise staging.failed(error, source) from error
    if not lines:
        raise BackupFailed(f"{source} is no list of what was erased.", remedy=remedy)
    return lines


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
        staging.stand_alone(copy)
        with copy.maintaining() as connection:
            if check_ours(connection, place) == 0:
                raise BackupFailed(f"{source} is empty.")
            migrate(connection, place)
        damage = staging.damage_of(copy)
    except StoreError as error:
        sentence = error.sentence.replace(place.path, source)
        raise BackupFailed(f"{source} cannot be used: {sentence}", remedy=error.remedy) from error
    if damage is not None:
        raise BackupFailed(f"{source} is damaged: {damage}")


def _put_in_place(home: Home, copy: Pool, request: Request) -> Answer:
    erased, knowing = 0, False
    for attempt in range(1, _ATTEMPTS + 1):
        with ExitStack() as stack:
            # When others write all the time, they have to wait until everything is done.
            steps = stack.enter_context(_begun(home, copy)) if attempt == _ATTEMPTS else None
            with home.pool.reading() as connection:
                present = _present(connection)
            _refuse_strangers(copy, present, request.source)
            gone = _gone(home, present, request.erased)
            knowing = bool(gone or present.standing.numbering)
            erased += _erase_again(home, copy, gone)
            _adapt(copy, present)
            point("restore: adapted")
            if request.kept is not None:
                # A store that is damaged is kept as it is: that may be why it is replaced.
                copy_to(home.pool, request.kept, home.clock, overwrite=attempt > 1, insist=False)
            point("restore: kept")
            if _replace(home, copy, present, steps, request.progress):
                point("restore: written")
                return Answer(erased, knowing)
    raise StoreBusy("Others kept writing to the store.", remedy="Try again when they are done; the store is as it was.")


@contextmanager
def _begun(home: Home, copy: Pool) -> Generator[apsw.Backup | None]:
    """The store with its write lock taken. None in rollback mode, where the lock would keep us from reading it."""
    with home.pool.maintaining() as target, copy.reading() as source:
        if target.pragma("journal_mode") != "wal":
            yield None
            return
        with staging.apsw_backup(target, source) as steps:
            staging.lock(steps, Patience(_SECONDS))
            yield steps


def _present(connection: Database) -> Present:
    names = ("secret", "era", "repairs", NOTED, _CLOCK)
    meta = {name: connection.execute(SQL["get_meta"], (name,)).get for name in names}
    graves = [Grave(*row) for row in connection.execute(SIDECAR_SQL["erased_texts"])]
    return Present(_standing(connection), meta["secret"], meta, erasures(connection), graves)


def _standing(connection: Database) -> Standing:
    rows = connection.execute(SIDECAR_SQL["numbering"])
    known = connection.execute(SQL["get_meta"], (NOTED,)).get
    return Standing(tuple(Numbering(*row) for row in rows), ends_of(connection), known)


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


def _gone(home: Home, present: Present, elsewhere: Lines) -> set[str]:
    gone = {fingerprint(each.memory) for each in present.erased} | elsewhere.keys()
    if home.ledger is not None:
        # The log that names them is about to be replaced; other backups may still hold them.
        home.ledger.complete(present.erased)
        home.ledger.adopt(elsewhere)
        gone |= home.ledger.known()
    return gone


def _erase_again(home: Home, copy: Pool, gone: set[str]) -> int:
    with copy.reading() as connection:
        names = dict(connection.execute(SQL["namespace_names"]).fetchall())
        alive: dict[int, list[int]] = defaultdict(list)
        for slot, memory in connection.execute(SIDECAR_SQL["memory_ids"]):
            if fingerprint(unpack_id(memory)) in gone:
                alive[slot >> NUMBER_BITS].append(slot & NUMBER_MASK)
    for namespace, numbers in alive.items():
        _erase(copy, names[namespace], numbers, home.clock)
    if alive:
        with copy.maintaining() as connection:
            run(connection, SIDECAR_SQL["compact"])
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
            if record is not None and not writer.has_active_text(record.content_hash):
                writer.add_tombstone(record.content_hash, "erased", now)
        writer.finish()


def _adapt(copy: Pool, present: Present) -> None:
    """Nothing that was handed out is handed out again, and everyone sees that all may be different."""
    with copy.writing() as connection:
        known = {name for _, name in connection.execute(SQL["namespace_names"])}
        for each in present.standing.numbering:
            if each.name in known:
                connection.execute(SIDECAR_SQL["raise_numbers"], (each.number, each.vector, each.namespace))
            else:
                row = (each.namespace, each.name, each.number, each.vector, genesis(each.name), each.created_at)
                connection.execute(SIDECAR_SQL["reserve_namespace"], row)
        _bury_again(connection, present.graves)
        for name in ("era", "repairs"):
            own: int = connection.execute(SQL["get_meta"], (name,)).get or 0
            connection.execute(SQL["change_meta"], (name, max(own, present.meta[name] or 0) + 1))
        # What a store remembers beside its memories it does not forget because it is set back.
        if present.meta[_CLOCK] is not None:
            connection.execute(SQL["change_meta"], (_CLOCK, present.meta[_CLOCK]))
        theirs = connection.execute(SQL["get_meta"], (NOTED,)).get
        connection.execute(SQL["change_meta"], (NOTED, joined(present.meta[NOTED], theirs)))
        # The log of the store still has pages as they were: whoever opens it next empties it.
        connection.execute(SQL["change_meta"], ("scrub", f"log {new_id()}"))


def _bury_again(connection: Database, graves: list[Grave]) -> None:
    """What was erased since must not come back from older evidence either, unless the backup says it by another id."""
    names = dict(connection.execute(SQL["namespace_names"]).fetchall())
    for namespace in {grave.namespace for grave in graves}:
        reader = SqliteReader(connection, namespace, names[namespace])
        rows = connection.execute(SIDECAR_SQL["living_texts"], (namespace,))
        alive = {reader.tombstone_digest(ContentHash(content_hash.hex())) for (content_hash,) in rows}
        for grave in graves:
            if grave.namespace == namespace and grave.digest not in alive:
                connection.execute(SQL["add_tombstone"], grave)


def _place_for_the_old(home: Home) -> str:
    stem = f"{home.place.path}.before-{home.clock().astimezone(UTC):%Y%m%dT%H%M%SZ}"
    names = (stem if n == 1 else f"{stem}-{n}" for n in range(1, 1000))
    return next(name for name in names if identity_of(name) is None)


def _replace(home: Home, copy: Pool, present: Present, steps: apsw.Backup | None, progress: Progress | None) -> bool:
    """False when somebody wrote meanwhile; then nothing has happened."""
    if steps is not None:
        staging.advance(steps, progress, "restore: writing")
        return True
    with _begun(home, copy) as begun:
        with home.pool.reading() as connection:
            if _standing(connection) != present.standing:
                return False
        if begun is not None:
            # Nobody could write any more when we looked, but reading goes on.
            staging.advance(begun, progress, "restore: writing")
            return True
    with home.pool.maintaining() as target, copy.reading() as source, staging.apsw_backup(target, source) as late:
        staging.lock(late, Patience(_SECONDS))
        staging.advance(late, progress, "restore: writing")
    return True
