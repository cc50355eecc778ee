"""The tables, indexes and triggers of a store: compared with those of schema.sql, and made anew from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast

import apsw

from perdure.model import Finding
from perdure.store.doctor.findings import REBUILD, RESTORE_BACKUP
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.checks import CHECKS
from perdure.text.patterns import pattern

_SCHEMA: Final = Path(__file__).parents[1] / "schema.sql"
_FULL_TEXT: Final = "entry_fts"
# Nothing can rebuild the content of these tables.
_SOURCES: Final = frozenset({"meta", "namespace", "revision", "payload"})
# A repair makes these tables anew, but empty.
_NOT_DERIVED: Final = frozenset({"tombstone", "checkpoint", "provider_call", "parked"})
_ANEW: Final = "Bring the store back from a backup; `perdure doctor --repair` makes the table anew, but empty."
_DROP: Final = {
    "index": CHECKS["drop_index"], "table": CHECKS["drop_table"], "trigger": CHECKS["drop_trigger"],
    "view": CHECKS["drop_view"],
}  # fmt: skip
_SPACE: Final = pattern(r"\s*([(),])\s*|\s+")


class SchemaObject(NamedTuple):
    """A table, index, trigger or view."""

    kind: str
    name: str
    sql: str


class SchemaDifference(NamedTuple):
    kind: str
    name: str
    what: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name} {self.what}"


def schema_objects(connection: Database) -> dict[str, SchemaObject]:
    return {name: SchemaObject(kind, name, sql or "") for kind, name, sql in connection.execute(CHECKS["schema"])}


@cache
def _expected() -> dict[str, SchemaObject]:
    """The objects of a new store, in the order of schema.sql."""
    connection = apsw.Connection(":memory:")
    try:
        run(cast("Database", connection), _SCHEMA.read_text(encoding="utf-8"))
        return schema_objects(cast("Database", connection))
    finally:
        connection.close()


def schema_differences(connection: Database) -> list[SchemaDifference]:
    """Tables that somebody else added are ignored: they hold nothing of ours."""
    expected, present = _expected(), schema_objects(connection)

    def plain(sql: str) -> str:
        # White space aside: a column that was added by a migration has less of it.
        return _SPACE.sub(lambda match: match[1] or " ", sql)

    differences: list[SchemaDifference] = []
    for name, (kind, _, sql) in (expected | present).items():
        if name not in present:
            differences.append(SchemaDifference(kind, name, "is missing"))
        elif name not in expected and kind != "table":
            differences.append(SchemaDifference(kind, name, "is not part of the schema"))
        elif name in expected and plain(expected[name].sql) != plain(sql):
            differences.append(SchemaDifference(kind, name, "differs"))
    return differences


def unrepairable(differences: Sequence[SchemaDifference]) -> bool:
    """Whether a repair is impossible: a table is not ours, or a table that nothing can rebuild is missing."""
    tables = [each for each in differences if each.kind == "table" and not each.name.startswith(_FULL_TEXT)]
    return any(each.what == "differs" or each.name in _SOURCES for each in tables)


def lost_tables(differences: Sequence[SchemaDifference]) -> list[str]:
    return sorted(each.name for each in differences if each.kind == "table" and each.name in _NOT_DERIVED)


def check_schema(connection: Database) -> list[Finding]:
    differences = schema_differences(connection)
    if not differences:
        return [Finding("schema", "ok", "All tables, indexes and triggers are in place.")]
    remedy = RESTORE_BACKUP if unrepairable(differences) else _ANEW if lost_tables(differences) else REBUILD
    shown = ", ".join(map(str, differences))
    return [Finding("schema", "problem", f"The schema is not that of a Perdure store: {shown}.", remedy)]


def drop_derived(connection: Database) -> None:
    """Drop every index, trigger and view, the tags, the links and the full-text index, however damaged they are."""
    raw = cast("apsw.Connection", connection)
    raw.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        # SQLite drops a full-text index only while all the tables behind it are sound. Without its own row, which has
        # no pages, they are ordinary tables.
        run(connection, CHECKS["forget_full_text"])
        for kind, name, _ in sorted(schema_objects(connection).values(), key=lambda each: each.kind == "table"):
            if kind != "table" or name in {"tag", "link"} or name.startswith(_FULL_TEXT):
                quoted = name.replace('"', '""')
                run(connection, f'{_DROP[kind]} "{quoted}"')
    finally:
        raw.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)


def create_missing(connection: Database, *, full_text: bool) -> None:
    """Without `full_text`, tables and indexes alone. A unique index is left out while something is there twice."""
    present = schema_objects(connection)
    for kind, name, sql in _expected().values():
        fills_full_text = kind == "trigger" or name == _FULL_TEXT
        if name in present or name.startswith(f"{_FULL_TEXT}_") or (fills_full_text and not full_text):
            continue
        try:
            run(connection, sql)
        except apsw.ConstraintError:
            continue
    if full_text:
        run(connection, CHECKS["rebuild"])


def statements(sql: str) -> Iterator[str]:
    """One at a time, triggers whole."""
    statement = ""
    for line in sql.splitlines(keepends=True):
        statement += line
        if apsw.complete(statement):
            yield statement
            statement = ""
    if statement.strip():
        yield statement
