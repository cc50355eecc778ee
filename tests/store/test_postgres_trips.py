"""How often a verb waits for the server. A trip takes as long as the network does, so their number is what counts."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from perdure import Memory
from perdure.location import locate
from perdure.store.postgres.address import Address, parse_address
from perdure.store.postgres.connection import Session
from perdure.store.postgres.log_notes import NOTES
from perdure.store.postgres.pool import Transaction
from perdure.store.postgres.store import PostgresStore
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from postgres_stores import EmptyStores


class Trips:
    """Counts what waits: every batch of questions, and the end of every transaction."""

    def __init__(
        self,
        patch: pytest.MonkeyPatch,
        waiting: Sequence[tuple[type, str]] = ((Transaction, "ask_all"), (Session, "sync")),
    ) -> None:
        self.count = 0
        for owner, name in waiting:
            patch.setattr(owner, name, self._counted(getattr(owner, name)))

    def _counted(self, act: Callable[..., Any]) -> Callable[..., Any]:
        def counted(*arguments: Any, **options: Any) -> Any:
            self.count += 1
            return act(*arguments, **options)

        return counted

    def of(self, call: Callable[[], object]) -> int:
        before = self.count
        call()
        return self.count - before


@pytest.fixture
def memory(postgres_stores: EmptyStores) -> Iterator[Memory]:
    with Memory(postgres_stores.new_url(), embedder=WordEmbedder()) as opened:
        opened.remember("what comes first makes the namespace")
        opened.recall("first")
        yield opened


def test_verbs_wait_a_few_times_at_most(memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    trips = Trips(monkeypatch)
    number = memory.remember("tea in the morning").record.number
    counted = {
        "remember": trips.of(lambda: memory.remember("milk in the evening")),
        "remember once": trips.of(lambda: memory.remember("water at noon", idempotency_key="call-1")),
        "said again": trips.of(lambda: memory.remember("milk in the evening")),
        "upsert": trips.of(lambda: memory.upsert("person:ann", "Ann lives in Osaka")),
        "new version": trips.of(lambda: memory.upsert("person:ann", "Ann lives in Kyoto")),
        "update": trips.of(lambda: memory.update(number, tags=["hot"])),
        "get": trips.of(lambda: memory.get(number)),
        "recall": trips.of(lambda: memory.recall("tea")) and trips.of(lambda: memory.recall("tea")),
    }
    for verb, most in (
        ("remember", 4), ("remember once", 4), ("said again", 4), ("upsert", 4), ("new version", 6), ("update", 6),
        ("get", 1), ("recall", 2),
    ):  # fmt: skip
        assert counted[verb] <= most, counted


def test_what_is_said_together_is_sent_together(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each packet wakes the server. A memory that is new is looked for, looked for again, and written."""
    packets = Trips(monkeypatch, [(Session, "_exchange")])
    assert packets.of(lambda: memory.remember("tea in the morning")) <= 4


def test_statements_that_are_sent_often_are_prepared_once(memory: Memory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever a memory leaves out, its row is put by the same statement."""
    for n in range(8):
        memory.remember(f"memory {n}")
    names: set[bytes] = set()
    named = Session._name_of

    def noting(session: Session, sql: bytes, types: tuple[int, ...]) -> bytes | None:
        name = named(session, sql, types)
        if b"INTO" in sql and b"memory (" in sql and name is not None:
            names.add(name)
        return name

    monkeypatch.setattr(Session, "_name_of", noting)
    memory.remember("one with a title", title="a title")
    for n in range(8):
        memory.remember(f"{n} with a title", title="a title")
        memory.remember(f"{n} without one")
    assert len(names) <= 2


@pytest.mark.parametrize(("option", "prepares"), [("", False), ("&prepare=on", True)])
def test_a_pooler_is_told_no_statements_to_remember_unless_the_address_says_that_it_can(
    postgres_stores: EmptyStores, monkeypatch: pytest.MonkeyPatch, option: str, prepares: bool
) -> None:
    """It names a process of its own where the server would name the one that serves."""
    monkeypatch.setattr(psycopg.ConnectionInfo, "backend_pid", 1)
    sent: set[bytes | None] = set()
    named = Session._name_of

    def noting(session: Session, sql: bytes, types: tuple[int, ...]) -> bytes | None:
        sent.add(named(session, sql, types))
        return None

    monkeypatch.setattr(Session, "_name_of", noting)
    with Memory(f"{postgres_stores.new_url()}{option}", embedder=WordEmbedder()) as memory:
        for n in range(9):
            memory.remember(f"memory {n}")
    assert bool(sent) is prepares


def test_a_long_text_arrives_however_slowly_it_is_taken(memory: Memory) -> None:
    store: Any = memory._services.store
    for session in store._pool._idle:
        with socket.socket(fileno=os.dup(session._connection.fileno())) as connected:
            connected.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 4096)
    text = "tea in the morning " * 20_000
    assert memory.get(memory.remember(text).record.number).text == text


def test_noting_what_was_written_asks_the_server_nothing_by_itself(
    memory: Memory, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = Trips(monkeypatch, [(PostgresStore, "_hashes_at")])
    for n in range(2 * NOTES):
        memory.remember(f"memory {n}")
    store: Any = memory._services.store
    assert (questions.count, store._log_notes.read()[-1].last >= 2 * NOTES) == (0, True)


def test_an_import_waits_once_for_many_records(memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    file = tmp_path / "many.jsonl"
    file.write_text(
        "".join(f"{json.dumps({'text': f'memory {n} of an import'})}\n" for n in range(1000)), encoding="utf-8"
    )
    trips = Trips(monkeypatch)
    assert trips.of(lambda: memory.import_(file)) <= 100


def test_the_server_knows_the_size_of_what_was_imported(postgres_stores: EmptyStores, tmp_path: Path) -> None:
    """Otherwise it would read a whole namespace for a few memories, until it counts by itself."""
    file = tmp_path / "many.jsonl"
    file.write_text("".join(f"{json.dumps({'text': f'memory {n}'})}\n" for n in range(1100)), encoding="utf-8")
    location = locate(postgres_stores.new_url())
    address = parse_address(location.address, location.shown)
    with Memory(location.address, embedder=WordEmbedder()) as memory:
        memory.import_(file)
    with psycopg.connect(address.conninfo) as connection:
        found = connection.execute(
            "SELECT n_distinct FROM pg_stats WHERE schemaname = %s AND tablename = 'memory' AND attname = 'namespace'",
            (address.schema,),
        ).fetchall()
    assert found == [(1.0,)]


def test_a_text_is_found_without_reading_the_others_even_before_the_server_has_counted_them(
    postgres_stores: EmptyStores,
) -> None:
    location = locate(postgres_stores.new_url())
    address = parse_address(location.address, location.shown)
    with Memory(location.address, embedder=WordEmbedder()) as memory:
        for n in range(300):
            memory.remember(f"memory {n}")
        before = _rows_read(memory, address)
        for n in range(20):
            memory.remember(f"another memory {n}")
        assert _rows_read(memory, address) - before < 20 * 40


def _rows_read(memory: Memory, address: Address) -> int:
    """By all statements so far."""
    store: Any = memory._services.store
    for session in store._pool._idle:
        session.ask("SELECT pg_stat_force_next_flush()")
        session.sync()
    with psycopg.connect(address.conninfo) as connection:
        found = connection.execute(
            "SELECT (SELECT sum(idx_tup_read) FROM pg_stat_user_indexes WHERE schemaname = %(schema)s)"
            " + (SELECT sum(seq_tup_read) FROM pg_stat_user_tables WHERE schemaname = %(schema)s)",
            {"schema": address.schema},
        ).fetchone()
    assert found is not None
    return int(found[0])


def test_rows_are_put_many_at_once_and_a_memory_that_is_written_twice_is_kept_as_it_was_last(
    memory: Memory, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    lines = [{"text": f"memory {n}", "key": f"note:{n % 40}", "tags": ["odd" if n % 2 else "even"]} for n in range(64)]
    file = tmp_path / "twice.jsonl"
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    sent: list[str] = []
    send = Session.send_numbered

    def counted(session: Session, sql: str, values: Any) -> None:
        sent.append(sql)
        send(session, sql, values)

    monkeypatch.setattr(Session, "send_numbered", counted)
    memory.import_(file)
    # Each line is five rows; those that change a memory go one by one.
    assert len(sent) < 3 * len(lines)
    kept = {record.key: (record.text, record.tags) for record in memory.list(limit=99) if record.key}
    assert kept == {line["key"]: (line["text"], tuple(line["tags"])) for line in lines}
    assert [finding for finding in memory.doctor() if finding.level == "problem"] == []


def test_an_import_that_asks_about_many_texts_at_once_decides_as_on_a_file(
    postgres_stores: EmptyStores, tmp_path: Path
) -> None:
    """The same texts in several scopes, some of them there already, and one that was forgotten."""
    file = tmp_path / "scopes.jsonl"
    places: tuple[dict[str, str], ...] = ({}, {"conversation_id": "a"}, {"conversation_id": "b"}, {"spec_folder": "a"})
    lines = [{"text": f"memory {n % 9}", "created_at": "2020-01-01T00:00:00Z", **places[n % 4]} for n in range(36)]
    file.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")

    def lived(store: str) -> list[Any]:
        with Memory(store, embedder=WordEmbedder()) as memory:
            memory.remember("memory 1")
            memory.remember("memory 2", conversation_id="b")
            memory.forget(memory.remember("memory 3").record.number)
            done = [memory.import_(file) for _ in range(2)]
            kept = [(each.number, each.text, each.conversation_id, each.spec_folder) for each in memory.list(limit=99)]
        assert [(each.inserted, each.present, each.skipped_deleted) for each in done] == [(33, 2, 1), (0, 35, 1)]
        return kept

    assert lived(postgres_stores.new_url()) == lived(str(tmp_path / "memory.db"))
