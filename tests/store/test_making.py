"""Two processes may make the same store at the same moment."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path
from typing import Any

from perdure.errors import StoreBusy
from perdure.store.sqlite.connection import Patience, connect
from perdure.store.sqlite.file import prepare
from perdure.store.sqlite.migrate import check_schema_version
from perdure.store.sqlite.store import SqliteStore


class Overtaken:
    """A connection beside which another one makes the store, right after the first thing was read."""

    def __init__(self, connection: Any, path: Path) -> None:
        self._connection = connection
        self._path = path
        self.overtaken = False

    def pragma(self, name: str) -> Any:
        found = self._connection.pragma(name)
        if not self.overtaken:
            self.overtaken = True
            with suppress(StoreBusy):
                SqliteStore.open(self._path, busy_seconds=0.05).close()
        return found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)


def test_a_store_that_another_process_is_just_making_is_not_taken_for_foreign(tmp_path: Path):
    path = tmp_path / "agent.db"
    file = prepare(path)
    connection: Any = Overtaken(connect(file, "write", Patience(1)), path)
    assert check_schema_version(connection, file) in {0, 1}
    assert connection.overtaken
    connection.close()
    SqliteStore.open(path).close()
