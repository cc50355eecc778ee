"""Remove erased text from every file of the store.

Four places still hold it after the erasure is committed. The write-ahead log has pages as they were. The full-text
index keeps words until its pieces are merged. SQLite, when it moves rows from page to page, leaves copies of them
in the unused parts of pages, which `secure_delete` does not reach: only writing the file anew does. And the files of
recall indexes have names and vectors of it. Besides, a process that died while it made or restored a backup has left a
part of a copy.

An erasure leaves a request in the database, in its own transaction. The process that erased carries it out, or the next
one that opens or closes the store.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import apsw

from perdure.buggify import point
from perdure.errors import StoreBusy, StoreError, StoreFull
from perdure.store.index_folder import IndexFolder
from perdure.store.sqlite.apsw_types import run
from perdure.store.sqlite.backup import partial_files
from perdure.store.sqlite.erasure_ledger import Ledger, erasures
from perdure.store.sqlite.file import StoreFile
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL
from perdure.store.sqlite.sql import SQL

_PASSING: Final = 0.25
# The prefix of a request whose file is rewritten already, so that only the log is left to empty.
_REWRITTEN: Final = "log "


def scrub(pool: Pool, file: StoreFile, ledger: Ledger | None, indexes: IndexFolder | None, patience: float) -> bool:
    """True when no erased text is left in any file. Otherwise the next process that opens the store does the rest."""
    from perdure.store.sqlite.backup.create import noted_paths

    in_file = file.identity is not None
    try:
        request = _request(pool)
        # An unfinished copy counts as well: it may still become a backup.
        swept = not in_file or partial_files.remove_abandoned([file.path], "restoring")
        swept = partial_files.remove_abandoned(noted_paths(pool), "partial") and swept
        if request is not None and indexes is not None:
            # All of them: they are made of the whole store, which is written anew as well.
            indexes.clear()
        point("scrub: swept")
        if request is not None and ledger is not None:
            with pool.reading() as connection:
                erased = erasures(connection)
            ledger.complete(erased)
        point("scrub: ledger complete")
        # Before the file is rewritten: while a reader keeps the log from being emptied, it would grow by a whole store.
        _empty_log(pool, file, patience)
        point("scrub: log empty")
        if request is not None and in_file and not request.startswith(_REWRITTEN):
            with pool.maintaining(patience) as connection:
                run(connection, SIDECAR_SQL["compact"])
            point("scrub: file rewritten")
            with pool.writing(patience) as connection:
                connection.execute(SIDECAR_SQL["change_scrub"], (_REWRITTEN + request, request))
            request = _REWRITTEN + request
            _empty_log(pool, file, patience)
            point("scrub: log empty again")
        if request is not None and swept:
            with pool.writing(patience) as connection:
                connection.execute(SIDECAR_SQL["clear_scrub"], (request,))
    except (OSError, StoreBusy, StoreFull):
        return False
    return swept


def scrub_in_passing(pool: Pool, file: StoreFile, ledger: Ledger | None, indexes: IndexFolder | None) -> None:
    """When a store is opened or closed: a process may have died in the middle of an erasure. Errors do not matter."""
    with suppress(StoreError):
        if _request(pool) is not None:
            scrub(pool, file, ledger, indexes, _PASSING)


def _request(pool: Pool) -> str | None:
    with pool.reading() as connection:
        return connection.execute(SQL["get_meta"], ("scrub",)).get


def _empty_log(pool: Pool, file: StoreFile, patience: float) -> None:
    """SQLite refuses unless it can empty all of it. In another journal mode nothing is left after a commit."""
    with pool.maintaining(patience) as connection:
        if file.identity is not None and connection.pragma("journal_mode") == "wal":
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
