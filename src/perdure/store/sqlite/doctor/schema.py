"""The tables, indexes and triggers of a store against those of a new one."""

from __future__ import annotations

import re
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple, cast

import apsw

from perdure.model import Finding
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.doctor.records import CHECKS, REPAIR, RESCUE

_SCHEMA: Final = Path(__file__).parents[1] / "schema.sql"
_FULL_TEXT: Final = "entry_fts"
# Nothing else can say what stood in these.
_TRUTH: Final = frozenset({"meta", "namespace", "revision", "payload"})
# Made anew they are empty, and only a backup has what was in them.
_LOST: Final = frozenset({"link", "tombstone", "checkpoint"})
_ANEW: Final = "Bring the store back from a backup; `perdure doctor --repair` makes it anew, but empty."
_DROP: Final = {
    "index": CHECKS["drop_index"], "table": CHECKS["drop_table"], "trigger": CHECKS["drop_trigger"],
    "view": CHECKS["drop_view"],
}  # fmt: skip
_COMMENT: Final = re.compile(r"^--.*\n|^\s+", re.MULTILINE)
_SPACE: Final = re.compile(r"\s*([(),])\s*|\s+")


class Part(NamedTuple):
    kind: str
    name: str
    sql: str

    @property
    def plain(self) -> str:
        """White space aside, which a column that was added by a migration comes without."""
        return _SPACE.sub(lambda found: found[1] or " ", self.sql)


class Differences(NamedTuple):
    missing: list[Part]
    other: list[Part]
    strange: list[Part]

    @property
    def lost(self) -> list[str]:
        """Tables whose content is gone for good."""
        return sorted(part.name for part in self.missing if part.kind == "table" and part.name in _TRUTH | _LOST)

    @property
    def fatal(self) -> bool:
        """A repair has nothing to stand on."""
        return not _TRUTH.isdisjoint(self.lost) or any(part.kind == "table" for part in self.other)

    @property
    def names(self) -> str:
        return ", ".join(f"{part.kind} {part.name}" for parts in self for part in parts)

    def __str__(self) -> str:
        said = {"is gone": self.missing, "is another one": self.other, "is not ours": self.strange}
        return ", ".join(f"{part.kind} {part.name} {what}" for what, parts in said.items() for part in parts)


@cache
def _wanted() -> dict[str, Part]:
    connection = apsw.Connection(":memory:")
    try:
        run(cast("Database", connection), _SCHEMA.read_text(encoding="utf-8"))
        return _parts(cast("Database", connection))
    finally:
        connection.close()


def _parts(connection: Database) -> dict[str, Part]:
    return {name: Part(kind, name, sql or "") for kind, name, sql in connection.execute(CHECKS["schema"])}


def differences(connection: Database) -> Differences:
    """Tables that somebody else added hold nothing of ours, and are nobody's business here."""
    wanted, there = _wanted(), _parts(connection)
    return Differences(
        [part for name, part in wanted.items() if name not in there],
        [part for name, part in wanted.items() if name in there and there[name].plain != part.plain],
        [part for name, part in there.items() if name not in wanted and part.kind != "table"],
    )


def examine_structure(connection: Database) -> Finding:
    found = differences(connection)
    if not any(found):
        return Finding("schema", "ok", "Tables, indexes and triggers are those of a new store.")
    remedy = RESCUE if found.fatal else _ANEW if found.lost else REPAIR
    return Finding("schema", "problem", f"The schema is not as it was made: {found}.", remedy)


def repair_structure(connection: Database) -> Iterator[Finding]:
    """What can be made anew. An index that must not hold anything twice may have to wait until nothing is."""
    found = differences(connection)
    if not any(found) or found.fatal:
        return
    for part in (*found.strange, *found.other):
        _drop(connection, part)
    _make(connection, [*found.missing, *found.other])
    still = differences(connection).missing
    if len(still) < len(found.missing) + len(found.other) + len(found.strange):
        yield Finding("repair_schema", "ok", f"Made as in a new store: {found.names}.")
    if found.lost:
        sentence = f"Made anew, but what stood in them is gone: {', '.join(found.lost)}."
        yield Finding("repair_schema_lost", "problem", sentence, RESCUE)


def _make(connection: Database, parts: list[Part]) -> None:
    """Tables first. An index waits when something is there twice."""
    for part in sorted(parts, key=lambda part: part.kind != "table"):
        if part.name.startswith(_FULL_TEXT):
            continue
        try:
            run(connection, part.sql)
        except apsw.ConstraintError:
            continue
    if any(part.name.startswith(_FULL_TEXT) for part in parts):
        remake_full_text(connection)


def remake_full_text(connection: Database) -> None:
    """From the entries. It can be dropped only while all the tables behind it are there, and makes them itself."""
    wanted = _wanted()
    behind = [name for name in wanted if name.startswith(f"{_FULL_TEXT}_")]
    with _undefended(connection):
        there = _parts(connection)
        if _FULL_TEXT in there:
            for name in behind:
                if name not in there:
                    run(connection, wanted[name].sql)
            run(connection, CHECKS["name_format"])
            run(connection, CHECKS["drop_full_text"])
        else:
            for name in behind:
                if name in there:
                    _drop(connection, there[name])
    run(connection, wanted[_FULL_TEXT].sql)
    for statement in statements(_SCHEMA.read_text(encoding="utf-8")):
        if not _COMMENT.sub("", statement).startswith("CREATE"):
            run(connection, statement)
    run(connection, CHECKS["rebuild_full_text"])


def _drop(connection: Database, part: Part) -> None:
    name = part.name.replace('"', '""')
    run(connection, f'{_DROP[part.kind]} "{name}"')


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


@contextmanager
def _undefended(database: Database) -> Generator[None]:
    """The tables behind the full-text index are out of reach otherwise."""
    connection = cast("apsw.Connection", database)
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 0)
    try:
        yield
    finally:
        connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
