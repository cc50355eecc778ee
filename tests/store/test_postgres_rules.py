"""What keeps namespaces apart, and lets an engine spread them over machines: rules of every table and statement."""

from __future__ import annotations

import re
from pathlib import Path

from perdure.store.postgres import migrate
from perdure.store.postgres.sql import (
    doctor_queries,
    nearest_queries,
    queries,
    setup_queries,
    token_queries,
    transfer_queries,
)

FOLDER = Path(migrate.__file__).parent
STATEMENTS = {
    **queries(),
    **{f"doctor.{name}": sql for name, sql in doctor_queries().items()},
    **{f"transfer.{name}": sql for name, sql in transfer_queries().items()},
    **token_queries(),
    **{f"nearest.{name}": sql for name, sql in nearest_queries("perdure", "public").items()},
}
# Statements about all namespaces at once: maintenance, statistics, models, and checkpoints of everything.
EVERYWHERE = set(
    """
    namespaces pending pending_counts due purgeable times_after memory_statistics generations namespaces_with_vectors
    checkpoint_taken checkpoints
    """.split()
)
SHARED = set(migrate.SHARED_TABLES)
TABLE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE) perdure\.(\w+)")
OWN = re.compile(r"\bnamespace = %\(namespace\)s")


def definitions() -> list[str]:
    return [statement for statement in migrate.plan("perdure") if statement.startswith("CREATE")]


def test_every_key_of_a_table_begins_with_the_namespace() -> None:
    for table in migrate.NAMESPACE_TABLES:
        made = next(sql for sql in definitions() if sql.startswith(f"CREATE TABLE IF NOT EXISTS perdure.{table} ("))
        keys = re.findall(r"PRIMARY KEY \((\w+)", made) or re.findall(r"(\w+) +uuid PRIMARY KEY", made)
        unique = [sql for sql in definitions() if sql.startswith("CREATE UNIQUE INDEX") and f"perdure.{table} (" in sql]
        keys += [found for sql in unique for found in re.findall(rf"ON perdure\.{table} \((\w+)", sql)]
        assert set(keys) == {"namespace"}, table


def test_tables_are_those_that_the_policies_and_the_tests_know() -> None:
    made = {found for sql in definitions() for found in re.findall(r"^CREATE TABLE IF NOT EXISTS perdure\.(\w+)", sql)}
    assert made == {*migrate.NAMESPACE_TABLES, *SHARED}
    plan = list(migrate.plan("perdure"))
    for table in migrate.NAMESPACE_TABLES:
        for words in ("ENABLE ROW LEVEL SECURITY", "FORCE ROW LEVEL SECURITY"):
            assert f"ALTER TABLE perdure.{table} {words}" in plan
        assert any(sql.startswith(f"CREATE POLICY one_namespace ON perdure.{table} ") for sql in plan)


def test_nothing_is_used_that_a_distributed_engine_lacks_or_does_in_another_way() -> None:
    sql = "\n".join(
        line for file in FOLDER.rglob("*.sql") for line in file.read_text(encoding="utf-8").splitlines()
        if not line.startswith("--")
    )  # fmt: skip
    for words in (
        "SEQUENCE", "SERIAL", "GENERATED", "REFERENCES [a-z]", "FOREIGN KEY", "TRIGGER", "pg_advisory", "LISTEN",
        "NOTIFY",
        "set_config", "UNLOGGED", "TEMPORARY", "DEFERRABLE", r"AS \(\s*(INSERT|UPDATE|DELETE)",
    ):  # fmt: skip
        assert not re.search(words, sql), words
    assert "SELECT" not in setup_queries()["policy"]


def test_a_statement_says_its_namespace_unless_it_is_about_all_of_them() -> None:
    about_all: set[str] = set()
    for name, sql in STATEMENTS.items():
        tables = [table for table in TABLE.findall(sql) if table not in SHARED]
        if (
            tables
            and not OWN.search(sql)
            and not (sql.startswith("INSERT INTO") and ("SELECT" not in sql or "VALUES" in sql))
        ):
            about_all.add(name)
        if sql.startswith("INSERT INTO") and "SELECT" in sql and "VALUES" not in sql:
            assert re.search(r"\bFROM perdure\.(memory|namespace)\b", sql), name
    assert about_all == EVERYWHERE


def test_tables_of_a_namespace_are_joined_by_it() -> None:
    for name, sql in STATEMENTS.items():
        for table, condition in re.findall(r"JOIN perdure\.(\w+)(?: AS \w+)? ON (.*)", sql):
            assert table in SHARED or "namespace = " in condition or "namespace.namespace = " in condition, name
