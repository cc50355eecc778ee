"""Requests made of the description, some good and most of them not: every one is answered, and none with a 5xx."""

from __future__ import annotations

import os
import random
import sys
from collections import Counter
from http.client import HTTPException
from pathlib import Path
from typing import Any

import pytest
from serve.made_up import MadeUp, Requests
from serve.running import Reply, RunningServer, lowered

from perdure import Memory
from perdure.auth.authorise import SCOPES
from perdure.auth.token_file import TokenFile

# `make soak` makes 12,000, by a new seed.
REQUESTS = int(os.environ.get("PERDURE_REQUESTS", "200"))
SEED = int(os.environ.get("PERDURE_SEED", random.randrange(10**6) if "PERDURE_REQUESTS" in os.environ else 5))


@pytest.mark.soak
def test_every_request_that_can_be_made_up_is_answered_and_refused_with_a_problem(tmp_path: Path):
    answered: Counter[int] = Counter()
    with RunningServer(tmp_path / "memory.db") as server:
        tokens = TokenFile(server.store)
        several = [
            server.owner,
            server.owner,
            tokens.create("model", scopes=SCOPES, namespaces=None, writer="model")[1],
            tokens.create("reader", scopes=("read",), namespaces=("ours",))[1],
            "wrong",
        ]
        described = server("GET", "/openapi.json").json
        codes = set(described["components"]["schemas"]["Problem"]["properties"]["code"]["enum"])
        requests = Requests(described, SEED)
        for made in requests.made(REQUESTS):
            reply = send(server, made, requests.chance.choice(several))
            check(made, reply, codes)
            answered[reply.status // 100] += 1
        assert server("GET", "/healthz").status == 200
        assert server.end() == 0
        assert server.errors() == ""
    with Memory(tmp_path / "memory.db", embedder="none") as memory:
        assert [finding.sentence for finding in memory.doctor() if finding.level == "problem"] == []
    assert answered[2] > REQUESTS / 20
    sys.stdout.write(f"{REQUESTS} requests, {answered[2]} done and {answered[4]} refused, 0 of 500 (seed {SEED})\n")


def send(server: RunningServer, made: MadeUp, token: str) -> Reply:
    """On the connection that is there, or a new one where the server closed it."""
    headers = {**made.headers, "Authorization": f"Bearer {token}"}
    sent = {name: value.encode("utf-8", "surrogatepass").decode("latin-1") for name, value in headers.items()}
    for is_last in (False, True):
        try:
            server.connection.request(made.method, made.target, made.body, sent)
            response = server.connection.getresponse()
            return Reply(response.status, lowered(response), response.read())
        except (HTTPException, OSError):
            server.connection.close()
            if is_last:
                raise
    raise AssertionError


def check(made: MadeUp, reply: Reply, codes: set[str]) -> None:
    assert reply.status < 500, (made, reply)
    assert b"Traceback" not in reply.body, made
    # The protocol of models has errors of its own.
    if reply.status >= 400 and not (made.target.startswith("/mcp") and "jsonrpc" in reply.body.decode()):
        assert reply.headers["content-type"] == "application/problem+json", (made, reply)
        told: dict[str, Any] = reply.json
        assert told["code"] in codes, (made, reply)
        assert told["status"] == reply.status, (made, reply)
        assert told["detail"], (made, reply)
        assert told["remedy"], (made, reply)
