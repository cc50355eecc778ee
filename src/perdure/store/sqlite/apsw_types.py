"""What we use of an apsw connection, with types: apsw's own stubs leave rows and bindings unknown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias

from perdure.store.rows import Row, Value

Bindings: TypeAlias = "Sequence[Value] | Mapping[str, Value]"


class Rows(Protocol):
    """A statement runs only as far as its rows are read."""

    def __iter__(self) -> Iterator[Row]: ...

    def fetchall(self) -> list[Row]: ...

    @property
    def get(self) -> Any:
        """The first column of the first row when there is no more, else None."""
        ...


class Database(Protocol):
    def execute(self, statements: str, bindings: Bindings | None = None, /) -> Rows: ...

    def pragma(self, name: str, value: str | int = ..., /) -> Any: ...

    def changes(self) -> int: ...

    def readonly(self, name: str, /) -> bool: ...

    @property
    def in_transaction(self) -> bool: ...

    @property
    def system_errno(self) -> int: ...

    def set_progress_handler(self, callable: Callable[[], bool] | None, nsteps: int = ..., /) -> None: ...

    def wal_checkpoint(self, dbname: str | None = None, mode: int = ...) -> tuple[int, int]: ...

    def close(self, force: bool = False, /) -> None: ...  # noqa: FBT001, FBT002  (apsw's own signature)


def run(database: Database, sql: str) -> None:
    """Every statement of `sql`, to its end."""
    database.execute(sql).fetchall()
