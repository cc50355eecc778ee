"""Doctor: one look at everything that can be wrong, each in a transaction of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from perdure.errors import StoreBusy, StoreClosed, StoreDamaged, StoreError, StoreReadOnly
from perdure.model import Finding
from perdure.store.sqlite.database import Database, run
from perdure.store.sqlite.examination import (
    CHECKS,
    REPAIR,
    RESCUE,
    examine_chain,
    examine_checkpoints,
    examine_erasures,
    examine_records,
    examine_statistics,
    examine_vectors,
)
from perdure.store.sqlite.file import Place
from perdure.store.sqlite.mirror import Mirror, compare
from perdure.store.sqlite.pool import Pool
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.statistics import namespace_statistics, newest_generation
from perdure.store.sqlite.surroundings import running_engine, surroundings


def check(pool: Pool, place: Place, mirror: Mirror | None = None) -> Iterator[Finding]:
    with pool.reading() as connection:
        journal = connection.pragma("journal_mode")
        wrote: str = connection.execute(SQL["get_meta"], ("engine",)).get or running_engine()
    yield from surroundings(place, running_engine(), wrote, journal)
    if mirror is not None:
        mirrored = mirror.read()
        yield from _look(pool, "mirror", lambda connection: list(compare(connection, mirrored)))
    yield from check_content(pool)


def check_content(pool: Pool) -> Iterator[Finding]:
    """The database alone, wherever it stands."""
    yield _integrity(pool)
    yield from _look(pool, "foreign_keys", _foreign_keys)
    yield _full_text(pool)
    yield from _look(pool, "records", examine_records)
    yield from _look(pool, "statistics", examine_statistics)
    yield from _look(pool, "chain", lambda connection: [examine_chain(connection)])
    yield from _look(pool, "erased", lambda connection: [examine_erasures(connection)])
    yield from _look(pool, "checkpoints", lambda connection: [examine_checkpoints(connection)])
    yield from _look(pool, "vectors", lambda connection: [examine_vectors(connection)])
    yield from _look(pool, "pending", _pending)


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
    except StoreDamaged as error:
        said = [error.sentence]
    if said == ["ok"]:
        return Finding("integrity", "ok", "SQLite finds the file in order.")
    remedy = REPAIR if all("fts5" in line for line in said) else RESCUE
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
    except StoreDamaged:
        return Finding("full_text", "problem", "The full-text index does not hold what the entries say.", REPAIR)
    except StoreReadOnly as error:
        return Finding(
            "full_text", "warning", "The full-text index can only be checked by who may write.", error.remedy
        )
    return Finding("full_text", "ok", "The full-text index holds what the entries say.")


def _pending(connection: Database) -> list[Finding]:
    orphans = connection.execute(CHECKS["orphan_vectors"]).get
    missing = sum(stats.pending for stats in namespace_statistics(connection, newest_generation(connection)))
    return [
        Finding("earlier_vectors", "ok", f"{orphans} vectors belong to earlier texts; a repair removes them."),
        Finding("pending", "ok", f"{missing} passages have no vector of the newest model yet."),
    ]
