"""Doctor: every check of a store, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Final, TypeAlias

from perdure.errors import StoreBusy, StoreClosed, StoreError, StoreFull, StoreReadOnly
from perdure.model import Finding
from perdure.store.doctor.findings import REBUILD, RESTORE_BACKUP
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.checks import CHECKS
from perdure.store.sqlite.doctor.environment import check_environment, running_engine
from perdure.store.sqlite.doctor.meta import check_meta, valid_meta
from perdure.store.sqlite.doctor.payloads import check_log
from perdure.store.sqlite.doctor.records import (
    check_checkpoints,
    check_counters,
    check_erasures,
    check_foreign_keys,
    check_integrity,
    check_records,
    check_vectors,
    count_pending,
)
from perdure.store.sqlite.doctor.schema import check_schema
from perdure.store.sqlite.file import StoreFile
from perdure.store.sqlite.log_head import LogHead, check_log_head
from perdure.store.sqlite.pool import Pool

Check: TypeAlias = Callable[[Database], list[Finding]]

# How long the one check that needs the write lock waits for it, in seconds.
_PATIENCE: Final = 2.0


def check(pool: Pool, file: StoreFile, log_head: LogHead | None = None) -> Iterator[Finding]:
    with pool.reading() as connection:
        journal = connection.pragma("journal_mode")
    last_engine = running_engine()
    with suppress(StoreError), pool.reading() as connection:
        last_engine = str(valid_meta(connection, "engine") or last_engine)
    yield from check_environment(file, last_engine, journal)
    if log_head is not None:
        noted = log_head.read()
        yield from _run(pool, "mirror", lambda connection: check_log_head(connection, noted))
    yield from check_content(pool)


def check_content(pool: Pool) -> Iterator[Finding]:
    """The checks of the database alone, which a backup has to pass as well."""
    # A connection that read the full-text index before another process changed it would report damage.
    yield from _run(pool, "integrity", check_integrity, fresh=True)
    yield from _run(pool, "schema", check_schema)
    yield from _run(pool, "foreign_keys", check_foreign_keys)
    yield _check_full_text(pool)
    yield from _run(pool, "records", check_records)
    yield from _run(pool, "statistics", check_counters)
    yield from _run(pool, "chain", check_log)
    yield from _run(pool, "erased", check_erasures)
    yield from _run(pool, "checkpoints", check_checkpoints)
    yield from _run(pool, "vectors", check_vectors)
    yield from _run(pool, "facts", check_meta)
    yield from _run(pool, "pending", count_pending)


def _run(pool: Pool, name: str, check: Check, *, fresh: bool = False) -> list[Finding]:
    """A check that cannot even read is itself a finding."""
    try:
        with pool.reading(fresh=fresh) as connection:
            return check(connection)
    except (StoreBusy, StoreClosed):
        raise
    except StoreError as error:
        return [Finding(name, "problem", error.sentence, RESTORE_BACKUP)]


def _check_full_text(pool: Pool) -> Finding:
    """The check is an insert to SQLite, so it needs the writing connection; it is rolled back in any case. Doctor is
    what people ask when a store is busy, so it does not wait for long.
    """
    try:
        with pool.writing(_PATIENCE, keep=False) as connection:
            run(connection, CHECKS["full_text"])
    except StoreReadOnly as error:
        sentence = "The full-text index was not checked: that needs permission to write."
        return Finding("full_text", "warning", sentence, error.cli_remedy)
    except StoreBusy:
        sentence = "The full-text index was not checked: another process is writing."
        return Finding("full_text", "warning", sentence, "Run `perdure doctor` again when it is done.")
    except (StoreClosed, StoreFull):
        raise
    except StoreError:
        return Finding("full_text", "problem", "The full-text index does not match the keyword index.", REBUILD)
    return Finding("full_text", "ok", "The full-text index matches the keyword index.")
