"""docs/postgres.md and its compose file, with the same pieces started here: roles, tables, commands, a server."""

from __future__ import annotations

import json
import re
import shlex
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, LiteralString, cast

import psycopg
import pytest
from cli.user import User
from serve.running import RunningServer

if TYPE_CHECKING:
    from postgres_server import PostgresServer

ADDRESS = re.compile(r"postgresql://(\w+)@(?:db\.example\.org|db)/team(?:\?sslmode=prefer)?")


@pytest.fixture
def page(repository: Path) -> str:
    return (repository / "docs/postgres.md").read_text(encoding="utf-8")


def made(server: PostgresServer, statements: str) -> None:
    with closing(psycopg.connect(server.url(), autocommit=True)) as connection:
        for statement in statements.split(";"):
            sql = re.sub(r"^--.*$", "", statement, flags=re.MULTILINE).strip()
            if sql:
                connection.execute(cast("LiteralString", sql))


@pytest.fixture
def own_server() -> object:
    """Roles belong to a whole server, so the page has one of its own."""
    from postgres_server import PostgresServer

    server = PostgresServer()
    yield server
    server.remove()


def here(text: str, server: PostgresServer) -> str:
    return ADDRESS.sub(lambda found: server.url("team", user=found[1]), text)


def test_the_lines_of_the_page_make_a_team_s_memory(page: str, own_server: PostgresServer):
    made(own_server, re.findall(r"```sql\n(.*?)```", page, re.DOTALL)[0])
    first, *_ = re.findall(r"```sh\n(.*?)```", page, re.DOTALL)
    user = User({"PERDURE_EMBEDDER": "none"})
    answers: list[str] = []
    for line in here(first, own_server).splitlines():
        words = shlex.split(line, comments=True)
        if words[0] == "export":
            name, _, value = words[1].partition("=")
            user.environment[name] = value
        elif words[0] == "perdure" and words[1] != "serve":
            answer = user(*words[1:])
            assert answer.code == 0, answer.err
            answers.append(answer.out)
    assert "Deployments happen on Tuesdays" in answers[-1]
    store = user.environment["PERDURE_STORE"]
    with RunningServer(store) as server:
        found = server("POST", "/v1/recall", {"query": "deployments"}).json
        assert "Deployments happen on Tuesdays" in json.dumps(found)
    for query in re.findall(r"`(SELECT .*?)`", page):
        with closing(psycopg.connect(own_server.url("team"))) as connection:
            assert connection.execute(query.replace("%", "%%"), ()).description


def test_the_page_shows_the_compose_file_as_it_is(page: str, repository: Path):
    compose = (repository / "docs/postgres/compose.yaml").read_text(encoding="utf-8")
    shown, *_ = re.findall(r"```yaml\n(.*?)```", page, re.DOTALL)
    assert [line for line in shown.splitlines() if line not in compose.splitlines()] == []
    # Only there it is told when the database is ready for good: its image first starts it on its socket alone.
    assert "[CMD, pg_isready, -h, 127.0.0.1," in compose


def test_the_compose_file_starts_the_same_pieces(repository: Path, own_server: PostgresServer):
    folder = repository / "docs/postgres"
    compose = (folder / "compose.yaml").read_text(encoding="utf-8")
    owner = re.findall(r"POSTGRES_USER: (\w+)", compose)
    assert owner == ["perdure_owner"]
    made(own_server, f"CREATE ROLE {owner[0]} LOGIN SUPERUSER; CREATE DATABASE team OWNER {owner[0]}")
    made(own_server, (folder / "roles.sql").read_text(encoding="utf-8"))
    stores = re.findall(r"PERDURE_STORE: (\S+)", compose)
    commands = [re.findall(r"[^\s,\"\[\]]+", line) for line in re.findall(r"command: (\[perdure.*\])", compose)]
    assert [words[1] for words in commands] == ["migrate", "serve"]
    migrated = User({"PERDURE_STORE": here(stores[0], own_server)})(*commands[0][1:])
    assert migrated.code == 0, migrated.err
    options = [word for word in commands[1][2:] if word not in {"--host", "0.0.0.0", "--port", "8733"}]  # noqa: S104
    with RunningServer(here(stores[1], own_server), options=("--no-work", *options)) as server:
        assert server("POST", "/v1/memories", {"text": "tea"}).status == 201
