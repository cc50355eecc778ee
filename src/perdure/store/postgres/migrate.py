"""Making the tables of a store, and bringing them up to date. Opening a store never does: a fleet would race.

A program may use tables that are newer than it knows, as long as they are only more: `oldest_program` says which
programs that holds for. So a new version is rolled out in this order: `perdure migrate`, then the programs.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, LiteralString, cast
from uuid import UUID

import psycopg

from perdure.errors import InvalidInput, StoreBusy, StoreNewer, StoreUnreadable
from perdure.model import Migrated
from perdure.store.postgres.address import Address
from perdure.store.postgres.connection import take_number_arrays
from perdure.store.postgres.errors import MIGRATE, OF_THE_DRIVER, error_of, no_store
from perdure.store.postgres.nearest import near_columns
from perdure.store.postgres.sql import in_schema, nearest_queries, quoted_name, setup_queries, with_type_schema
from perdure.values import replace

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
_SAMPLES: Final = (
    "memories_without_samples", "words_without_samples", "payloads_without_samples", "vectors_without_samples",
    "answers_without_samples",
)  # fmt: skip
MOST_PARTITIONS: Final = 1024
_VECTORS_AT_A_TIME: Final = 500
# Shared tables that statements about namespaces read as well.
_JOINED: Final = ("generation", "serving")
# In `meta`, of tables that are made for pgvector.
NEAR: Final = "near"
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


def plan(
    schema: str, *, since: int = 0, partitions: int = 0, shards: int = 0, role: str | None = None
) -> Iterator[str]:
    """Every statement, in order. Where all of them were run, the tables are those that this program knows. `partitions`
    are PostgreSQL's own; `shards` are those of Citus, on several machines.
    """
    if not (0 <= partitions <= MOST_PARTITIONS and 0 <= shards <= MOST_PARTITIONS):
        raise InvalidInput(f"Partitions and shards are at most {MOST_PARTITIONS}; 0 makes none.")
    if partitions and shards:
        raise InvalidInput("New tables have partitions or shards, and not both.")
    setup = setup_queries(schema)
    by_hash = "PARTITION BY HASH (namespace)" if partitions else ""
    for number, text in _migrations():
        if number > since:
            for statement in _statements(text):
                yield in_schema(statement.removesuffix(";").replace(_BY_NAMESPACE, by_hash).strip(), schema)
    if shards:
        inside = quoted_name(schema).replace("'", "''")
        yield from (setup["on_every_machine"].format(table=f"{inside}.{table}") for table in _JOINED)
        beside = "none"
        for table in NAMESPACE_TABLES:
            yield setup["spread"].format(table=f"{inside}.{table}", beside=beside, shards=shards)
            beside = f"{inside}.{NAMESPACE_TABLES[0]}"
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
    parts = [f"_p{part}" for part in range(partitions)]
    for names, tails in ((_STORAGE, parts or [""]), (_SAMPLES, ["", *parts])):
        for name in names:
            for tail in tails:
                yield setup[name].format(**{table: f"{table}{tail}" for table in NAMESPACE_TABLES})


def every_statement(schema: str, *, partitions: int = 0, shards: int = 0, role: str | None = None) -> list[str]:
    """For an empty database, each with its semicolon."""
    made = [*plan(schema, partitions=partitions, shards=shards, role=role), *storage_plan(schema, partitions)]
    row = setup_queries(schema)["insert_meta"]
    made += [row.format(name=name, value=value) for name, value in _meta().items()]
    return [f"{statement};" for statement in made]


def migrate(
    address: Address, *, partitions: int = 0, shards: int = 0, role: str | None = None, rewrite: bool = False
) -> Migrated:
    """Make or renew the tables. One at a time: whoever else migrates meanwhile is told so. `rewrite`: have the server
    write every table anew, so that no page of one has bytes of what was erased.
    """
    try:
        with (
            psycopg.connect(address.conninfo, autocommit=True) as connection,
            psycopg.connect(address.conninfo, autocommit=True) as guard,
        ):
            if shards:
                _require_settings_on_every_machine(connection)
            migrated = _migrate(connection, guard, address.schema, partitions, shards, role)
            migrated = replace(migrated, pgvector=_add_near(connection, address.schema), rewritten=rewrite)
            if rewrite:
                _rewrite(connection, address.schema)
            return migrated
    except OF_THE_DRIVER as error:
        raise error_of(error) from None


def _require_settings_on_every_machine(connection: psycopg.Connection[Any]) -> None:
    """The policies ask for a setting of the transaction on the machine that has the rows: without it none is seen."""
    rows = connection.execute(cast("LiteralString", setup_queries()["citus_settings"])).fetchall()
    if rows[0][0] is None:
        raise InvalidInput("The database has no Citus, so there are no shards.", remedy="CREATE EXTENSION citus;")
    if rows[0][0] != "local":
        raise InvalidInput(
            "Citus does not pass the settings of a transaction on to its machines, so no row would be seen.",
            remedy="ALTER DATABASE … SET citus.propagate_set_commands = 'local';",
        )


def _migrate(
    connection: psycopg.Connection[Any],
    guard: psycopg.Connection[Any],
    schema: str,
    partitions: int,
    shards: int,
    role: str | None,
) -> Migrated:
    setup = setup_queries(schema)
    _run(connection, _LOCK_TIMEOUT)
    statements = plan(schema, partitions=partitions, shards=shards)
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
        if before:
            partitions = shards = 0
        for statement in plan(schema, since=before, partitions=partitions, shards=shards, role=role):
            _run(connection, statement)
        for statement in storage_plan(schema, partitions) if before == 0 else ():
            _run(connection, statement, may_fail=True)
        # Written by the connection that holds the lock: together with the lock it is gone or there.
        for name, value in _meta().items():
            guard.execute(cast("LiteralString", setup["set_meta"]), {"name": name, "value": value})
    return Migrated(before, newest_schema())


def _add_near(connection: psycopg.Connection[Any], schema: str) -> bool:
    """Let the server compare vectors itself, if it has pgvector. What it cannot compare yet, it can then."""
    rows = connection.execute(cast("LiteralString", setup_queries(schema)["vector_extension"])).fetchall()
    if not rows:
        return False
    setup = with_type_schema(setup_queries(schema), rows[0][0])
    put_near = cast("LiteralString", nearest_queries(schema, rows[0][0])["put_near"])
    for name in ("add_near", "index_near"):
        _run(connection, setup[name])
    take_number_arrays(connection)
    at: dict[str, Any] = {"namespace": UUID(int=0), "position": 0}
    while True:
        with connection.transaction():
            connection.execute(cast("LiteralString", setup["see_everywhere"]))
            asked = cast("LiteralString", setup["vectors_without_near"])
            vectors = connection.execute(asked, {**at, "limit": _VECTORS_AT_A_TIME}, binary=True).fetchall()
            for namespace, position, data, dimensions in vectors:
                at = {"namespace": namespace, "position": position}
                columns = near_columns(data, dimensions)
                if columns["near"] is not None:
                    connection.execute(put_near, {**at, **columns})
        if len(vectors) < _VECTORS_AT_A_TIME:
            break
    connection.execute(cast("LiteralString", setup["set_meta"]), {"name": NEAR, "value": 1})
    return True


def _rewrite(connection: psycopg.Connection[Any], schema: str) -> None:
    """A role that the tables do not belong to was refused before. To start the server's log anew is a right of its own,
    and without it the log stays longer.
    """
    setup = setup_queries(schema)
    for table in NAMESPACE_TABLES:
        _run(connection, setup["rewrite_table"].format(table=table))
    for name in ("next_log", "checkpoint"):
        _run(connection, setup[name], may_fail=True)


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
            f"The tables are of schema {schema}, which this program does not know: it knows {newest_schema()}."
        )
    if schema < newest_schema():
        raise StoreUnreadable(
            f"The tables are of schema {schema}, and this program needs {newest_schema()}.", remedy=MIGRATE
        )
    return schema
