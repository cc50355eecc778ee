"""From any file that is ours, or empty, to the schema of this version; everything else is refused as it is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final

import apsw

from perdure.buggify import point
from perdure.errors import StoreDamaged, StoreForeign, StoreNewer
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.file import StoreFile
from perdure.store.sqlite.sql import SQL

APPLICATION_ID: Final = 0x50657264  # "Perd"

_HERE: Final = Path(__file__).parent
# The schema since which words are read as they are now.
_WORDS: Final = 3
# The schema since which the fields of a memory that name others are indexed.
_LINKS: Final = 6
_FROM_BACKUP: Final = "Bring the store back from a backup."


@cache
def migrations() -> tuple[Path, ...]:
    """Numbered from 1 without a gap; the number is the schema version that each leads to."""
    return tuple(sorted(path for path in (_HERE / "migrations").iterdir() if path.suffix == ".sql"))


@cache
def newest_schema() -> int:
    return int(migrations()[-1].name[:4])


def check_schema_version(connection: Database, file: StoreFile) -> int:
    """The schema version of the file; 0 when it is empty. Asked of SQLite, which alone may read the file."""
    # At one moment: otherwise a store that another process is just making has our tables and not yet our name.
    alone = not connection.in_transaction
    if alone:
        run(connection, SQL["begin_read"])
    try:
        has_tables = bool(connection.execute(SQL["has_tables"]).get)
        application, version = connection.pragma("application_id"), connection.pragma("user_version")
    finally:
        if alone:
            run(connection, SQL["commit"])
    if application == APPLICATION_ID:
        if version > newest_schema():
            raise StoreNewer(f"{file.path} was written by a newer Perdure (schema {version}).")
        return version
    if application or version or has_tables:
        raise StoreForeign(f"{file.path} is a database of another program.")
    return 0


def migrate(connection: Database, file: StoreFile) -> None:
    """Make a new store, or run the migrations that an old one lacks: one transaction, which first looks again, because
    another process may have done it while we waited.
    """
    import secrets

    from perdure.store.sqlite.doctor.schema import schema_differences, statements
    from perdure.store.sqlite.reindex import reindex

    try:
        with _transaction(connection):
            version = check_schema_version(connection, file)
            if version == 0:
                run(connection, (_HERE / "schema.sql").read_text(encoding="utf-8"))
                connection.execute(SQL["put_meta"], ("engine", apsw.sqlite_lib_version()))
                connection.execute(SQL["put_meta"], ("secret", secrets.token_bytes(32)))
                _stamp(connection)
            elif version < newest_schema():
                for migration in migrations()[version:]:
                    for statement in statements(migration.read_text(encoding="utf-8")):
                        run(connection, statement)
                        point("migrate: between statements")
                if version < _WORDS:
                    reindex(connection)
                if version < _LINKS:
                    from perdure.store.sqlite.links import index_evidence

                    index_evidence(connection)
                _stamp(connection)
    except apsw.SQLError as error:
        with _transaction(connection):
            if schema_differences(connection):
                raise StoreDamaged(
                    f"{file.path} is not of the schema that it claims to be: {error}.", remedy=_FROM_BACKUP
                ) from error
            # Only the number is wrong.
            _stamp(connection)


@contextmanager
def _transaction(connection: Database) -> Generator[None]:
    run(connection, SQL["begin_write"])
    try:
        yield
        point("migrate: before commit")
        run(connection, SQL["commit"])
    except BaseException:
        if connection.in_transaction:
            run(connection, SQL["rollback"])
        raise


def _stamp(connection: Database) -> None:
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", newest_schema())
