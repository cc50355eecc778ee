"""A new file and an old one end up the same, and a step that fails leaves the file as it was."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import os
import re
import signal
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from store.behind import behind
from store.children import Child

from perdure.errors import StoreForeign
from perdure.model import Filter, identity_of
from perdure.store.capacity import EvictionRule, Load
from perdure.store.queries import load_queries
from perdure.store.sqlite import migrate
from perdure.store.sqlite.connection import Patience, connect
from perdure.store.sqlite.doctor.checks import CHECKS
from perdure.store.sqlite.doctor.schema import statements
from perdure.store.sqlite.file import prepare
from perdure.store.sqlite.sql import SQL
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.buggify import Buggified, buggified
from perdure.testing.records import GENERATION, NOON, amend, embed, read_once, remember
from perdure.text import words
from perdure.text.words import query_words

PACKAGE = Path(migrate.__file__).parent


# What leads a store of today back to an earlier schema, by the schema it leads to.
BACK = {
    5: """
        DROP TABLE link;
        CREATE TABLE link (
            namespace  INTEGER NOT NULL REFERENCES namespace (id),
            source     BLOB NOT NULL,
            kind       TEXT NOT NULL CHECK (kind IN ('supersedes', 'merged_from', 'evidence', 'references')),
            target     ANY NOT NULL,
            created_at INTEGER NOT NULL,
            PRIMARY KEY (namespace, source, kind, target)
        ) STRICT, WITHOUT ROWID;
        CREATE INDEX link_target ON link (namespace, target);
        DROP TABLE review;
        ALTER TABLE memory DROP COLUMN supersedes;
        ALTER TABLE memory DROP COLUMN merged_from;
        PRAGMA user_version = 5;
    """,
    4: """
        DROP TABLE provider_call;
        DROP TABLE parked;
        DELETE FROM meta WHERE name = 'serving';
        ALTER TABLE generation DROP COLUMN unrelated;
        PRAGMA user_version = 4;
    """,
    3: """
        DROP INDEX memory_content;
        CREATE INDEX memory_content ON memory (namespace, content_hash);
        PRAGMA user_version = 3;
    """,
    1: """
        DROP INDEX memory_content;
        CREATE INDEX memory_content ON memory (namespace, content_hash);
        DROP TABLE checkpoint;
        DROP INDEX memory_constitutional; DROP INDEX memory_folder; DROP INDEX memory_evicted;
        DROP INDEX memory_age; DROP INDEX memory_triggers;
        DROP INDEX revision_session; DROP INDEX revision_version;
        CREATE INDEX revision_number ON revision (namespace, number);
        ALTER TABLE namespace DROP COLUMN tokens;
        ALTER TABLE namespace DROP COLUMN max_items;
        ALTER TABLE namespace DROP COLUMN max_tokens;
        ALTER TABLE entry DROP COLUMN tokens;
        PRAGMA user_version = 1;
    """,
}


def schema_of(connection: Any) -> set[tuple[object, ...]]:
    """Word for word; only the white space is not compared, which a column that was added comes without."""
    return {
        (kind, name, table, re.sub(r"\s*([(),])\s*|\s+", lambda found: found[1] or " ", sql or ""))
        for kind, name, table, sql in connection.execute("SELECT type, name, tbl_name, sql FROM sqlite_schema")
    }


def columns_of(connection: Any) -> dict[str, list[tuple[object, ...]]]:
    tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_schema WHERE type = 'table'")]
    return {name: connection.execute(f"PRAGMA table_xinfo ({name})").fetchall() for name in tables}


def test_all_migrations_lead_to_the_schema_of_a_new_file():
    with behind(":memory:") as new, behind(":memory:") as old:
        new.execute((PACKAGE / "schema.sql").read_text(encoding="utf-8")).fetchall()
        for migration in migrate.migrations():
            old.execute(migration.read_text(encoding="utf-8")).fetchall()
        assert schema_of(new) == schema_of(old)
        assert columns_of(new) == columns_of(old)


def test_migrations_are_numbered_without_a_gap():
    numbers = [int(migration.name[:4]) for migration in migrate.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))
    assert migrate.newest_schema() == len(numbers)


def test_an_old_store_is_brought_up_to_date_in_one_transaction(path: Path, monkeypatch: pytest.MonkeyPatch):
    with closing(SqliteStore.open(path)) as store:
        record = remember(store, "tea")
    now = migrate.newest_schema()
    step = path.with_name("9999_test.sql")
    step.write_text("CREATE TABLE added (x INTEGER) STRICT;", encoding="utf-8")
    steps = (*migrate.migrations(), step)
    monkeypatch.setattr(migrate, "migrations", lambda: steps)
    monkeypatch.setattr(migrate, "newest_schema", lambda: now + 1)
    with buggified("migrate: before commit"), pytest.raises(Buggified):
        _migrate(path)
    assert _version(path) == (now, False)
    _migrate(path)
    _migrate(path)
    assert _version(path) == (now + 1, True)
    with behind(path) as raw:
        raw.execute(f"PRAGMA user_version = {now}; DROP TABLE added").fetchall()
    monkeypatch.undo()
    with closing(SqliteStore.open(path)) as store:
        assert read_once(store).fetch([1]) == [record]


@pytest.fixture
def old(path: Path) -> Path:
    """A store of the first schema, with memories that were corrected, forgotten, or are full of odd characters."""
    with closing(SqliteStore.open(path)) as store:
        first = remember(store, "tea in the morning", tags=("hot",))
        amend(store, first, text="green tea in the morning", title="Drinks")
        amend(store, remember(store, "coffee"), "forget", state="deleted")
        embed(store, [remember(store, "Straße 東京", "other", spec_folder="trips")])
    with behind(path) as raw:
        raw.execute(BACK[5] + BACK[4] + BACK[1]).fetchall()
    return path


def test_a_store_of_the_first_schema_opens_with_all_it_held(old: Path):
    with closing(SqliteStore.open(old)) as store:
        assert [finding for finding in store.check() if finding.level == "problem"] == []
        assert [record.text for record in read_once(store).fetch([1, 2])] == ["green tea in the morning", "coffee"]
        assert [scored.number for scored in read_once(store).keyword_search(["green"], Filter(), NOON, 9).best] == [1]
        assert [line.version for line in read_once(store).revisions(1)] == [1, 2]
        assert read_once(store).capacity(EvictionRule(0.3, 0.7)).load == Load(1, 6, None, None)
        assert read_once(store, "other").capacity(EvictionRule(0.3, 0.7)).load == Load(1, 3, None, None)
        assert read_once(store, "other").changed_after(0, "trips") == [1]
        assert store.pending_count(GENERATION) == 1


def test_a_store_of_the_third_schema_tells_scopes_apart(path: Path):
    with closing(SqliteStore.open(path)) as store:
        record = remember(store, "tea", conversation_id="c1")
    with behind(path) as raw:
        raw.execute(BACK[5] + BACK[4] + BACK[3]).fetchall()
    with closing(SqliteStore.open(path)) as store:
        assert [finding for finding in store.check() if finding.level == "problem"] == []
        assert read_once(store).by_content(identity_of(record)) == record
        assert read_once(store).by_content(identity_of(record)._replace(conversation_id="c2")) is None


def test_in_a_store_of_the_fourth_schema_the_generation_with_the_most_vectors_serves(path: Path):
    newer = replace(GENERATION, version="2")
    with closing(SqliteStore.open(path)) as store:
        records = [remember(store, text) for text in ("tea", "coffee", "milk")]
        embed(store, records[:1])
        embed(store, records, newer)
    with behind(path) as raw:
        raw.execute(BACK[5] + BACK[4]).fetchall()
    with closing(SqliteStore.open(path)) as store:
        assert store.serving_generation() == newer
        assert store.calibration(newer) is None
        assert store.parked("default") == store.calls(None, 9) == []
        assert [finding for finding in store.check() if finding.level == "problem"] == []


def test_in_a_store_of_the_fifth_schema_evidence_is_found_from_both_ends(path: Path):
    with closing(SqliteStore.open(path)) as store:
        first = remember(store, "tea in the morning")
        second = remember(store, "Alice drinks tea", evidence=(first.id, "https://example.org"), metadata={"n": 1})
        damaged = remember(store, "Alice drinks milk", evidence=(first.id,))
    with behind(path) as raw:
        raw.execute(BACK[5]).fetchall()
        raw.execute("UPDATE memory SET evidence = 'no list' WHERE slot & 4294967295 = ?", (damaged.number,)).fetchall()
    with closing(SqliteStore.open(path)) as store:
        assert read_once(store).fetch([1, 2, 3]) == [first, second]
        assert [link.number for link in read_once(store).links(first.id)] == [2]
        list(store.repair())
        assert [link.number for link in read_once(store).links(first.id)] == [2, 3]
        assert [finding for finding in store.check() if finding.level == "problem"] == []


def test_a_process_killed_anywhere_in_a_migration_leaves_the_old_store_or_the_new_one(old: Path):
    steps = list(statements(migrate.migrations()[1].read_text(encoding="utf-8")))
    places = [("migrate: between statements", nth) for nth in range(1, len(steps) + 1)]
    for label, nth in [*places, ("migrate: before commit", 1)]:

        def upgrade(label: str = label, nth: int = nth) -> None:
            with buggified(label, "kill", nth):
                SqliteStore.open(old)

        assert os.WTERMSIG(Child(upgrade).result()[1]) == signal.SIGKILL
        with behind(old) as raw:
            assert raw.pragma("user_version") == 1
            assert raw.pragma("integrity_check") == "ok"
            assert not raw.table_exists(None, "checkpoint")
    with closing(SqliteStore.open(old)) as store:
        assert [finding for finding in store.check() if finding.level == "problem"] == []
        assert remember(store, "milk").number == 3


# What an earlier version read otherwise, and how somebody may ask for it.
READ_OTHERWISE = {
    "الْعَرَبِيَّةُ": "العربية",
    "שָׁלוֹם": "שלום",
    "ο Σίσυφος": "σισυφοσ",  # noqa: RUF001 - Greek
    "Lange Straße": "strasse",
    "ships 👩\u200d💻": "👩\u200d💻",
    "the ÜberCamel": "ubercamel",
    "a lone mark \u05b8": "lone",
    "plain tea": "tea",
    "\u6771\u4eac\u90fd": "\u6771\u4eac",
}


def test_what_an_earlier_version_read_otherwise_is_found_by_the_words_of_now(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(words, "FOLDED", re.compile("(?!)"))
    monkeypatch.setattr(words, "_CAMEL", re.compile(r"(?<![A-Za-z0-9])[A-Za-z0-9]*[a-z0-9][A-Z][A-Za-z0-9]*"))
    with closing(SqliteStore.open(path)) as store:
        for text in READ_OTHERWISE:
            remember(store, text)
        amend(store, remember(store, "Straße, forgotten"), "forget", state="deleted")
        remember(store, "Straße", "other")
    monkeypatch.undo()
    with behind(path) as raw:
        raw.execute(f"{BACK[5]} {BACK[4]} PRAGMA user_version = {migrate._WORDS - 1}").fetchall()
    with closing(SqliteStore.open(path)) as store:
        assert [finding for finding in store.check() if finding.level == "problem"] == []
        found = [
            [scored.number for scored in read_once(store).keyword_search(query_words(asked), Filter(), NOON, 9).best]
            for asked in READ_OTHERWISE.values()
        ]
        assert found == [[number] for number in range(1, len(READ_OTHERWISE) + 1)]
        assert len(read_once(store, "other").keyword_search(["strasse"], Filter(), NOON, 9).best) == 1


def test_a_store_with_a_damaged_full_text_index_is_brought_up_to_date_all_the_same(
    path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(words, "FOLDED", re.compile("(?!)"))
    with closing(SqliteStore.open(path)) as store:
        remember(store, "Lange Straße")
    monkeypatch.undo()
    with behind(path) as raw:
        raw.execute("UPDATE entry_fts_data SET block = x'00'").fetchall()
        raw.execute(f"{BACK[5]} {BACK[4]} PRAGMA user_version = {migrate._WORDS - 1}").fetchall()
    with closing(SqliteStore.open(path)) as store:
        assert [record.text for record in read_once(store).fetch([1])] == ["Lange Straße"]


def test_the_statements_of_a_file_are_told_apart_with_their_triggers_whole():
    for file in (*migrate.migrations(), PACKAGE / "schema.sql"):
        text = file.read_text(encoding="utf-8")
        found = list(statements(text))
        assert "".join(found).split() == text.split()
        assert sum("CREATE TRIGGER" in statement for statement in found) == text.count("CREATE TRIGGER")
        assert all(statement.count("CREATE") <= 1 for statement in found)
    assert list(statements("SELECT 1;\nSELECT 2")) == ["SELECT 1;\n", "SELECT 2"]


def _migrate(path: Path) -> None:
    file = prepare(path)
    with closing(connect(file, "write", Patience(1))) as connection:
        migrate.migrate(connection, file)


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
    file = prepare(path)
    with closing(connect(file, "write", Patience(1))) as connection:
        with behind(path) as raw:
            raw.execute("CREATE TABLE theirs (x)")
        with pytest.raises(StoreForeign):
            migrate.migrate(connection, file)
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
    code = "".join(path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py"))
    built = {f"where_{name}" for name in ("context_type", "tier", "source_project", "spec_folder", "conversation_id")}
    built |= {f"where_{name}" for name in ("categories", "sources", "since", "until", "created_since", "created_until")}
    built |= {f"where_{name}" for name in ("unexpired_at", "numbers", "min_importance", "max_importance", "key_type")}
    built |= {"where_where", "where_told_in", "where_no_episode", "where_no_proposal", "where_no_message"}
    built |= {
        f"lines_{name}" for name in ("session", "actor", "operation", "request", "before", "after", "since", "until")
    }
    unused = {name for name in {**SQL, **CHECKS} if f'"{name}"' not in code and f"'{name}'" not in code}
    assert unused - built == set()
