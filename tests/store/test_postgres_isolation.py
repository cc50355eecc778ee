"""A role that owns nothing sees one namespace, or none: whatever a statement forgets to ask for."""

from __future__ import annotations

import re
from collections.abc import Generator
from typing import TYPE_CHECKING, Any, LiteralString, cast
from uuid import UUID

import psycopg
import pytest
from postgres_server import citus_shards, has_pgvector
from serve.story import tell

from perdure import Memory
from perdure.clock import to_micros
from perdure.model import Checkpoint, identity_of
from perdure.services import copy_stores
from perdure.settings import load
from perdure.store.port import Review, Use
from perdure.store.postgres import migrate
from perdure.store.postgres.connection import Session, take_number_arrays
from perdure.store.postgres.reader import generation_key, namespace_key
from perdure.store.postgres.sql import doctor_queries, queries
from perdure.testing.embedder import WordEmbedder
from perdure.testing.records import GENERATION, NOON, embed, remember

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from postgres_stores import EmptyStores

    Connection = psycopg.Connection[tuple[Any, ...]]

OURS, THEIRS = namespace_key("ours"), namespace_key("theirs")
# A whole statement, not a part of one; and what has no namespace in it is about no namespace.
WHOLE = re.compile(r"^(SELECT|UPDATE|DELETE|INSERT)\b(?!.*\b(WHERE|AND|,|\()$)", re.DOTALL)
OWN = re.compile(r"(\w+\.)?namespace = (%\(namespace\)s|ANY\(%\(namespaces\)s::uuid\[\]\))")
# What is bound to a parameter. Every number and text of a memory below is among them.
VALUES: dict[str, Any] = {
    "numbers": [1], "seqs": [1], "positions": [1], "passages": [], "digests": [],
    "content_hashes": [], "conversations": [], "tiers": ["critical"],
    "kinds": ["evidence"], "namespaces": [OURS], "memories": [], "limit": 9, "after": 0, "last": 99, "seq": 0,
    "vector": 0, "number": 1, "id": 1, "from": 0.0, "below": 1.0, "high": 0.5, "unrelated": 0.5, "everything":
    True, "key": "drink:tea", "state": "active", "prefix": "", "schema": "public", "moment": to_micros(NOON) *
    2, "since": 0, "first": b"", "at": to_micros(NOON), "now": 0, "until": 1, "generation":
    generation_key(GENERATION), "position": 9,
}  # fmt: skip
TEXTS = set(
    """
    name by_model spec_folder conversation_id file_path anchor_id kind folder first_key last_key tag reason purpose
    model error output owner value provider version body
    """.split()
)
BYTES = {"content_hash", "passage_hash", "terms", "salt", "secret", "head", "digest", "data", "checksum_of"}
IDS = {"target", "memory", "namespace"}


@pytest.fixture(scope="module")
def app(postgres_kinds: Callable[..., EmptyStores]) -> Generator[Connection]:
    """A connection of the role without rights, to a store with something of ours in every table."""
    stores = postgres_kinds(role="perdure_app", prepare="off")
    store = stores.open()
    tea = remember(store, "tea", "ours", key="drink:tea", tags=("hot",), trigger_phrases=("tea",))
    remember(store, "milk", "ours", evidence=(tea.id,), expires_at=NOON)
    embed(store, [tea])
    with store.write("ours") as writer:
        writer.add_tombstone(identity_of(tea)._replace(content_hash="00" * 8), "asked", NOON)
    store.note_use([Use("ours", 1, 1, NOON, 1, NOON)])
    store.note_reviews([Review("ours", 1, 1, NOON, NOON)])
    assert store.flush_use(patience=5)
    store.park("ours", purpose="keywords", memory=1, model="m", error="e", output="o", attempts=1, at=NOON)
    store.put_checkpoint(Checkpoint("before", "ours", {}, 0, NOON, "alice"))
    schema = store._address.schema
    with psycopg.connect(stores.conninfo(schema, "perdure"), autocommit=True) as owner:
        owner.execute("SET perdure.everywhere = 'on'")
        owner.execute(cast("LiteralString", f'INSERT INTO "{schema}".note VALUES (%s, %s, %s)'), (OURS, "a", "b"))  # noqa: S608
    with psycopg.connect(stores.conninfo(schema), autocommit=True) as connection:
        connection.execute(cast("LiteralString", f'SET search_path = "{schema}"'))
        yield connection
    store.close()


def rows(
    app: Connection, scope: UUID | None, sql: str, bindings: dict[str, Any] | None = None
) -> list[tuple[Any, ...]]:
    """What the statement answers, or how many rows it changed; everything is taken back."""
    with app.transaction(force_rollback=True):
        if scope is not None:
            app.execute(cast("LiteralString", f"SET LOCAL perdure.namespace = '{scope}'"))
        try:
            cursor = app.execute(cast("LiteralString", sql), bindings)
        except psycopg.errors.FeatureNotSupported:
            # Citus locks no row of a namespace that it was not told.
            if not citus_shards():
                raise
            return []
        if cursor.description is None:
            return [(cursor.rowcount,)]
        return cursor.fetchall()


def test_every_table_has_something_of_ours_and_shows_it_to_nobody_else(app: Connection) -> None:
    for table in migrate.NAMESPACE_TABLES:
        count = f"SELECT count(*) FROM {table}"  # noqa: S608
        assert rows(app, OURS, count)[0][0] > 0, table
        assert rows(app, THEIRS, count) == rows(app, None, count) == [(0,)], table


def test_a_statement_that_forgets_its_namespace_finds_and_changes_nothing(app: Connection) -> None:
    tried, found_by_us = 0, 0
    schema = app.execute("SHOW search_path").fetchall()[0][0].strip('"')
    for name, sql in {**queries(schema), **doctor_queries(schema)}.items():
        if not WHOLE.match(sql) or not OWN.search(sql) or sql.startswith("INSERT"):
            continue
        bindings = {parameter: bound(parameter) for parameter in re.findall(r"%\((\w+)\)s", sql)}
        if name in {"keys_of", "last_keys_of"}:
            bindings |= {"after": "", "last": "~"}
        forgetful = OWN.sub("TRUE", sql)
        for scope in (THEIRS, None):
            found = rows(app, scope, forgetful, bindings)
            assert not any(value for row in found for value in row if value not in SHARED_ANSWERS), (name, found)
        found_by_us += any(value for row in rows(app, OURS, forgetful, bindings) for value in row)
        tried += 1
    # The same statements find or change much where they may.
    assert tried >= 60
    assert found_by_us >= 40


def test_whatever_a_program_sends_finds_nothing_without_its_namespace(
    postgres_kinds: Callable[..., EmptyStores], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Statements as they are put together, with what was bound to them, of all that one does with a memory."""
    stores = postgres_kinds(role="forgetful_app", pgvector=has_pgvector())
    schema = stores.new_schema()
    sent: dict[str, Any] = {}
    for name in ("send", "send_numbered"):
        monkeypatch.setattr(Session, name, noted(getattr(Session, name), sent))
    with Memory(stores.url(schema), embedder=WordEmbedder()) as memory:
        tell(memory)
        memory.work()
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []
    # Searched inside the database.
    with Memory(settings=load(store=stores.url(schema), index_limit=1), embedder=WordEmbedder()) as memory:
        for filters in ({}, {"tags": ["ui"]}, {"conversation_id": "talk"}, {"recipe": "meaning"}):
            memory.recall("which flat has a balcony", **cast("dict[str, Any]", filters))
    copy_stores(stores.url(schema), str(tmp_path / "copy.db"), None, lambda _name, _lines, _vectors: None)
    found_by_us, tried = 0, 0
    generation = generation_key(WordEmbedder().generation)
    shared = (generation, [generation], "[]")
    with psycopg.connect(stores.conninfo(schema), autocommit=True) as connection:
        take_number_arrays(connection)
        for sql, bindings in sent.items():
            forgetful = OWN.sub("TRUE", sql)
            if forgetful == sql:
                continue
            tried += 1
            for scope in (THEIRS, None):
                found = rows(connection, scope, forgetful, bindings)
                assert not any(value for row in found for value in row if value not in shared), (sql, found)
            ours = rows(connection, bindings.get("namespace", namespace_key("default")), sql, bindings)
            found_by_us += any(value for row in ours for value in row)
    assert (tried > 100, found_by_us > 60) == (True, True), (tried, found_by_us)


def noted(send: Callable[..., Any], sent: dict[str, Any]) -> Callable[..., Any]:
    def noting(session: Session, sql: str, bindings: Any = None, **options: Any) -> Any:
        sent[sql] = bindings
        return send(session, sql, bindings, **options)

    return noting


def test_nobody_writes_into_a_namespace_that_is_not_theirs(app: Connection) -> None:
    for scope in (THEIRS, None):
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            rows(app, scope, "INSERT INTO tag VALUES (%(ours)s, 'cold', 1)", {"ours": OURS})
        for change in ("UPDATE memory SET text = 'x'", "DELETE FROM memory", "DELETE FROM payload"):
            assert rows(app, scope, change) == [(0,)]


def test_the_log_can_only_grow_and_the_tables_stay_as_they_are(app: Connection) -> None:
    for change in (
        "DELETE FROM revision", "UPDATE revision SET actor = 'x'", "TRUNCATE memory", "DROP TABLE memory",
        "CREATE TABLE mine (a int)", "ALTER TABLE memory DISABLE ROW LEVEL SECURITY", "UPDATE meta SET value = 9",
        "DELETE FROM token", "UPDATE token SET digest = 'x'", "UPDATE token SET scopes = NULL",
    ):  # fmt: skip
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            rows(app, OURS, change)


# The generation that serves, all generations, and what a statement says when it found nothing.
SHARED_ANSWERS: tuple[Any, ...] = (generation_key(GENERATION), [generation_key(GENERATION)], "[]")


def bound(parameter: str) -> Any:
    if parameter in VALUES:
        return VALUES[parameter]
    if parameter in IDS:
        return OURS
    if parameter in TEXTS:
        return None if parameter in {"by_model", "first_key", "last_key", "conversation_id"} else "x"
    return b"x" if parameter in BYTES else 1
