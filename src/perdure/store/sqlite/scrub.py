"""Make sure that what was erased is in no file any more.

Three places still hold it after the deletion is committed. The write-ahead log has pages as they were. The full-text
index keeps words until its pieces are merged. And SQLite, when it moves rows from page to page, leaves copies of them
in the unused parts of pages, which `secure_delete` does not reach: only writing the file anew does. Besides, whoever
died while making a backup or bringing one back has left a part of a copy.

An erasure leaves a wish in the database, in its own transaction. It is granted by whoever comes first: the process that
erased, or the next that opens or closes the store.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Final

import apsw

from perdure.buggify import point
from perdure.errors import StoreBusy, StoreError, StoreFull
from perdure.store.sqlite.apsw_types import run
from perdure.store.sqlite.backup import partial_files
from perdure.store.sqlite.backup.create import noted_paths
from perdure.store.sqlite.erasure_ledger import Ledger, erasures
from perdure.store.sqlite.file import Place
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sidecar import SIDECAR_SQL
from perdure.store.sqlite.sql import SQL

_PASSING: Final = 0.25
# Before a wish of which only the log is left to do.
_REWRITTEN: Final = "log "


def scrub(pool: Pool, place: Place, ledger: Ledger | None, patience: float) -> bool:
    try:
        asked = _wish(pool)
        swept = _sweep(pool, place)
        point("scrub: swept")
        if asked is not None and ledger is not None:
            with pool.reading() as connection:
                erased = erasures(connection)
            ledger.complete(erased)
        point("scrub: ledger complete")
        # First of all, because whoever keeps the log from being emptied would see it grow by a whole store.
        _empty_log(pool, place, patience)
        point("scrub: log empty")
        if asked is not None:
            _grant(pool, place, asked, patience, swept=swept)
    except (OSError, StoreBusy, StoreFull):
        return False
    return swept


def scrub_in_passing(pool: Pool, place: Place, ledger: Ledger | None) -> None:
    """When a store is opened or closed: somebody's erasure may have died half way. Not worth an error, nor a wait."""
    with suppress(StoreError):
        if _wish(pool) is not None:
            scrub(pool, place, ledger, _PASSING)


def _wish(pool: Pool) -> str | None:
    with pool.reading() as connection:
        return connection.execute(SQL["get_meta"], ("scrub",)).get


def _sweep(pool: Pool, place: Place) -> bool:
    """Also false while somebody works on a copy: what will become of it, nobody knows yet."""
    restored = place.identity is None or partial_files.sweep([place.path], "restoring")
    return partial_files.sweep(noted_paths(pool), "partial") and restored


def _grant(pool: Pool, place: Place, asked: str, patience: float, *, swept: bool) -> None:
    """As far as it can be. What is left of the wish is for whoever comes next."""
    if place.identity is not None and not asked.startswith(_REWRITTEN):
        with pool.maintaining(patience) as connection:
            run(connection, SIDECAR_SQL["compact"])
        point("scrub: file rewritten")
        rewritten = _REWRITTEN + asked
        with pool.writing(patience) as connection:
            connection.execute(SIDECAR_SQL["change_scrub"], (rewritten, asked))
        asked = rewritten
        _empty_log(pool, place, patience)
        point("scrub: log empty again")
    if swept:
        with pool.writing(patience) as connection:
            connection.execute(SIDECAR_SQL["clear_scrub"], (asked,))


def _empty_log(pool: Pool, place: Place, patience: float) -> None:
    """SQLite refuses unless it could do all of it. In another journal mode nothing is left after a commit."""
    with pool.maintaining(patience) as connection:
        if place.identity is not None and connection.pragma("journal_mode") == "wal":
            connection.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
