"""Making the tables of a store, and bringing them up to date. Opening a store never does: a fleet would race.

A program may use tables that are newer than it knows, as long as they are only more: `oldest_program` says which
programs that holds for. So a new version is rolled out in this order: `perdure migrate`, then the programs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, LiteralString, cast

import psycopg

from perdure.errors import InvalidInput, StoreBusy, StoreNewer, StoreUnreadable
from perdure.model import Migrated
from perdure.store.postgres.address import Address
from perdure.store.postgres.errors import MIGRATE, OF_THE_DRIVER, error_of, no_store
from perdure.store.postgres.sql import in_schema, quoted_name, setup_queries

_FOLDER: Final = Path(__file__).with_name("migrations")
_BY_NAMESPACE: Final = "/* by namespace */"
_LOCK_TIMEOUT: Final = "SET lock_timeout = '2s'"
_ATTEMPTS: Final = 5
_PAUSE_SECONDS: Final = 1.0
# Something that another migration, or another engine, did a moment ago.
_MADE_MEANWHILE: Final = ("42P06", "42P07", "42710", "23505", "XX000")
_BUSY: Final = ("55P03", "40001", "40P01")
# Tables that belong to no namespace, so no policy is theirs.
SHARED_TABLES: Final = ("meta", "generation", "serving", "provider_call", "lease", "token")
NAMESPACE_TABLES: Final = (
    "namespace", "memory", "tag", "entry", "revision", "payload", "link", "use", "review", "tombstone", "vector",
    "checkpoint", "parked", "note",
)  # fmt: skip
# What makes tables quicker, on engines that know it. It may fail.
_STORAGE: Final = ("row_of_namespace", "rows_of_use", "vectors_in_the_row", "vectors_uncompressed")
MOST_PARTITIONS: Final = 1024
_GRANTS: Final = {"revision": "grant_log", "meta": "grant_meta", "token": "grant_tokens"}
# The lowest schema that a program must know to use these tables. It stays while a migration only adds something.
OLDEST_PROGRAM: Final = 1


def newest_schema() -> int:
    return max(number for number, _ in _migrations())


def _meta() -> dict[str, int]:
    """What the table `meta` says when all migrations were run."""
    return {"schema": newest_schema(), "oldest_program": OLDEST_PROGRAM}


def _migrations() -> list[tuple[int, str]]:
    files = sorted(_FOLDER.glob("*.sql"))
    return [(int(file.name.partition("_")[0]), file.read_text(encoding="utf-8")) for file in files]


def _statements(text: str) -> Iterator[str]:
    lines = "\n".join(line for line in text.splitlines() if not line.startswith("--"))
    yield from (statement.strip() for statement in lines.split(";\n") if statement.strip(" \n;"))


def plan(schema: str, *, since: int = 0, partitions: int = 0, role: str | None = None) -> Iterator[str]:
    """Every statement, in order. Where all of them were run, the tables are those that this program knows."""
    if not 0 <= partitions <= MOST_PARTITIONS:
        raise InvalidInput(f"Partitions are at most {MOST_PARTITIONS}; 0 makes none.")
    setup = setup_queries(schema)
    by_hash = "PARTITION BY HASH (namespace)" if partitions else ""
    for number, text in _migrations():
        if number > since:
            for statement in _statements(text):
                yield in_schema(statement.removesuffix(";").replace(_BY_NAMESPACE, by_hash).strip(), schema)
    for table in NAMESPACE_TABLES:
        for part in range(partitions):
            yield setup["partition"].format(table=table, part=part, parts=partitions)
        yield setup["enable_policy"].format(table=table)
        yield setup["force_policy"].format(table=table)
        yield setup["policy"].format(table=table)
    if role is not None:
        quoted = quoted_name(role)
        yield setup["grant_schema"].format(role=quoted)
        for table in (*NAMESPACE_TABLES, *SHARED_TABLES):
            grant = _GRANTS.get(table, "grant_table")
            yield setup[grant].format(table=table, role=quoted)


def storage_plan(schema: str, partitions: int) -> Iterator[str]:
    setup = setup_queries(schema)
    for name in _STORAGE:
        for part in range(partitions) if partitions else (None,):
            tail = "" if part is None else f"_p{part}"
            yield setup[name].format(**{table: f"{table}{tail}" for table in ("namespace", "use", "vector")})


def every_statement(schema: str, *, partitions: int = 0, role: str | None = None) -> list[str]:
    """For an empty database, each with its semicolon."""
    made = [*plan(schema, partitions=partitions, role=role), *storage_plan(schema, partitions)]
    row = setup_queries(schema)["insert_meta"]
    made += [row.format(name=name, value=value) for name, value in _meta().items()]
    return [f"{statement};" for statement in made]


def migrate(address: Address, *, partitions: int = 0, role: str | None = None) -> Migrated:
    """Make or renew the tables. One at a time: whoever else migrates meanwhile is told so."""
    try:
        with (
            psycopg.connect(address.conninfo, autocommit=True) as connection,
            psycopg.connect(address.conninfo, autocommit=True) as guard,
        ):
            return _migrate(connection, guard, address.schema, partitions, role)
    except OF_THE_DRIVER as error:
        raise error_of(error) from None


def _migrate(
    connection: psycopg.Connection[Any], guard: psycopg.Connection[Any], schema: str, partitions: int, role: str | None
) -> Migrated:
    setup = setup_queries(schema)
    _run(connection, _LOCK_TIMEOUT)
    statements = plan(schema, partitions=partitions)
    if not _has_meta(connection, schema):
        # The schema and the table `meta`, in which the lock of this migration stands.
        for statement in (next(statements), next(statements)):
            _run(connection, statement)
        for name in _meta():
            connection.execute(cast("LiteralString", setup["first_meta"]), {"name": name})
    with guard.transaction():
        try:
            rows = guard.execute(cast("LiteralString", setup["lock_meta"])).fetchall()
        except psycopg.errors.LockNotAvailable:
            raise StoreBusy("Somebody else migrates this store now.", remedy="Wait until it is done.") from None
        before: int = rows[0][0] if rows else 0
        if before > newest_schema():
            raise StoreNewer(f"The tables are of schema {before}, and this program knows {newest_schema()}.")
        for statement in plan(schema, since=before, partitions=partitions if before == 0 else 0, role=role):
            _run(connection, statement)
        for statement in storage_plan(schema, partitions) if before == 0 else ():
            _run(connection, statement, may_fail=True)
        # Written by the connection that holds the lock: together with the lock it is gone or there.
        for name, value in _meta().items():
            guard.execute(cast("LiteralString", setup["set_meta"]), {"name": name, "value": value})
    return Migrated(before, newest_schema())


def _has_meta(connection: psycopg.Connection[Any], schema: str) -> bool:
    sql = cast("LiteralString", setup_queries(schema)["has_meta"])
    return connection.execute(sql, {"table": f"{quoted_name(schema)}.meta"}).fetchall()[0][0]


def _run(connection: psycopg.Connection[Any], statement: str, *, may_fail: bool = False) -> None:
    for attempt in range(_ATTEMPTS):
        try:
            connection.execute(cast("LiteralString", statement))
        except psycopg.Error as error:
            if error.sqlstate in _MADE_MEANWHILE or (may_fail and error.sqlstate is not None):
                return
            if error.sqlstate not in _BUSY or attempt == _ATTEMPTS - 1:
                raise
            time.sleep(_PAUSE_SECONDS)
        else:
            return


def check_schema(found: Mapping[str, int]) -> int:
    """The number of the schema, if this program may use it."""
    schema, oldest = found.get("schema", 0), found.get("oldest_program", 0)
    if not schema:
        raise no_store()
    if oldest > newest_schema():
        raise StoreNewer(
            f"The tables are of schema {schema}, which this program does not know: it knows {newest_schema()}.",
            remedy="Upgrade Perdure; this version leaves the store as it is.",
        )
    if schema < newest_schema():
        raise StoreUnreadable(
            f"The tables are of schema {schema}, and this program needs {newest_schema()}.", remedy=MIGRATE
        )
    return schema
