"""Doctor: one look at everything that can be wrong, each in a transaction of its own."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Final

from perdure.errors import StoreBusy, StoreClosed, StoreError, StoreFull, StoreReadOnly
from perdure.model import Finding
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.environment import running_engine, surroundings
from perdure.store.sqlite.doctor.meta import examine_facts, sound_fact
from perdure.store.sqlite.doctor.payloads import examine_log
from perdure.store.sqlite.doctor.records import (
    CHECKS,
    REPAIR,
    RESCUE,
    examine_checkpoints,
    examine_erasures,
    examine_records,
    examine_statistics,
    examine_vectors,
)
from perdure.store.sqlite.doctor.schema import examine_structure
from perdure.store.sqlite.file import Place
from perdure.store.sqlite.log_head import Mirror, compare
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.statistics import namespace_statistics, newest_generation

# What SQLite says of the full-text index and of links; both are for another check to name.
_DERIVED: Final = re.compile(r"fts5|entry_fts|CHECK constraint failed in link")


def check(pool: Pool, place: Place, mirror: Mirror | None = None) -> Iterator[Finding]:
    with pool.reading() as connection:
        journal = connection.pragma("journal_mode")
    yield from surroundings(place, running_engine(), _written_by(pool), journal)
    if mirror is not None:
        mirrored = mirror.read()
        yield from _look(pool, "mirror", lambda connection: list(compare(connection, mirrored)))
    yield from check_content(pool)


def check_content(pool: Pool) -> Iterator[Finding]:
    """The database alone, wherever it stands."""
    yield _integrity(pool)
    yield from _look(pool, "schema", lambda connection: [examine_structure(connection)])
    yield from _look(pool, "foreign_keys", _foreign_keys)
    yield _full_text(pool)
    yield from _look(pool, "records", examine_records)
    yield from _look(pool, "statistics", examine_statistics)
    yield from _look(pool, "chain", examine_log)
    yield from _look(pool, "erased", lambda connection: [examine_erasures(connection)])
    yield from _look(pool, "checkpoints", lambda connection: [examine_checkpoints(connection)])
    yield from _look(pool, "vectors", lambda connection: [examine_vectors(connection)])
    yield from _look(pool, "facts", examine_facts)
    yield from _look(pool, "pending", _pending)


def _written_by(pool: Pool) -> str:
    """The engine of whoever wrote last. What makes no sense is for another check to say."""
    try:
        with pool.reading() as connection:
            return str(sound_fact(connection, "engine") or running_engine())
    except StoreError:
        return running_engine()


def _look(pool: Pool, name: str, look: Callable[[Database], list[Finding]]) -> list[Finding]:
    """A check that cannot even read is itself a finding."""
    try:
        with pool.snapshot() as connection:
            return look(connection)
    except (StoreBusy, StoreClosed):
        raise
    except StoreError as error:
        return [Finding(name, "problem", error.sentence, RESCUE)]


def _integrity(pool: Pool) -> Finding:
    """A connection that knows the full-text index from before another process changed it would find it damaged."""
    try:
        with pool.reading(fresh=True) as connection:
            said = [line for (line,) in connection.execute(CHECKS["integrity"])]
    except (StoreBusy, StoreClosed):
        raise
    except StoreError as error:
        said = [error.sentence.removesuffix(".")]
    if said == ["ok"]:
        return Finding("integrity", "ok", "SQLite finds the file in order.")
    remedy = REPAIR if all(_DERIVED.search(line) for line in said) else RESCUE
    return Finding("integrity", "problem", f"SQLite finds the file damaged: {said[0]}.", remedy)


def _foreign_keys(connection: Database) -> list[Finding]:
    tables = sorted({table for table, *_ in connection.execute(CHECKS["foreign_keys"])})
    if not tables:
        return [Finding("foreign_keys", "ok", "No row is without its owner.")]
    derived = {"entry", "tag", "use", "vector"}
    return [
        Finding(
            "foreign_keys",
            "problem",
            f"Rows without their owner: {', '.join(tables)}.",
            REPAIR if derived.issuperset(tables) else RESCUE,
        )
    ]


def _full_text(pool: Pool) -> Finding:
    """The check is an insert to SQLite, so it needs the writing connection; it is taken back in any case."""
    try:
        with pool.writing(keep=False) as connection:
            run(connection, CHECKS["full_text"])
    except StoreReadOnly as error:
        return Finding(
            "full_text", "warning", "The full-text index can only be checked by who may write.", error.remedy
        )
    except (StoreBusy, StoreClosed, StoreFull):
        raise
    except StoreError:
        return Finding("full_text", "problem", "The full-text index does not hold what the entries say.", REPAIR)
    return Finding("full_text", "ok", "The full-text index holds what the entries say.")


def _pending(connection: Database) -> list[Finding]:
    orphans = connection.execute(CHECKS["orphan_vectors"]).get
    missing = sum(stats.vectors_pending for stats in namespace_statistics(connection, newest_generation(connection)))
    return [
        Finding("earlier_vectors", "ok", f"{orphans} vectors belong to earlier texts; a repair removes them."),
        Finding("pending", "ok", f"{missing} passages have no vector of the newest model yet."),
    ]
