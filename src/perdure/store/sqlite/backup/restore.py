"""Make a store what a backup was, all or nothing, while no other connection has the store open.

The backup is copied to a staging file beside the store, brought up to date, checked, and rid of everything that was
erased since. Only then do its pages go into the store's file, in one transaction of SQLite's own. The file is not
replaced by another: a process that opened it just before would go on writing to the old one.
"""

from __future__ import annotations

import json
import os
import stat
import tempfile
from collections import defaultdict
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, NamedTuple

from perdure.buggify import point
from perdure.clock import Clock
from perdure.errors import BackupFailed, StoreError
from perdure.ids import ContentHash, new_id
from perdure.model import BackupRestored, Change
from perdure.store.port import Progress
from perdure.store.sqlite import fork
from perdure.store.sqlite.apsw_types import Database, Row, run
from perdure.store.sqlite.backup import partial_files, staging
from perdure.store.sqlite.backup.create import BACKUP_PATHS, CHECKSUM, copy_to, merge_paths, note_paths
from perdure.store.sqlite.erasure_ledger import Erasure, Ledger, LedgerLines, erasures, fingerprint, parse_ledger
from perdure.store.sqlite.file import Place, identity_of, size_of
from perdure.store.sqlite.hash_chain import genesis
from perdure.store.sqlite.log_head import LogHead
from perdure.store.sqlite.migrate import check_ours, migrate
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.reader import SqliteReader
from perdure.store.sqlite.rows import NUMBER_BITS, NUMBER_MASK, unpack_id
from perdure.store.sqlite.sidecar import SIDECAR_SQL, write_all
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.writer import SqliteWriter

_CHUNK: Final = 1 << 20
_CLOCK: Final = "note:clock"
_ACTOR: Final = "perdure"
_NO_CHECKSUM: Final = "There is no checksum beside the backup; its content was checked all the same."
_NO_LEDGER: Final = (
    "If anything was erased after the backup was made, it is back. The list of it stands beside the store it was "
    "erased from, in a file whose name ends in -erased; restore once more with it, and keep no copy of this: "
    "erased=FILE, keep=False (--erased FILE --no-keep)."
)


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """The store whose content is replaced, and the files beside it."""

    pool: Pool
    place: Place
    log_head: LogHead | None
    ledger: Ledger | None
    clock: Clock


class CarryOver(NamedTuple):
    """What a store keeps when its content is replaced. The tombstones are those of erased texts."""

    namespaces: list[Row]
    tombstones: list[Row]
    erased: list[Erasure]
    meta: dict[str, Any]


def restore_backup(
    target: RestoreTarget, path: str, *, keep: bool, erased: str | None, progress: Progress | None
) -> BackupRestored:
    source = _regular_file(path, "Name a file that `perdure backup` wrote.")
    if size_of(f"{source}-wal"):
        remedy = f"Make one from it: perdure backup FILE --store {source}"
        raise BackupFailed(f"{source} has a write-ahead log beside it, so it is not a finished backup.", remedy=remedy)
    listed = None if erased is None else _read_erasure_list(erased)
    in_file = target.place.identity is not None
    beside = target.place.path if in_file else str(Path(tempfile.gettempdir()) / "perdure-memory")
    kept = _path_for_old_store(target) if keep and in_file else None
    try:
        with partial_files.begun(beside, "restoring") as partial:
            proved = _fetch(source, partial, progress)
            point("restore: fetched")
            with staging.opened(partial) as (place, copy):
                _migrate_and_check(copy, place, source)
                point("restore: checked")
                with target.pool.alone() as live:
                    # Before the copy of the old store is made, so that an erasure can name it whatever happens next.
                    paths = [path for path in (kept, source) if path is not None]
                    note_paths(target.pool, *paths)
                    carried = _read_carry_over(live)
                    _refuse_other_store(copy, carried, source)
                    erased_ids = _erased_ids(target, carried, listed or {})
                    erased_again = _erase_again(copy, erased_ids, target.clock)
                    _carry_over(copy, carried, paths)
                    point("restore: adapted")
                    if kept is not None:
                        # A damaged store is kept as it is: the damage may be why it is replaced.
                        copy_to(target.pool, kept, target.clock, overwrite=False, sound=False)
                    point("restore: kept")
                    with copy.reading() as staged:
                        staging.copy_pages(live, staged, progress, "restore: writing")
                    point("restore: written")
                memories, _ = staging.counts(copy)
    except OSError as error:
        raise staging.failed(error, source) from error
    if target.log_head is not None:
        # Otherwise doctor sees by the era that the file is an old one.
        with suppress(OSError, StoreError), target.pool.reading() as connection:
            target.log_head.renew(connection)
    point("restore: mirrored")
    knows_erasures = bool(erased_ids or carried.namespaces or listed is not None)
    notes = (*(() if proved else (_NO_CHECKSUM,)), *(() if knows_erasures else (_NO_LEDGER,)))
    return BackupRestored(source, memories, erased_again, kept, notes)


def _regular_file(path: str, remedy: str) -> str:
    """A file that may be read: closing a file that a connection of this process has open would drop its locks."""
    absolute = str(Path(path).absolute())
    try:
        status = Path(absolute).stat()
    except (OSError, ValueError) as error:
        raise BackupFailed(f"{path}: there is no such file.") from error
    if not stat.S_ISREG(status.st_mode):
        raise BackupFailed(f"{absolute} is not a regular file.")
    if fork.is_open((status.st_dev, status.st_ino)):
        raise BackupFailed(f"{absolute} is a store that is in use.", remedy=remedy)
    return absolute


def _read_erasure_list(path: str) -> LedgerLines:
    remedy = "Name the file beside the store that it was erased from; its name ends in -erased."
    source = _regular_file(path, remedy)
    try:
        lines = parse_ledger(Path(source).read_bytes())
    except OSError as error:
        raise staging.failed(error, source) from error
    if not lines:
        raise BackupFailed(f"{source} is not a list of erased memories.", remedy=remedy)
    return lines


def _path_for_old_store(target: RestoreTarget) -> str:
    stem = f"{target.place.path}.before-{target.clock().astimezone(UTC):%Y%m%dT%H%M%SZ}"
    names = (stem if n == 1 else f"{stem}-{n}" for n in range(1, 1000))
    return next(name for name in names if identity_of(name) is None)


def _fetch(source: str, partial: str, progress: Progress | None) -> bool:
    """Copy byte by byte: SQLite never touches the backup itself. True when a checksum proves the copy."""
    try:
        words = Path(source + CHECKSUM).read_text("utf-8", "replace").split()
        expected = words[0].lstrip("\\").lower() if words else ""
    except FileNotFoundError:
        expected = None
    total, done, digest = size_of(source), 0, sha256()
    descriptor = os.open(partial, os.O_WRONLY)
    try:
        with Path(source).open("rb") as stream:
            while chunk := stream.read(_CHUNK):
                write_all(descriptor, chunk)
                digest.update(chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done, total)
    finally:
        os.close(descriptor)
    if expected is not None and digest.hexdigest() != expected:
        raise BackupFailed(f"{source} was changed after it was written: its checksum is another one.")
    return expected is not None


def _migrate_and_check(copy: Pool, place: Place, source: str) -> None:
    try:
        staging.leave_wal(copy)
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


def _read_carry_over(live: Database) -> CarryOver:
    names = ("secret", "era", "repairs", BACKUP_PATHS, _CLOCK)
    return CarryOver(
        live.execute(SIDECAR_SQL["namespace_counters"]).fetchall(),
        live.execute(SIDECAR_SQL["erased_texts"]).fetchall(),
        erasures(live),
        {name: live.execute(SQL["get_meta"], (name,)).get for name in names},
    )


def _refuse_other_store(copy: Pool, carried: CarryOver, source: str) -> None:
    with copy.reading() as connection:
        secret = connection.execute(SQL["get_meta"], ("secret",)).get
    if carried.namespaces and secret != carried.meta["secret"]:
        remedy = "Choose a new file for it: perdure restore-backup FILE --store NEW"
        raise BackupFailed(f"{source} is the backup of another store, and this one is not empty.", remedy=remedy)


def _erased_ids(target: RestoreTarget, carried: CarryOver, listed: LedgerLines) -> set[str]:
    """Fingerprints of everything that was erased, as far as the log, the ledger and the given list know."""
    known = {fingerprint(erasure.memory) for erasure in carried.erased} | listed.keys()
    if target.ledger is not None:
        # The log that names them is about to be replaced; other backups may still hold them.
        target.ledger.complete(carried.erased)
        target.ledger.adopt(listed)
        known |= target.ledger.fingerprints()
    return known


def _erase_again(copy: Pool, erased_ids: set[str], clock: Clock) -> int:
    with copy.reading() as connection:
        names = dict(connection.execute(SQL["namespace_names"]).fetchall())
        numbers: defaultdict[str, list[int]] = defaultdict(list)
        for slot, memory in connection.execute(SIDECAR_SQL["memory_ids"]):
            if fingerprint(unpack_id(memory)) in erased_ids:
                numbers[names[slot >> NUMBER_BITS]].append(slot & NUMBER_MASK)
    change = Change("erase", clock(), new_id(), _ACTOR, "restore")
    for namespace in numbers:
        with copy.writing() as connection:
            writer = SqliteWriter(connection, namespace, clock)
            for number in numbers[namespace]:
                record = writer.by_number(number)
                writer.erase(number, change)
                if record is not None and not writer.has_active_text(record.content_hash):
                    writer.add_tombstone(record.content_hash, "erased", change.at)
            writer.finish()
    if numbers:
        with copy.maintaining() as connection:
            connection.execute(SIDECAR_SQL["delete_scrub"])
            run(connection, SIDECAR_SQL["compact"])
    point("restore: erased")
    return sum(map(len, numbers.values()))


def _carry_over(copy: Pool, carried: CarryOver, paths: list[str]) -> None:
    """Numbers that were given out are not given out again, and what was erased stays erased."""
    with copy.writing() as connection:
        names = {name for _, name in connection.execute(SQL["namespace_names"])}
        for namespace, name, number, vector, created_at in carried.namespaces:
            if name not in names:
                row = (namespace, name, genesis(name), created_at)
                connection.execute(SIDECAR_SQL["add_namespace"], row)
            connection.execute(SIDECAR_SQL["raise_counters"], (number, vector, name))
        _carry_over_tombstones(connection, carried.tombstones)
        for name in ("era", "repairs"):
            own: int = connection.execute(SQL["get_meta"], (name,)).get or 0
            connection.execute(SQL["change_meta"], (name, max(own, carried.meta[name] or 0) + 1))
        if carried.meta[_CLOCK] is not None:
            connection.execute(SQL["change_meta"], (_CLOCK, carried.meta[_CLOCK]))
        theirs = connection.execute(SQL["get_meta"], (BACKUP_PATHS,)).get
        merged = merge_paths(json.dumps(paths), carried.meta[BACKUP_PATHS], theirs)
        connection.execute(SQL["change_meta"], (BACKUP_PATHS, merged))


def _carry_over_tombstones(connection: Database, tombstones: list[Row]) -> None:
    """An erased text must not come back from an older import either, unless the backup has it in another memory."""
    ids = {name: namespace for namespace, name in connection.execute(SQL["namespace_names"])}
    for name in {name for name, *_ in tombstones}:
        reader = SqliteReader(connection, ids[name], name)
        rows = connection.execute(SIDECAR_SQL["active_texts"], (ids[name],))
        active = {reader.tombstone_digest(ContentHash(content_hash.hex())) for (content_hash,) in rows}
        for namespace, digest, at, reason in tombstones:
            if namespace == name and digest not in active:
                connection.execute(SQL["add_tombstone"], (ids[name], digest, at, reason))
