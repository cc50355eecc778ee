"""Doctor on PostgreSQL: damage that somebody did with SQL is found, and mended from the log."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from typing import TYPE_CHECKING, LiteralString, cast
from uuid import UUID

import psycopg
import pytest
from cli.user import User

from perdure import Memory
from perdure.errors import StoreReadOnly
from perdure.ids import content_hash
from perdure.location import locate
from perdure.model import Filter, Identity
from perdure.services import copy_stores
from perdure.store.postgres.address import parse_address
from perdure.store.postgres.log_notes import NOTES, LogNotes, NotedLines
from perdure.store.postgres.store import PostgresStore
from perdure.testing.records import (
    GENERATION,
    NAMESPACE,
    NOON,
    amend,
    change,
    embed,
    problems,
    read_once,
    remember,
    repair,
)

if TYPE_CHECKING:
    from pathlib import Path

    from postgres_server import PostgresServer
    from postgres_stores import EmptyStores

Damage = Callable[[str], None]


@pytest.fixture
def store(postgres_stores: EmptyStores) -> Iterator[PostgresStore]:
    opened = postgres_stores.open()
    record = remember(opened, "tea in the morning", tags=("hot",), key="drink:tea")
    embed(opened, [record])
    amend(opened, record, text="green tea in the morning")
    remember(opened, "milk", evidence=(record.id,))
    yield opened
    opened.close()


@pytest.fixture
def damage(store: PostgresStore, postgres_stores: EmptyStores) -> Iterator[Damage]:
    schema = store._address.schema
    with psycopg.connect(postgres_stores.conninfo(schema), autocommit=True) as connection:
        connection.execute("SET perdure.everywhere = 'on'")
        connection.execute(cast("LiteralString", f'SET search_path = "{schema}"'))
        yield lambda sql: void(connection.execute(cast("LiteralString", sql)))


def void(_: object) -> None: ...


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE memory SET text = 'changed' WHERE number = 1",
        "UPDATE memory SET state = 'deleted' WHERE number = 1",
        "DELETE FROM memory WHERE number = 1",
        "DELETE FROM entry",
        "UPDATE entry SET terms = '\\x00'",
        "DELETE FROM tag",
        "INSERT INTO tag SELECT namespace, 'cold', 1 FROM namespace",
        "DELETE FROM link",
        "UPDATE namespace SET documents = 99, words = 99",
        "UPDATE namespace SET number = 0",
        "UPDATE vector SET data = '\\x00'",
        "UPDATE namespace SET max_items = 0",
        "UPDATE tombstone SET digest = '\\x00'",
    ],
)
def test_what_was_damaged_is_found_and_comes_back_from_the_log(store: PostgresStore, damage: Damage, sql: str) -> None:
    with store.write(NAMESPACE) as writer:
        writer.add_tombstone(Identity(content_hash("rain")), "asked", NOON)
    before = read_once(store).page(Filter(), after=None, limit=9, newest=False)
    words = read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best
    assert problems(store) == []
    damage(sql)
    assert problems(store) != []
    assert repair(store) == []
    assert problems(store) == []
    assert read_once(store).page(Filter(), after=None, limit=9, newest=False) == before
    assert read_once(store).keyword_search(["tea"], Filter(), NOON, 9).best == words


@pytest.mark.parametrize(
    "sql",
    [
        "UPDATE revision SET actor = 'somebody else' WHERE seq = 1",
        "DELETE FROM revision WHERE seq = 3",
        "UPDATE payload SET body = replace(body, 'tea', 'gin') WHERE seq = 1",
        "DELETE FROM payload WHERE seq = 1",
        "UPDATE namespace SET head = '\\x00'",
    ],
)
def test_a_log_that_was_changed_is_found_and_left_as_it_is(store: PostgresStore, damage: Damage, sql: str) -> None:
    damage(sql)
    assert problems(store) != []
    list(store.repair())
    assert problems(store) != []


def test_what_was_left_of_an_erased_memory_goes(store: PostgresStore, damage: Damage) -> None:
    with store.write(NAMESPACE) as writer:
        writer.erase(1, change("erase"))
    damage("INSERT INTO payload SELECT namespace, 1, '\\x00', 'tea' FROM namespace")
    assert any("still partly there" in finding.sentence for finding in problems(store))
    list(store.repair())
    assert store.generations()[0].generation == GENERATION
    assert not any("still partly there" in finding.sentence for finding in problems(store))


def files_with(server: PostgresServer, words: bytes) -> list[str]:
    """The files of tables that hold these words on disk. What is in memory is written first."""
    with psycopg.connect(server.url(), autocommit=True) as connection:
        connection.execute("CHECKPOINT")
    return [file.name for file in server.data.glob("base/*/*") if file.is_file() and words in file.read_bytes()]


def test_what_was_erased_is_in_no_table_and_no_statistics_once_the_owner_has_rewritten_them(
    postgres_stores: EmptyStores, postgres_server: PostgresServer, tmp_path: Path
) -> None:
    url, file, words = postgres_stores.new_url(), tmp_path / "texts.jsonl", "the zither of Zebedee"
    texts = ({"text": f"{words} has {n} strings"} for n in range(1100))
    file.write_text("".join(f"{json.dumps(text)}\n" for text in texts), encoding="utf-8")
    with Memory(url, embedder="none", writer="person") as memory:
        memory.import_(file)
        assert files_with(postgres_server, words.encode())
        memory.erase(list(range(1, 1101)), confirm=True)
    # As of any other dead row.
    assert files_with(postgres_server, words.encode())
    user = User({"PERDURE_STORE": url})
    answer = user("migrate", "--rewrite")
    assert (answer.code, "in none of them any more" in answer.out) == (0, True), answer.err
    assert files_with(postgres_server, words.encode()) == []
    postgres_server.make_role("no_owner")
    with psycopg.connect(postgres_server.url(), autocommit=True) as connection:
        schema = parse_address(url, url).schema
        connection.execute(cast("LiteralString", f'GRANT USAGE ON SCHEMA "{schema}" TO no_owner'))
        connection.execute(cast("LiteralString", f'GRANT ALL ON ALL TABLES IN SCHEMA "{schema}" TO no_owner'))
    refused = User({"PERDURE_STORE": url.replace("perdure@", "no_owner@")})("migrate", "--rewrite")
    assert (refused.code, "may not do that" in refused.err) == (StoreReadOnly.exit_code, True), refused.err


def gone(store: PostgresStore) -> list[str]:
    """What doctor says about lines that are no longer in the log."""
    return [finding.sentence for finding in store.check() if (finding.check, finding.level) == ("mirror", "problem")]


def test_each_machine_names_the_lines_that_it_wrote_and_the_log_has_lost(
    store: PostgresStore, damage: Damage, tmp_path: Path
) -> None:
    here, there = (PostgresStore.open(store._address, notes=tmp_path / "data" / name) for name in ("here", "there"))
    with closing(here), closing(there):
        for n in range(NOTES):
            remember(here, f"here {n}")
            remember(there, f"there {n}")
        assert (gone(here), gone(there)) == ([], [])
        last = 3 + 2 * NOTES
        damage(f"DELETE FROM revision WHERE seq > {last - 3}")  # noqa: S608
        assert [f"line {last - 1} of the log is gone" in sentence for sentence in gone(here)] == [True]
        assert [f"lines {last - 2} and {last} of the log are gone" in sentence for sentence in gone(there)] == [True]
        damage("DELETE FROM namespace")
        assert "A namespace that is missing" in gone(here)[0]


def test_who_notes_a_line_keeps_nobody_waiting_and_syncs_once_a_second(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, moments, synced = tmp_path / "data" / "notes", [0.0], list[int]()
    monkeypatch.setattr(os, "fsync", synced.append)
    asked: list[Sequence[int]] = []

    def hashes_at(_: UUID, seqs: Sequence[int]) -> dict[int, bytes]:
        with path.open("rb") as file:
            # Whoever holds the lock of the file would be in the way.
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        asked.append(seqs)
        return {seq: bytes(32) for seq in seqs}

    notes, namespace = LogNotes(path, hashes_at, lambda: moments[0]), UUID(int=7)
    for seq in range(1, NOTES + 2):
        moments[0] += 0.05
        notes.note(NotedLines(namespace, seq, seq, bytes(32)))
    assert asked == [list(range(1, NOTES + 1))]
    assert len(synced) == 1
    # What a transaction has found makes room without a question.
    assert notes.wanted(namespace) == ()
    for seq in range(NOTES + 2, 3 * NOTES):
        notes.note(NotedLines(namespace, seq, seq, bytes(32)), dict.fromkeys(notes.wanted(namespace), bytes(32)))
    assert (len(asked), notes.read()[-1].last) == (1, 3 * NOTES - 1)
    notes.sync()
    assert len(synced) == 2


def test_a_note_that_cannot_be_kept_or_read_is_no_error(store: PostgresStore, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"no folder")
    (tmp_path / "torn").write_bytes(b"not ours at all" * 99)
    for notes in (tmp_path / "file" / "notes", tmp_path / "torn"):
        with closing(PostgresStore.open(store._address, notes=notes)) as opened:
            remember(opened, f"kept all the same, {notes.name}")
            assert gone(opened) == []


def test_what_was_erased_and_is_back_after_a_restore_is_erased_again(
    postgres_stores: EmptyStores, tmp_path: Path
) -> None:
    live, restored = postgres_stores.new_url(), postgres_stores.new_url()
    with Memory(live, embedder="none", writer="person") as memory:
        for text in ("tea in the morning", "milk", "bread"):
            memory.remember(text)
        memory.update(1, text="green tea in the morning")
        # As the database was when its backup was made.
        copy_stores(live, restored, None, lambda _name, _lines, _vectors: None)
        memory.erase([1, 3], confirm=True)
    ledger = locate(live).beside("erased")
    assert ledger.stat().st_mode & 0o077 == 0
    user = User({"PERDURE_STORE": restored, "PERDURE_EMBEDDER": "none"})
    answer = user("doctor", "--erased", str(ledger), "--json")
    assert answer.code == 0, answer.err
    assert "Memories that were erased and had come back, erased again: 2." in answer.out
    assert "erased again: 0." in user("doctor", "--erased", str(ledger)).out
    with Memory(restored, embedder="none", writer="person") as memory:
        assert [record.text for record in memory.list()] == ["milk"]
        assert [line.record for line in memory.history(1)] == [None] * 3
        assert "it is remembered again" in memory.remember("bread").notes[0]
    (tmp_path / "other").write_text("no list", encoding="utf-8")
    refused = user("doctor", "--erased", str(tmp_path / "other"))
    assert (refused.code, "is not a list of erased memories" in refused.err) == (2, True)
