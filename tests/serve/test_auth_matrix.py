"""Every route of the table, with every kind of token: nothing is allowed that should not be."""

from __future__ import annotations

import os
import re
import sys
from dataclasses import dataclass
from datetime import timedelta
from itertools import combinations
from typing import TYPE_CHECKING
from urllib.parse import urlencode
from uuid import uuid4

import pytest
from clocks import NOON, HandClock
from fastapi import FastAPI

from perdure import Memory
from perdure.auth.authorise import SCOPES, AccessToken, Scope
from perdure.auth.token_file import TokenFile
from perdure.http.app import TABLES, build_app
from perdure.http.guard import PUBLIC
from perdure.http.routing import AuthorisedRoute, Routes, Row, Serving, add_routes

if TYPE_CHECKING:
    from serve.running import Reply, RunningServer

ROWS = [row for table in TABLES for row in table.rows]
SETS: list[tuple[Scope, ...]] = [chosen for size in range(1, 5) for chosen in combinations(SCOPES, size)]
REFUSED = {"unauthenticated", "access_denied"}
COMBINATIONS = int(os.environ.get("PERDURE_COMBINATIONS", "300"))


@pytest.fixture(scope="module")
def tokens(shared: RunningServer) -> dict[str, str | None]:
    """A token of each kind that must be refused everywhere."""
    file = TokenFile(shared.store)
    long_ago = TokenFile(shared.store, HandClock(NOON - timedelta(days=900)))
    expires = NOON - timedelta(days=899)
    _, expired = long_ago.create("expired", scopes=SCOPES, namespaces=None, writer="person", expires_at=expires)
    _, revoked = file.create("revoked", scopes=SCOPES, namespaces=None, writer="person")
    _, foreign = file.create("foreign", scopes=SCOPES, namespaces=("theirs",), writer="person")
    file.revoke("revoked")
    wrong = shared.owner[:-1] + ("a" if shared.owner[-1] != "a" else "b")
    other_store = TokenFile(f"{shared.store}-other.db").create("other", scopes=SCOPES, namespaces=None)[1]
    return {
        "none": None, "empty": "", "wrong": wrong, "of another store": other_store, "expired": expired,
        "revoked": revoked, "foreign": foreign,
    }  # fmt: skip


@pytest.fixture(scope="module")
def granted(shared: RunningServer) -> dict[tuple[Scope, ...], str]:
    """A token for each set of scopes, good for the namespace `ours`."""
    file = TokenFile(shared.store)
    return {scopes: file.create("-".join(scopes), scopes=scopes, namespaces=("ours",))[1] for scopes in SETS}


def ask(shared: RunningServer, row: Row, token: str | None, namespace: str = "ours") -> tuple[int, str]:
    """The status and the code."""
    if row.path == "/v1/events":
        with shared.stream(f"{row.path}?namespace={namespace}", token) as response:
            body = b"" if response.status == 200 else response.read()
            return (
                response.status,
                "unauthenticated" if b'"unauthenticated"' in body else "access_denied" if body else "",
            )
    reply = ask_row(shared, row, token, namespace)
    return reply.status, reply.code


def ask_row(shared: RunningServer, row: Row, token: str | None, namespace: str | None) -> Reply:
    """The body is empty, so that what is allowed changes nothing."""
    path = re.sub(r"{\w+(:\w+)?}", "99999", row.path.replace("{n}", "1"))
    query = "" if namespace is None else f"?{urlencode({'namespace': namespace})}"
    return shared(row.method, path + query, {} if row.method != "GET" else None, token=token)


def test_the_table_is_what_the_server_serves(shared: RunningServer):
    described = shared("GET", "/openapi.json").json["paths"]
    served = {(method.upper(), path) for path, methods in described.items() for method in methods}
    table = {(row.method, row.shown_path) for row in ROWS}
    assert served == table | {("GET", "/healthz")}
    assert all(row.scopes for row in ROWS)
    assert len(ROWS) >= 30


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_no_route_is_open_to_a_token_that_does_not_count(
    shared: RunningServer, tokens: dict[str, str | None], row: Row
):
    for kind, token in tokens.items():
        status, code = ask(shared, row, token)
        expected = (403, "access_denied") if kind == "foreign" else (401, "unauthenticated")
        assert (status, code) == expected, kind


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.method} {row.path}")
def test_a_route_is_open_to_exactly_the_scopes_that_it_names(
    shared: RunningServer, granted: dict[tuple[Scope, ...], str], row: Row
):
    for scopes, token in granted.items():
        allowed = set(row.scopes) <= set(scopes) and not row.whole_store
        status, code = ask(shared, row, token)
        assert (code in REFUSED) == (not allowed), (scopes, status, code)
    assert ask(shared, row, shared.owner)[1] not in REFUSED
    assert ask(shared, row, granted[SCOPES], "theirs")[1] == "access_denied"


@dataclass(frozen=True)
class Kind:
    """A kind of token: what it is good for, or None where nobody should take it; and what is shown."""

    grant: AccessToken | None
    shown: str | None


@pytest.fixture(scope="module")
def kinds(
    shared: RunningServer, tokens: dict[str, str | None], granted: dict[tuple[Scope, ...], str]
) -> dict[str, Kind]:
    file = TokenFile(shared.store)
    wider: dict[str, tuple[tuple[Scope, ...], tuple[str, ...] | None, str]] = {
        "a person of ours": (SCOPES, ("ours",), "person"),
        "of ours and theirs": (SCOPES, ("ours", "theirs"), "model"),
        "of theirs alone": (SCOPES, ("theirs",), "person"),
        "a reader of all": (("read",), None, "model"),
        "a model of all": (SCOPES, None, "model"),
        "a person of all": (SCOPES, None, "person"),
    }
    made = {
        name: file.create(name, scopes=scopes, namespaces=names, writer=writer)
        for name, (scopes, names, writer) in wider.items()
    }
    good = [(name, shown) for name, (_, shown) in made.items()]
    good += [(" ".join(scopes), shown) for scopes, shown in granted.items()]
    refused = {name: Kind(None, shown) for name, shown in tokens.items() if name != "foreign"}
    return {**refused, **{name: Kind(file.find(shown), shown) for name, shown in good}}


@pytest.mark.soak
def test_every_kind_of_token_reaches_exactly_what_it_is_good_for_in_every_namespace(
    shared: RunningServer, kinds: dict[str, Kind]
):
    """`make soak` asks all of it; CI some of each."""
    places = ("ours", "theirs", "third", "never made", None)
    planted = {name: f"Canary of {name}: {uuid4().hex}" for name in ("ours", "theirs", "third", "default")}
    for name, text in planted.items():
        assert shared("POST", "/v1/memories", {"text": text}, namespace=name).status == 201
    rows = [row for row in ROWS if row.path != "/v1/events"]
    every = [(row, kind, place) for row in rows for kind in kinds for place in places]
    asked = every[:: max(1, len(every) // COMBINATIONS)]
    for row, kind, place in asked:
        expected, meant = expected_of(row, kinds[kind].grant, place)
        reply = ask_row(shared, row, kinds[kind].shown, place)
        met = reply.code if reply.code in REFUSED else ""
        assert met == expected, (row.path, kind, place, reply)
        assert reply.status == {"unauthenticated": 401, "access_denied": 403}.get(expected, reply.status)
        assert reply.status < 500, (row.path, kind, place, reply)
        foreign = [name for name, text in planted.items() if text.encode() in reply.body and name != meant]
        assert foreign == [], (row.path, kind, place)
    sys.stdout.write(
        f"{len(asked)} of {len(every)} combinations of token, route and namespace: none beyond its rights\n"
    )


def expected_of(row: Row, grant: AccessToken | None, place: str | None) -> tuple[str, str]:
    """The refusal, or nothing, by the words of docs/serve.md; and the namespace that is meant."""
    if grant is None:
        return "unauthenticated", ""
    only = grant.namespaces[0] if grant.namespaces and len(grant.namespaces) == 1 else "default"
    meant = only if place is None else place
    reaches = grant.namespaces is None or (meant in grant.namespaces and not row.whole_store)
    return "" if reaches and set(row.scopes) <= set(grant.scopes) else "access_denied", meant


def test_what_a_body_names_is_authorised_too(shared: RunningServer, granted: dict[tuple[Scope, ...], str]):
    token = granted[SCOPES]
    asks: list[tuple[str, dict[str, object]]] = [
        ("/v1/recall", {"query": "x", "namespaces": ["ours", "theirs"]}),
        ("/v1/context", {"query": "x", "namespaces": ["theirs"]}),
        ("/v1/triggers", {"prompt": "x", "namespaces": ["theirs"]}),
        ("/v1/undo", {"session": "x", "all_namespaces": True}),
        ("/v1/checkpoints", {"name": "x", "all_namespaces": True}),
    ]
    for path, body in asks:
        assert shared("POST", path, body, token=token).code == "access_denied", path


def test_a_checkpoint_of_everything_is_not_there_for_a_token_of_one_namespace(
    shared: RunningServer, granted: dict[tuple[Scope, ...], str]
):
    token = granted[SCOPES]
    assert shared("POST", "/v1/checkpoints", {"name": "all", "all_namespaces": True}).status == 201
    for name in ("all", "none"):
        restored = shared("POST", f"/v1/checkpoints/{name}/restore", {}, token=token)
        deleted = shared("DELETE", f"/v1/checkpoints/{name}", token=token)
        for reply in (restored, deleted):
            assert (reply.status, reply.json["detail"]) == (404, f"There is no checkpoint '{name}'.")
    assert shared("GET", "/v1/checkpoints", token=token).json == {"checkpoints": []}
    assert len(shared("GET", "/v1/checkpoints", namespace="ours").json["checkpoints"]) == 1
    assert shared("DELETE", "/v1/checkpoints/all").status == 200


def test_a_model_s_token_cannot_do_what_only_people_may(shared: RunningServer):
    _, model = TokenFile(shared.store).create("model", scopes=SCOPES, namespaces=None, writer="model")
    number = shared("POST", "/v1/memories", {"text": "Always be kind", "tier": "constitutional"}).json["record"][
        "number"
    ]
    memory = f"/v1/memories/{number}"
    only_people = [
        ("POST", "/v1/erase", {"what": number}),
        ("POST", "/v1/checkpoints", {"name": "m", "all_namespaces": True}),
        ("POST", f"{memory}/promote", {"tier": "constitutional"}),
        ("PATCH", memory, {"text": "Never be kind"}),
        ("DELETE", memory, None),
    ]
    for method, path, body in only_people:
        assert shared(method, path, body, token=model).code == "not_allowed", (method, path)
    assert shared("GET", memory).json["text"] == "Always be kind"
    written = shared("POST", "/v1/memories", {"text": "Be kind", "tier": "constitutional"}, token=model).json
    assert written["record"]["tier"] != "constitutional"


def test_what_is_written_is_noted_under_the_token_s_name_and_as_a_model(shared: RunningServer):
    _, token = TokenFile(shared.store).create("agent-7", namespaces=("noted",))
    shared("POST", "/v1/memories", {"text": "Tea"}, token=token, headers={"Perdure-Session": "monday"})
    (line,) = shared("GET", "/v1/log", token=token).json["revisions"]
    assert {name: line["change"][name] for name in ("actor", "surface", "session")} == {
        "actor": "agent-7", "surface": "http (model)", "session": "monday",
    }  # fmt: skip


def test_a_route_that_says_not_what_it_needs_stops_the_server_from_starting():
    unguarded = Routes("unguarded")
    unguarded.add("GET", "/v1/unguarded", summary="Open to everybody")(lambda: None)
    with pytest.raises(ValueError, match="does not say what it needs"):
        add_routes(FastAPI(), unguarded)


def test_no_route_is_beside_the_table():
    """Also none that the description leaves out."""
    with Memory(":memory:", embedder="none") as memory:
        routes = build_app(Serving(memory, None, "default")).routes
    beside = [route for route in routes if not isinstance(route, AuthorisedRoute)]
    assert {getattr(route, "path", route) for route in beside} == PUBLIC
    assert len(routes) - len(beside) == len(ROWS)
