"""A new file and an old one end up the same, and a step that fails leaves the file as it was."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import signal
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from store.behind import behind
from store.children import Child

from perdure.errors import StoreForeign
from perdure.store.queries import load_queries
from perdure.store.sqlite import migrate
from perdure.store.sqlite.connection import Patience, connect
from perdure.store.sqlite.examination import CHECKS
from perdure.store.sqlite.file import prepare
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.buggify import Buggified, buggified
from perdure.testing.records import NAMESPACE, remember

PACKAGE = Path(migrate.__file__).parent


def schema_of(connection: Any) -> set[tuple[object, ...]]:
    return {(kind, name, table, sql) for kind, name, table, sql in connection.execute(
        "SELECT type, name, tbl_name, sql FROM sqlite_schema"
    )}  # fmt: skip


def test_all_migrations_lead_to_the_schema_of_a_new_file():
    with behind(":memory:") as new, behind(":memory:") as old:
        new.execute((PACKAGE / "schema.sql").read_text(encoding="utf-8")).fetchall()
        for migration in migrate.migrations():
            old.execute(migration.read_text(encoding="utf-8")).fetchall()
        assert schema_of(new) == schema_of(old)


def test_migrations_are_numbered_without_a_gap():
    numbers = [int(migration.name[:4]) for migration in migrate.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert migrate.newest_schema() == len(numbers)


def test_an_old_store_is_brought_up_to_date_in_one_transaction(path: Path, monkeypatch: pytest.MonkeyPatch):
    with closing(SqliteStore.open(path)) as store:
        record = remember(store, "tea")
    step = path.with_name("0002_test.sql")
    step.write_text("CREATE TABLE added (x INTEGER) STRICT;", encoding="utf-8")
    steps = (*migrate.migrations(), step)
    monkeypatch.setattr(migrate, "migrations", lambda: steps)
    monkeypatch.setattr(migrate, "newest_schema", lambda: 2)
    with buggified("migrate: before commit"), pytest.raises(Buggified):
        _migrate(path)
    assert _version(path) == (1, False)
    _migrate(path)
    _migrate(path)
    assert _version(path) == (2, True)
    with behind(path) as raw:
        raw.execute("PRAGMA user_version = 1; DROP TABLE added").fetchall()
    monkeypatch.undo()
    with closing(SqliteStore.open(path)) as store:
        assert store.fetch(NAMESPACE, [1]) == [record]


def _migrate(path: Path) -> None:
    place = prepare(path)
    with closing(connect(place, "write", Patience(1))) as connection:
        migrate.migrate(connection, place)


def _version(path: Path) -> tuple[int, bool]:
    with behind(path) as raw:
        return raw.pragma("user_version"), raw.table_exists(None, "added")


def test_a_process_killed_while_it_makes_a_store_leaves_a_file_that_the_next_one_makes(path: Path):
    for _ in range(5):

        def make() -> None:
            with buggified("migrate: before commit", "kill"):
                SqliteStore.open(path)

        assert os.WTERMSIG(Child(make).result()[1]) == signal.SIGKILL
    with closing(SqliteStore.open(path)) as store:
        assert remember(store, "tea").number == 1
        assert [finding for finding in store.check() if finding.level == "problem"] == []


def test_a_file_that_another_program_made_while_we_waited_is_left_alone(path: Path):
    place = prepare(path)
    with closing(connect(place, "write", Patience(1))) as connection:
        with behind(path) as raw:
            raw.execute("CREATE TABLE theirs (x)")
        with pytest.raises(StoreForeign):
            migrate.migrate(connection, place)
        assert not connection.in_transaction


def test_a_new_store_gets_a_secret_of_its_own(tmp_path: Path):
    secrets: set[bytes] = set()
    for name in ("a.db", "b.db"):
        with closing(SqliteStore.open(tmp_path / name)) as store, store._pool.reading() as connection:
            secrets.add(connection.execute("SELECT value FROM meta WHERE name = 'secret'").get)
    assert len(secrets) == 2
    assert all(len(secret) == 32 for secret in secrets)


@pytest.mark.parametrize(
    "text",
    [
        "\n-- name: a\nSELECT 1;\n",
        "\n-- name: a\n-- why\n",
        "\n-- name: a\n-- why\nSELECT 1;\n-- name: a\n-- why\nSELECT 2;\n",
    ],
)
def test_a_query_without_a_reason_or_with_a_name_twice_is_a_mistake(tmp_path: Path, text: str):
    (tmp_path / "queries.sql").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"queries\.sql: a"):
        load_queries(tmp_path / "queries.sql")


def test_every_named_query_is_used():
    code = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.glob("*.py"))
    built = {f"where_{name}" for name in ("context_type", "tier", "source_project", "spec_folder", "conversation_id")}
    built |= {f"where_{name}" for name in ("categories", "sources", "since", "until")}
    unused = {name for name in {**SQL, **CHECKS} if f'"{name}"' not in code and f"'{name}'" not in code}
    assert unused - built == set()
