"""Restore a backup over a store, all or nothing, while no other connection has the store open.

The backup is copied to a staging file beside the store, brought up to date, checked, and rid of everything that was
erased since. Only then do its pages go into the store's file, in one transaction of SQLite's own. The file is not
replaced by another: a process that opened it just before would go on writing to the old one.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import stat
import tempfile
from collections import defaultdict
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC
from pathlib import Path
from typing import Final

from perdure.buggify import point
from perdure.clock import Clock
from perdure.errors import BackupFailed, StoreDamaged, StoreError
from perdure.ids import ContentHash, new_id
from perdure.model import BackupRestored, Change, Identity, forgotten_as
from perdure.remedies import Remedy, Run
from perdure.store.erasure import LedgerLines, fingerprint, parse_ledger
from perdure.store.hash_chain import genesis
from perdure.store.port import Progress
from perdure.store.rows import NUMBER_BITS, NUMBER_MASK, unpack_id
from perdure.store.sqlite import fork
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.backup import partial_files, staging
from perdure.store.sqlite.backup.create import BACKUP_PATHS, CHECKSUM, copy_to, merge_paths, note_paths
from perdure.store.sqlite.erasure_ledger import Ledger, erasures
from perdure.store.sqlite.file import StoreFile, file_identity, size_of
from perdure.store.sqlite.log_head import LogHead
from perdure.store.sqlite.migrate import check_schema_version, migrate
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.reader import SqliteReader
from perdure.store.sqlite.sidecar import SIDECAR_SQL
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.writer import SqliteWriter

_CLOCK: Final = "note:clock"
_ACTOR: Final = "perdure"
_NAME_BACKUP: Final = Remedy("Name a file that ", Run("backup"), " wrote.")
_OTHER_COPY: Final = "Use another copy of this backup, or an earlier backup; the store is as it was."
_NAME_LEDGER: Final = "Name the file beside the store that it was erased from; its name ends in -erased."
_NEW_FILE: Final = Remedy("Choose a new file for it: ", Run("restore-backup", "FILE", store="NEW"))
_NO_CHECKSUM: Final = "There is no checksum beside the backup; its content was checked all the same."
_NO_LEDGER: Final = (
    "If memories were erased after the backup was made, they are back. The store they were erased from lists them in a "
    "file beside it, whose name ends in -erased; restore once more with that file, and keep no copy of this: "
    "erased=FILE, keep=False (--erased FILE --no-keep)."
)


@dataclass(frozen=True, slots=True)
class RestoreTarget:
    """The store whose content is replaced, and the files beside it."""

    pool: Pool
    file: StoreFile
    log_head: LogHead | None
    ledger: Ledger | None
    clock: Clock


def restore_backup(
    target: RestoreTarget, path: str, *, keep: bool, erased: str | None, progress: Progress | None
) -> BackupRestored:
    source = _regular_file(path, _NAME_BACKUP)
    in_file = target.file.identity is not None
    beside = target.file.path if in_file else str(Path(tempfile.gettempdir()) / "perdure-memory")
    stem = f"{beside}.before-{target.clock().astimezone(UTC):%Y%m%dT%H%M%SZ}"
    names = (stem if n == 1 else f"{stem}-{n}" for n in range(1, 1000))
    kept = next(name for name in names if file_identity(name) is None) if keep and in_file else None
    try:
        with (
            partial_files.create_partial(beside, "restoring") as partial,
            _staged(source, partial) as (copy, proved),
            target.pool.alone() as live,
        ):
            has_content = bool(live.execute(SQL["namespace_names"]).fetchall())
            with copy.reading() as staged:
                secrets = {connection.execute(SQL["get_meta"], ("secret",)).get for connection in (live, staged)}
            if has_content and len(secrets) > 1:
                sentence = f"{source} is the backup of another store, and this one is not empty."
                raise BackupFailed(sentence, remedy=_NEW_FILE)
            # The paths are noted before the old store is copied, so that an erasure can name the copy in any case.
            copies = [path for path in (kept, source) if path is not None]
            note_paths(target.pool, *copies)
            erased_ids = _erased_ids(target, live, erased)
            erased_again = _erase_again(copy, erased_ids, target.clock)
            _carry_over(live, copy, copies)
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
        # When this fails, doctor sees by the era that the file is an old one.
        with suppress(OSError, StoreError), target.pool.reading() as connection:
            target.log_head.renew(connection)
    point("restore: mirrored")
    notes = (*(() if proved else (_NO_CHECKSUM,)), *(() if erased_ids or erased or has_content else (_NO_LEDGER,)))
    return BackupRestored(source, memories, erased_again, kept, notes)


def _regular_file(path: str, remedy: str | Remedy) -> str:
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


@contextmanager
def _staged(source: str, partial: str) -> Generator[tuple[Pool, bool]]:
    """A copy of the backup, up to date and checked, and whether a checksum proves it. SQLite never opens the backup."""
    if size_of(f"{source}-wal"):
        remedy = Remedy("Make one from it: ", Run("backup", "FILE", store=source))
        raise BackupFailed(f"{source} has a write-ahead log beside it, so it is not a finished backup.", remedy=remedy)
    shutil.copyfile(source, partial)
    proved = file_identity(source + CHECKSUM) is not None
    if proved:
        with Path(partial).open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        words = Path(source + CHECKSUM).read_text("utf-8", "replace").split()
        if not words or words[0].lstrip("\\").lower() != digest:
            raise BackupFailed(
                f"{source} was changed after it was written: its checksum is another one.", remedy=_OTHER_COPY
            )
    point("restore: fetched")
    with staging.opened(partial) as (file, copy):
        try:
            staging.leave_wal(copy)
            with copy.maintaining() as connection:
                if check_schema_version(connection, file) == 0:
                    raise BackupFailed(f"{source} is empty.")
                migrate(connection, file)
            damage = staging.damage_of(copy)
        except StoreError as error:
            sentence = error.sentence.replace(file.path, source)
            # The remedy for a damaged store does not help with a damaged copy.
            remedy = _OTHER_COPY if isinstance(error, StoreDamaged) else error.advice
            told = sentence if sentence.startswith(source) else f"{source} cannot be used: {sentence}"
            raise BackupFailed(told, remedy=remedy) from error
        if damage is not None:
            raise BackupFailed(f"{source} is damaged: {damage}", remedy=_OTHER_COPY)
        point("restore: checked")
        yield copy, proved


def _erased_ids(target: RestoreTarget, live: Database, ledger_path: str | None) -> set[str]:
    """Fingerprints of everything that was erased, as far as the log, the ledger and the given list know."""
    logged = erasures(live)
    listed: LedgerLines = {}
    if ledger_path is not None:
        source = _regular_file(ledger_path, _NAME_LEDGER)
        listed = parse_ledger(Path(source).read_bytes())
        if not listed:
            raise BackupFailed(f"{source} is not a list of erased memories.", remedy=_NAME_LEDGER)
    erased_ids = {fingerprint(erasure.memory) for erasure in logged} | listed.keys()
    if target.ledger is not None:
        # The log that names them is about to be replaced; other backups may still hold them.
        target.ledger.complete(logged)
        target.ledger.adopt(listed)
        erased_ids |= target.ledger.fingerprints()
    return erased_ids


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
                if record is not None:
                    for identity in forgotten_as(record):
                        writer.add_tombstone(identity, "erased", change.at)
            writer.finish()
    if numbers:
        with copy.maintaining() as connection:
            connection.execute(SIDECAR_SQL["delete_scrub"])
            run(connection, SIDECAR_SQL["compact"])
    point("restore: erased")
    return sum(map(len, numbers.values()))


def _carry_over(live: Database, copy: Pool, copies: list[str]) -> None:
    """Carry over what a store keeps when its content is replaced: ID counters, tombstones of erased texts, the trusted
    time, the paths of its backups, and the list of what left this machine. The era and the count of repairs rise, so
    that running processes read it anew.
    """
    counters = live.execute(SIDECAR_SQL["namespace_counters"]).fetchall()
    tombstones = live.execute(SIDECAR_SQL["erased_texts"]).fetchall()
    names = ("era", "repairs", BACKUP_PATHS, _CLOCK)
    meta = {name: live.execute(SQL["get_meta"], (name,)).get for name in names}
    calls = live.execute(SIDECAR_SQL["all_calls"]).fetchall()
    with copy.writing() as connection:
        for call in calls:
            connection.execute(SIDECAR_SQL["add_call"], call)
        staged_meta = {name: connection.execute(SQL["get_meta"], (name,)).get for name in names}
        for namespace, name, number, vector, created_at in counters:
            connection.execute(SIDECAR_SQL["add_namespace"], (namespace, name, genesis(name), created_at))
            connection.execute(SIDECAR_SQL["raise_counters"], (number, vector, name))
        ids = {name: namespace for namespace, name in connection.execute(SQL["namespace_names"])}
        for namespace in {namespace for namespace, *_ in tombstones}:
            reader = SqliteReader(connection, ids[namespace], namespace)
            rows = connection.execute(SIDECAR_SQL["active_texts"], (ids[namespace],))
            identities = (Identity(ContentHash(text.hex()), *rest) for text, *rest in rows)
            active = {digest for identity in identities for digest in reader.tombstone_digests(identity)[::2]}
            for row in tombstones:
                # A text that the backup has in another memory is not a deleted one.
                if row[0] == namespace and row[1] not in active:
                    connection.execute(SQL["add_tombstone"], (ids[namespace], *row[1:]))
        for name in ("era", "repairs"):
            connection.execute(SQL["change_meta"], (name, max(meta[name] or 0, staged_meta[name] or 0) + 1))
        if meta[_CLOCK] is not None:
            connection.execute(SQL["change_meta"], (_CLOCK, meta[_CLOCK]))
        paths = merge_paths(json.dumps(copies), meta[BACKUP_PATHS], staged_meta[BACKUP_PATHS])
        connection.execute(SQL["change_meta"], (BACKUP_PATHS, paths))
