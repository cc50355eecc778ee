"""Reads the database of another memory tool, as it is at one moment. The file is opened for reading alone, and what
stands in it is data: no trigger, view or function of it runs.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, Literal, TypeAlias, cast
from urllib.parse import quote

import apsw

from perdure.errors import ImportFailed, shown
from perdure.remedies import Flag, Remedy, Run
from perdure.store.queries import load_queries
from perdure.store.sqlite.apsw_types import Database, run
from perdure.store.sqlite.connection import Patience
from perdure.store.sqlite.migrate import APPLICATION_ID

ForeignKind: TypeAlias = Literal["learnings", "memory index"]
Row: TypeAlias = Mapping[str, Any]

SQL: Final = load_queries(Path(__file__).with_name("foreign.sql"))
_PATIENCE: Final = 1.0
# Steps of SQLite's virtual machine between two checks, and the most that reading a table may take.
_STEPS: Final = 1_000_000
_MOST_STEPS: Final = 20_000
_MAX_ROWS: Final = 1_000_000
_MAX_VALUE: Final = 16 << 20
# A file of some kilobytes can say that every row of it has a value of megabytes.
_SPARE_BYTES: Final = 64 << 20
_TIMES_THE_FILE: Final = 2
# By kind: the table's name where the tool's specification gives one, and the columns by which it is known.
_KNOWN: Final[tuple[tuple[ForeignKind, str | None, frozenset[str]], ...]] = (
    ("memory index", "memory_index", frozenset({"id", "spec_folder", "file_path"})),
    ("learnings", None, frozenset({"id", "name", "description", "category"})),
)
# Derived from the texts, and of another model.
_VECTORS: Final = "embedding"


@dataclass(frozen=True, slots=True)
class ForeignDatabase:
    """What a database holds: its memories, each by the names of its columns, and what it has beside them. `unreadable`
    rows are damaged; `vectors` are how many memories had one.
    """

    kind: ForeignKind
    rows: tuple[Row, ...]
    history: tuple[Row, ...] = ()
    checkpoints: tuple[Row, ...] = ()
    metadata: Mapping[str, str] = field(default_factory=dict[str, str])
    unreadable: int = 0
    vectors: int = 0


def read_foreign(path: Path) -> ForeignDatabase:
    """ImportFailed says why a file is not read: it is not there, locked, damaged, or no database of a memory tool."""
    with open_foreign(path) as reader:
        return reader.read()


@contextmanager
def open_foreign(path: Path) -> Generator[ForeignReader]:
    """ImportFailed says what is wrong with the file, also if that shows only while it is read."""
    try:
        before = state_of(path)
        with closing(connect_foreign(path)) as connection:
            yield ForeignReader(cast("Database", connection), path)
        if state_of(path) != before:
            raise ImportFailed(f"{path} is being written.", remedy="Close the tool that writes it, and try again.")
    except OSError as error:
        raise ImportFailed(f"{path} cannot be read: {error.strerror}.") from error
    except (apsw.BusyError, apsw.LockedError) as error:
        raise ImportFailed(f"{path} is locked.", remedy="Close the tool that uses it, and try again.") from error
    except apsw.NotADBError as error:
        raise ImportFailed(f"{path} is not a database, or it is encrypted.") from error
    except apsw.TooBigError as error:
        raise ImportFailed(f"{path} has a value of more than {_MAX_VALUE >> 20} MiB.") from error
    except apsw.Error as error:
        raise ImportFailed(
            f"{path} cannot be read: {error}.", remedy="It may be damaged; nothing was stored."
        ) from error


def state_of(path: Path) -> tuple[int, ...]:
    """By which one sees that a database changed: the size and time of the file, and of its write-ahead log."""
    status = path.stat()
    try:
        log = Path(f"{path}-wal").stat()
    except OSError:
        return status.st_ino, status.st_size, status.st_mtime_ns
    return status.st_ino, status.st_size, status.st_mtime_ns, log.st_size, log.st_mtime_ns


def connect_foreign(path: Path) -> apsw.Connection:
    """If no process writes to the file, SQLite opens it without a lock and makes no files beside it."""
    in_use = any(Path(f"{path}{end}").exists() and Path(f"{path}{end}").stat().st_size for end in ("-wal", "-journal"))
    options = "mode=ro" if in_use else "mode=ro&immutable=1"
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    connection = apsw.Connection(f"file:{quote(str(path.absolute()))}?{options}", flags)
    connection.set_busy_handler(Patience(_PATIENCE))
    connection.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
    connection.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
    connection.limit(apsw.SQLITE_LIMIT_LENGTH, _MAX_VALUE)
    left = iter(range(_MOST_STEPS))
    connection.set_progress_handler(lambda: next(left, None) is None, _STEPS)
    return connection


class ForeignReader:
    """Reads one database, as far as what it says has room in its file."""

    def __init__(self, database: Database, path: Path) -> None:
        self._database = database
        self._path = path
        files = (path, Path(f"{path}-wal"))
        self._room = _SPARE_BYTES + _TIMES_THE_FILE * sum(file.stat().st_size for file in files if file.exists())
        self._tables: dict[str, list[str]] = {}
        run(database, SQL["settings"])
        if database.pragma("application_id") == APPLICATION_ID:
            raise ImportFailed(
                f"{path} is a store of Perdure.",
                remedy=Remedy("Use it with ", Flag("store"), ", or ", Run("export"), " and ", Run("import"), "."),
            )
        for table, column in database.execute(SQL["tables"]):
            self._tables.setdefault(table, []).append(column)

    def has(self, table: str, *columns: str) -> bool:
        return set(columns) <= set(self._tables.get(table, ())) and table in self._tables

    def rows(self, table: str) -> Iterator[Row]:
        """The rows of a table one after the other, of which only the one at hand is in memory."""
        return self._named(self._tables[table], self._statement(SQL["rows"], table))

    def answers(self, query: str, *columns: str) -> Iterator[Row]:
        """What one of the queries for a known product answers, with names for its columns."""
        return self._named(columns, SQL[query])

    def read(self) -> ForeignDatabase:
        for kind, name, columns in _KNOWN:
            known = (each for each in self._tables if name in {None, each} and columns <= set(self._tables[each]))
            table = next(known, None)
            if table is None:
                continue
            rows, unreadable = self.rows_of(table)
            history, _ = self.rows_of("memory_history")
            checkpoints, _ = self.rows_of("checkpoints")
            meta, _ = self.rows_of("_metadata")
            pairs = (list(row.values())[:2] for row in meta if len(row) > 1)
            vectors = sum(row.get(_VECTORS) is not None for row in rows)
            kept = tuple({name: value for name, value in row.items() if name != _VECTORS} for row in rows)
            return ForeignDatabase(
                kind, kept, tuple(history), tuple(checkpoints), {str(name): str(value) for name, value in pairs},
                unreadable, vectors,
            )  # fmt: skip
        named = ", ".join(sorted(self._tables)[:5]) or "none"
        raise ImportFailed(
            f"{self._path} is not a database of a known memory tool.", remedy=f"Its tables: {shown(named)}."
        )

    def rows_of(self, table: str) -> tuple[list[dict[str, Any]], int]:
        """Every row that can be read, and how many cannot; none of a table that is not there."""
        if table not in self._tables:
            return [], 0
        sql = {name: self._statement(SQL[name], table) for name in ("rows", "row_ids", "one_row")}
        try:
            return list(self._named(self._tables[table], sql["rows"])), 0
        except (apsw.CorruptError, UnicodeDecodeError, apsw.NotADBError):
            pass
        found: list[dict[str, Any]] = []
        ids: list[int] = []
        unreadable = 0
        try:
            for (id,) in self._database.execute(sql["row_ids"]):
                ids.append(id)
        except apsw.CorruptError:
            unreadable += 1
        for id in ids:
            try:
                found += self._named(self._tables[table], sql["one_row"], id)
            except (apsw.CorruptError, UnicodeDecodeError):
                unreadable += 1
        return found, unreadable

    def _statement(self, sql: str, table: str) -> str:
        columns = ", ".join(map(_quoted, self._tables[table]))
        return sql.replace("%COLUMNS%", columns).replace("%TABLE%", _quoted(table))

    def _named(self, columns: Sequence[str], sql: str, *values: int) -> Iterator[dict[str, Any]]:
        for number, row in enumerate(self._database.execute(sql, values)):
            self._room -= sum(len(value) for value in row if isinstance(value, str | bytes))
            if number >= _MAX_ROWS or self._room < 0:
                raise ImportFailed(
                    f"{self._path} says more than its file has room for, or has more than {_MAX_ROWS:,} rows."
                )
            yield dict(zip(columns, row, strict=True))


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'
