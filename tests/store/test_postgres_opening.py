"""Making, renewing and opening a store in PostgreSQL: who may, what is refused, and that no password is ever shown."""

from __future__ import annotations

import json
import logging
import random
import socket
import traceback
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Thread
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
import pytest
from cli.user import User

from perdure import Memory
from perdure.errors import (
    InvalidInput,
    StoreBusy,
    StoreMissing,
    StoreNewer,
    StoreReadOnly,
    StoreUnreachable,
    StoreUnreadable,
)
from perdure.location import locate
from perdure.settings import load
from perdure.store.postgres import migrate, pool
from perdure.store.postgres.address import Address, parse_address

if TYPE_CHECKING:
    from postgres_server import PostgresServer
    from postgres_stores import EmptyStores

PASSWORD = "pl4nted-s3cret"  # noqa: S105


def address_of(url: str) -> Address:
    location = locate(url)
    return parse_address(location.address, location.shown)


@pytest.fixture
def database(postgres_server: PostgresServer, request: pytest.FixtureRequest) -> Iterator[str]:
    """The address of a new database without tables."""
    name = f"d{abs(hash(request.node.nodeid))}"
    with closing(psycopg.connect(postgres_server.url(), autocommit=True)) as connection:
        connection.execute(cast("LiteralString", f"CREATE DATABASE {name}"))
    yield postgres_server.url(name)
    with closing(psycopg.connect(postgres_server.url(), autocommit=True)) as connection:
        connection.execute(cast("LiteralString", f"DROP DATABASE {name} WITH (FORCE)"))


def set_meta(url: str, **values: int) -> None:
    with closing(psycopg.connect(address_of(url).conninfo, autocommit=True)) as connection:
        for name, value in values.items():
            connection.execute("UPDATE perdure.meta SET value = %s WHERE name = %s", (value, name))


def test_opening_makes_nothing_and_says_who_does(database: str) -> None:
    with pytest.raises(StoreMissing, match="no tables") as refused:
        Memory(database)
    assert "perdure migrate" in refused.value.cli_remedy
    with closing(psycopg.connect(address_of(database).conninfo)) as connection:
        assert connection.execute("SELECT to_regnamespace('perdure')").fetchall() == [(None,)]


def test_tables_are_made_once_and_again_changes_nothing(database: str) -> None:
    user = User({"PERDURE_STORE": database, "PERDURE_EMBEDDER": "none"})
    assert user("migrate", "--json").json == {
        "schema_before": 0, "schema": migrate.newest_schema(), "pgvector": False,
        "rewritten": False,
    }  # fmt: skip
    with Memory(database, embedder="none") as memory:
        memory.remember("tea")
    assert user("migrate", "--json").json["schema_before"] == migrate.newest_schema()
    assert "up to date" in user("migrate").out
    with Memory(database, embedder="none") as memory:
        assert [record.text for record in memory.list()] == ["tea"]


def test_what_is_printed_makes_the_same_tables(database: str, postgres_server: PostgresServer) -> None:
    postgres_server.make_role("printed_app")
    printed = User({"PERDURE_STORE": database}).__call__("migrate", "--print", "--role", "printed_app").out
    with closing(psycopg.connect(address_of(database).conninfo, autocommit=True)) as connection:
        connection.execute(cast("LiteralString", printed))
    with Memory(database.replace("perdure@", "printed_app@"), embedder="none") as memory:
        memory.remember("tea")
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []


def test_several_who_migrate_at_once_make_one_store(database: str) -> None:
    def make(_: int) -> str:
        try:
            return f"made {migrate.migrate(address_of(database)).schema}"
        except StoreBusy:
            return "busy"

    with ThreadPoolExecutor(4) as threads:
        answers = set(threads.map(make, range(4)))
    assert f"made {migrate.newest_schema()}" in answers
    assert answers <= {f"made {migrate.newest_schema()}", "busy"}
    Memory(database, embedder="none").close()


def test_a_program_uses_newer_tables_while_they_are_only_more(database: str) -> None:
    newest = migrate.newest_schema()
    migrate.migrate(address_of(database))
    set_meta(database, schema=newest + 1, oldest_program=newest)
    Memory(database, embedder="none").close()
    set_meta(database, schema=newest + 2, oldest_program=newest + 1)
    with pytest.raises(StoreNewer, match="does not know"):
        Memory(database, embedder="none")
    with pytest.raises(StoreNewer):
        migrate.migrate(address_of(database))
    set_meta(database, schema=0, oldest_program=0)
    with pytest.raises(StoreMissing):
        Memory(database, embedder="none")


def test_older_tables_want_to_be_migrated_first(monkeypatch: pytest.MonkeyPatch, database: str) -> None:
    migrate.migrate(address_of(database))
    known = migrate.newest_schema()
    monkeypatch.setattr(migrate, "newest_schema", lambda: known + 1)
    with pytest.raises(StoreUnreadable, match=f"needs {known + 1}") as refused:
        Memory(database, embedder="none")
    assert "perdure migrate" in refused.value.cli_remedy


def test_tables_are_renewed_while_programs_of_the_version_before_go_on(
    monkeypatch: pytest.MonkeyPatch, database: str
) -> None:
    everything = migrate._migrations()
    with monkeypatch.context() as before:
        before.setattr(migrate, "_migrations", lambda: everything[:1])
        assert migrate.migrate(address_of(database)).schema == 1
        with Memory(database, embedder="none") as memory:
            memory.remember("tea")
            assert User({"PERDURE_STORE": database})("token", "list").code != 0
            before.undo()
            assert migrate.migrate(address_of(database)).schema_before == 1
            before.setattr(migrate, "_migrations", lambda: everything[:1])
            memory.remember("milk")
        with Memory(database, embedder="none") as memory:
            assert [record.text for record in memory.list()] == ["milk", "tea"]
    assert User({"PERDURE_STORE": database})("token", "list").code == 0


def test_what_is_no_database_has_no_tables_to_make(tmp_path: Path) -> None:
    answer = User({"PERDURE_STORE": str(tmp_path / "memory.db")})("migrate")
    assert (answer.code, list(tmp_path.iterdir())) == (2, [])
    assert "brought up to date when it is opened" in answer.err


@pytest.mark.parametrize("odd", ["?prepare=maybe", "?schema=" + "s" * 64, "?no_such_option=1"])
def test_an_address_that_cannot_be_read_is_refused_unshown(odd: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        Memory(f"postgresql://ann:{PASSWORD}@127.0.0.1{odd}")
    assert PASSWORD not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("perdure@", "nobody-here@"), "does not let this role in"),
        (("/postgres?", "/nowhere?"), "no such database"),
        (("host=", "host=/nowhere"), "did not answer"),
    ],
)
def test_a_database_that_lets_nobody_in_is_told_from_one_that_is_not_there(
    change: tuple[str, str], said: str, postgres_server: PostgresServer
) -> None:
    with pytest.raises(StoreUnreachable, match=said):
        Memory(postgres_server.url().replace(*change))


def test_who_finds_no_connection_left_waits_for_one(
    postgres_server: PostgresServer, database: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    postgres_server.make_role("crowded_app")
    migrate.migrate(address_of(database), role="crowded_app")
    with closing(psycopg.connect(postgres_server.url(), autocommit=True)) as connection:
        connection.execute("ALTER ROLE crowded_app CONNECTION LIMIT 1")
    url = database.replace("perdure@", "crowded_app@")
    with closing(psycopg.connect(address_of(url).conninfo)) as other:
        with pytest.raises(StoreBusy, match="takes no more connections"):
            Memory(settings=load(store=url, embedder="none", busy_seconds=0.1))

        def closing_other(_: float) -> None:
            other.close()

        # The other one ends while it is waited for.
        monkeypatch.setattr(pool, "sleep", closing_other)
        with Memory(url, embedder="none") as memory:
            assert memory.remember("tea").outcome == "inserted"


def test_what_is_too_long_for_an_index_of_the_database_is_refused(postgres_stores: EmptyStores) -> None:
    """A file keeps it."""
    letters = random.Random(7)
    name = "".join(chr(letters.randrange(0x4E00, 0x9FFF)) for _ in range(1000))
    with Memory(postgres_stores.new_url(), embedder="none") as memory:
        for fields in ({"tags": [name]}, {"idempotency_key": name}, {"conversation_id": name}):
            with pytest.raises(InvalidInput, match="too long for a database"):
                memory.remember("tea", **cast("dict[str, Any]", fields))
        assert memory.remember("tea", tags=[name[:860]]).outcome == "inserted"


def test_a_server_that_takes_no_changes_says_so(postgres_server: PostgresServer, database: str) -> None:
    postgres_server.make_role("reading_app")
    migrate.migrate(address_of(database), role="reading_app")
    with closing(psycopg.connect(postgres_server.url(), autocommit=True)) as connection:
        connection.execute("ALTER ROLE reading_app SET default_transaction_read_only = on")
    with pytest.raises(StoreReadOnly, match="takes no changes"):
        Memory(database.replace("perdure@", "reading_app@"), embedder="none")


@pytest.mark.parametrize("sslmode", ["require", "verify-full"])
def test_a_database_without_tls_is_told_from_one_that_does_not_answer(sslmode: str) -> None:
    def without_tls(listener: socket.socket) -> None:
        while True:
            try:
                connection, _ = listener.accept()
            except OSError:
                return
            with connection:
                connection.recv(8)
                connection.sendall(b"N")

    root = "" if sslmode == "require" else "&sslrootcert=system"
    with socket.create_server(("127.0.0.1", 0)) as listener:
        Thread(target=without_tls, args=(listener,), daemon=True).start()
        url = f"postgresql://ann:{PASSWORD}@127.0.0.1:{listener.getsockname()[1]}/mem?sslmode={sslmode}{root}"
        with pytest.raises(StoreUnreachable, match="does not encrypt") as refused:
            Memory(url)
        listener.shutdown(socket.SHUT_RDWR)
    assert "?sslmode=prefer" in str(refused.value)
    assert PASSWORD not in "".join(traceback.format_exception(refused.value))


def test_an_sslmode_that_is_none_is_named(postgres_server: PostgresServer) -> None:
    with pytest.raises(InvalidInput, match="sslmode"):
        Memory(f"{postgres_server.url()}&sslmode=sometimes")


def test_another_machine_has_to_prove_who_it_is() -> None:
    assert "sslmode=verify-full" in address_of("postgresql://ann@db.example.org/mem").conninfo
    assert "sslmode=require" in address_of("postgresql://ann@db.example.org/mem?sslmode=require").conninfo
    for local in ("postgresql:///mem", "postgresql://127.0.0.1/mem", "postgresql:///mem?host=/tmp"):
        assert "sslmode" not in address_of(local).conninfo


def test_a_password_is_in_no_answer_log_error_or_trace(
    postgres_stores: EmptyStores, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """The server lets everybody in, so the password is used and checked by nobody."""
    caplog.set_level(logging.DEBUG)
    url = postgres_stores.new_url().replace("perdure@", f"perdure:{PASSWORD}@")
    nobody = url.replace("/postgres?", "/no_such_database?")
    seen: list[str] = []
    for store in (url, nobody, f"postgresql://ann:{PASSWORD}@127.0.0.1:9/mem"):
        user = User({"PERDURE_STORE": store, "PERDURE_EMBEDDER": "none"})
        for words in (
            ("remember", "tea"), ("recall", "tea"), ("stats",), ("stats", "--json"), ("doctor",), ("doctor", "--json"),
            ("config", "show"), ("config", "show", "--json"), ("migrate",), ("migrate", "--print"), ("namespaces",),
            ("backup", str(tmp_path / "copy")), ("erase", "1", "--yes"), ("work",), ("token", "list"),
        ):  # fmt: skip
            answer = user(*words)
            seen += [answer.out, answer.err]
        try:
            with Memory(store, embedder="none") as memory:
                services: Any = memory._services
                seen += [repr(memory), repr(services.settings), repr(services.store), str(memory.stats())]
                seen.append(json.dumps([finding.sentence for finding in memory.doctor()]))
        except StoreUnreachable as error:
            seen += ["".join(traceback.format_exception(error)), repr(error), json.dumps(error.as_dict())]
    assert any("tea" in text for text in seen)
    assert PASSWORD not in "".join(seen) + caplog.text
