"""Tokens of a store in a database: every server of a fleet knows them, and each revocation, within two seconds."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, closing
from typing import TYPE_CHECKING, Any

import pytest
from cli.user import User

from perdure import Memory
from perdure.auth.token_file import TokenFile
from perdure.errors import Conflict, StoreUnreachable
from perdure.http.app import build_app
from perdure.http.guard import Guard, RequestRules
from perdure.http.rate_limit import RateLimit
from perdure.http.routing import Serving
from perdure.http.server import MAX_BODY
from perdure.location import locate
from perdure.store.postgres.address import parse_address
from perdure.store.postgres.store import PostgresStore
from perdure.store.postgres.tokens import LOOK_SECONDS, TokenTable

if TYPE_CHECKING:
    from pathlib import Path

    from postgres_stores import EmptyStores


class Server:
    """A server of the fleet, in this process and without a socket: its guard and its routes. Its seconds are set by
    hand.
    """

    def __init__(self, url: str, opened: ExitStack) -> None:
        self.now = 0.0
        location = locate(url)
        store = opened.enter_context(
            closing(PostgresStore.open(parse_address(location.address, location.shown), busy_seconds=5))
        )
        memory = opened.enter_context(Memory(url, embedder="none", surface="http", writer="person"))
        self.pool = store._pool
        self.tokens = TokenTable(store._pool, store._clock, lambda: self.now)
        serving = Serving(memory, self.tokens, "default", is_ending=lambda: False, note_write=lambda: None)
        rules = RequestRules({"here"}, self.tokens, None, MAX_BODY)
        self._guard = Guard(build_app(serving), rules, RateLimit(0, 1), serving.metrics)

    def status(self, token: str) -> int:
        """Of a request that shows this token."""
        told: list[Any] = []

        async def receive() -> Any:
            return {"type": "http.request", "body": b"", "more_body": False}

        async def send(message: Any) -> None:
            told.append(message)

        headers = [(b"host", b"here"), (b"authorization", f"Bearer {token}".encode())]
        scope = {
            "type": "http", "method": "GET", "path": "/v1/memories", "raw_path": b"/v1/memories", "query_string": b"",
            "headers": headers, "client": ("127.0.0.1", 1), "server": ("here", 80), "scheme": "http",
            "http_version": "1.1", "root_path": "",
        }  # fmt: skip
        asyncio.run(self._guard(scope, receive, send))
        return next(message["status"] for message in told if message["type"] == "http.response.start")


@pytest.fixture
def url(postgres_stores: EmptyStores) -> str:
    return postgres_stores.new_url()


@pytest.fixture
def fleet(url: str) -> Iterator[tuple[Server, Server]]:
    with ExitStack() as opened:
        yield Server(url, opened), Server(url, opened)


def test_a_token_of_one_server_is_good_on_the_other_and_revoked_on_both(fleet: tuple[Server, Server]):
    one, other = fleet
    _, secret = one.tokens.create("agent", namespaces=("default",))
    assert [one.status(secret), other.status(secret)] == [200, 200]
    other.tokens.revoke("agent")
    assert other.status(secret) == 401
    one.now += LOOK_SECONDS
    assert one.status(secret) == 401


def test_a_server_looks_at_the_table_at_most_every_two_seconds(
    fleet: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch
):
    one, other = fleet
    _, secret = one.tokens.create("agent", namespaces=None)
    looks = 0
    ask = one.pool.ask

    def counted(*asked: Any) -> Any:
        nonlocal looks
        looks += 1
        return ask(*asked)

    monkeypatch.setattr(one.pool, "ask", counted)
    for _ in range(5):
        assert one.status(secret) == 200
    other.tokens.revoke("agent")
    one.now += LOOK_SECONDS - 0.1
    assert one.status(secret) == 200
    assert looks == 1
    one.now += 0.1
    assert one.status(secret) == 401
    assert looks == 2


def test_a_server_that_cannot_look_lets_nobody_in(fleet: tuple[Server, Server], monkeypatch: pytest.MonkeyPatch):
    one, _ = fleet
    _, secret = one.tokens.create("agent", namespaces=None)
    assert one.status(secret) == 200

    def unreachable(*_: Any) -> Any:
        raise StoreUnreachable

    monkeypatch.setattr(one.pool, "ask", unreachable)
    one.now += LOOK_SECONDS
    assert one.status(secret) == 503


def test_a_name_is_taken_on_every_server_until_its_token_is_revoked(fleet: tuple[Server, Server]):
    one, other = fleet
    first, _ = one.tokens.create("agent", namespaces=None)
    with pytest.raises(Conflict, match="already"):
        other.tokens.create("agent", namespaces=None)
    one.tokens.revoke(first.id)
    other.tokens.create("agent", namespaces=None)
    assert [token.revoked_at is None for token in other.tokens.list()] == [False, True]


def test_the_commands_keep_tokens_in_the_database_and_a_copy_of_the_whole_store_has_them(
    url: str, fleet: tuple[Server, Server], tmp_path: Path
):
    user = User({"PERDURE_STORE": url, "PERDURE_EMBEDDER": "none"})
    made = user("token", "create", "reader", "--scope", "read", "--namespace", "default", "--expires", "30d", "--json")
    assert made.code == 0, made.err
    secret = made.json["secret"]
    assert [server.status(secret) for server in fleet] == [200, 200]
    assert not locate(url).beside("tokens").exists()
    listed = user("token", "list", "--json").json["access_tokens"]
    assert [(token["name"], token["scopes"]) for token in listed] == [("reader", ["read"])]
    user("remember", "tea")
    copy = str(tmp_path / "copy.db")
    for words, tokens in (
        (("--without-tokens",), 0),
        (("--only", "default"), 0),
        (("--dry-run",), 1),
        ((), 1),
        ((), 0),
    ):
        copied = user("copy", "--from", url, "--to", copy, "--json", *words)
        assert copied.json["tokens"] == tokens, words
    there = TokenFile(copy)
    assert there.find(secret).scopes == ("read",)
    # What is revoked on either side is revoked on both, and stays so.
    there.create("of the copy", namespaces=None)
    there.revoke("reader")
    assert user("copy", "--from", copy, "--to", url, "--json").json["tokens"] == 1
    assert user("copy", "--from", url, "--to", copy, "--json").json["tokens"] == 0
    for server in fleet:
        server.now += LOOK_SECONDS
        assert server.status(secret) == 401
    # A name that is taken there gets an id behind it.
    other, (token, theirs) = TokenFile(tmp_path / "other.db"), there.create("mine", namespaces=None)
    other.create("mine", namespaces=None)
    assert there.copy_to(other) == 2
    assert other.find(theirs).name == f"mine {token.id}"
    assert "within two seconds" in user("token", "revoke", "of the copy").out
