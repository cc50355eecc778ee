"""How a server starts, what it tells, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import threading
from contextlib import closing
from http.client import HTTPConnection
from pathlib import Path

import pytest
from serve.running import WAIT, Reply, RunningServer, events, interpreter, lowered

from perdure import Memory
from perdure.auth.token_file import TokenFile

# Seconds within which a server ends, on a machine that has other work.
SOON = 5


def fails(store: Path, *options: str) -> str:
    """What `perdure serve` says when it does not start."""
    command = [*interpreter(), "perdure", "serve", *options]
    environ = {**os.environ, "PERDURE_STORE": str(store)}
    done = subprocess.run(command, env=environ, capture_output=True, text=True, encoding="utf-8", check=False)
    assert done.returncode == 2, done
    assert done.stdout == ""
    return done.stderr


def test_the_first_start_makes_a_token_and_shows_it_once(store: Path):
    with RunningServer(store) as server:
        secret = server.started["secret"]
        assert server("GET", "/v1/stats", token=secret).status == 200
        kept = store.with_name("memory.db-local-token")
        assert kept.read_text(encoding="utf-8").strip() == secret
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with RunningServer(store) as server:
        assert server.started["secret"] is None
        assert server("GET", "/v1/stats", token=secret).status == 200
    token = TokenFile(store).find(secret)
    assert (token.name, token.scopes, token.namespaces, token.writer) == (
        "local", ("read", "write", "delete", "admin"), None, "person",
    )  # fmt: skip


def test_the_token_and_what_it_is_for_are_told_to_people_on_stderr(store: Path):
    command = [sys.executable, "-P", "-m", "perdure", "serve", "--port", "0", "--store", str(store)]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, encoding="utf-8") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("Perdure listens on http://127.0.0.1:")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=WAIT)
    assert (process.returncode, out) == (0, "")
    assert f"kept for your own programs: {TokenFile(store).local_token()}" in err


def test_a_revoked_token_is_refused_from_the_next_request_on(store: Path):
    with RunningServer(store) as server:
        _, secret = TokenFile(store).create("agent", namespaces=None)
        assert server("GET", "/v1/memories", token=secret).status == 200
        TokenFile(store).revoke("agent")
        assert server("GET", "/v1/memories", token=secret).code == "unauthenticated"


def test_without_auth_whoever_is_on_this_machine_is_a_model_that_destroys_nothing(store: Path):
    with RunningServer(store, ("--no-auth", "--rate", "0")) as server:
        assert server.started["secret"] is None
        written = server("POST", "/v1/memories", {"text": "Tea"}, token=None)
        assert written.status == 201
        (line,) = server("GET", "/v1/log", token=None).json["revisions"]
        assert (line["change"]["actor"], line["change"]["surface"]) == ("anybody", "http (model)")
        for path, body in (("/v1/erase", {"what": 1}), ("/v1/work", {})):
            assert server("POST", path, body, token=None).code == "access_denied"
        server.end()
        assert "every program on this machine" in server.errors()


def test_it_does_not_start_where_it_would_be_open_to_others(store: Path):
    everywhere = ("--host", "0.0.0.0", "--port", "0")  # noqa: S104 - what must be refused
    assert "open to everybody" in fails(store, *everywhere, "--no-auth", "--allow-host", "x")
    assert "has to know its names" in fails(store, *everywhere)
    assert "no place for tokens" in fails(Path(":memory:"), "--port", "0")
    with closing(socket.create_server(("127.0.0.1", 0))) as taken:
        port = str(taken.getsockname()[1])
        assert "cannot be listened on" in fails(store, "--port", port)
    assert "cannot be listened on" in fails(store, "--host", "192.0.2.1", "--port", "0")


def test_health_tells_everybody_that_it_answers_and_nothing_else(store: Path):
    with RunningServer(store) as server:
        reply = server("GET", "/healthz", token=None)
        assert (reply.status, reply.json) == (200, {"status": "ok"})
        assert set(reply.headers) <= {"date", "content-length", "content-type"}


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_it_ends_in_order_with_streams_and_idle_connections_open(store: Path, how: signal.Signals):
    with RunningServer(store) as server, server.stream("/v1/events") as stream:
        assert next(events(stream))["id"] == "0"
        with closing(HTTPConnection(server.address, timeout=WAIT)) as idle:
            idle.request("GET", "/healthz")
            idle.getresponse().read()
            server("POST", "/v1/memories", {"text": "Said before the end"})
            assert server.end(how) == 0
        assert server.errors() == ""
    with Memory(store, embedder="none") as memory:
        assert [record.text for record in memory.list().records] == ["Said before the end"]


STANDS_STILL = """
import functools, os, threading
from perdure import Memory
def stand_still(*_, **__):
    os.write(2, b"it stands still\\n")
    threading.Event().wait()
Memory.import_ = stand_still
Memory.work = functools.wraps(Memory.work)(stand_still)
"""


def test_it_ends_in_time_while_work_and_an_import_run_and_tells_who_waits(store: Path):
    told: list[Reply] = []

    def ask(path: str, body: object) -> None:
        with closing(HTTPConnection(server.address, timeout=WAIT)) as connection:
            connection.request("POST", path, json.dumps(body), server.headers("owner", None, has_body=True))
            response = connection.getresponse()
            told.append(Reply(response.status, lowered(response), response.read()))

    with RunningServer(store, before=STANDS_STILL) as server:
        asking: list[tuple[str, object]] = [("/v1/work", {}), ("/v1/import", {"records": [{"text": "Tea"}]})]
        threads = [threading.Thread(target=ask, args=each) for each in asking]
        assert server.process.stderr is not None
        for thread in threads:
            thread.start()
            assert server.process.stderr.readline() == b"it stands still\n"
        server("POST", "/v1/memories", {"text": "Said before the end"})
        server.process.send_signal(signal.SIGTERM)
        assert server.process.wait(SOON) == 0
        for thread in threads:
            thread.join(WAIT)
    assert [(reply.status, reply.code) for reply in told] == [(503, "store_unreachable")] * 2
    with Memory(store, embedder="none") as memory:
        assert [record.text for record in memory.list().records] == ["Said before the end"]


def test_what_was_acknowledged_survives_a_kill(store: Path):
    with RunningServer(store) as server:
        stored = [server("POST", "/v1/memories", {"text": f"Memory {n}"}).json["record"]["id"] for n in range(25)]
        assert server.end(signal.SIGKILL) == -signal.SIGKILL
    with Memory(store, embedder="none") as memory:
        assert [memory.get(id).text for id in stored] == [f"Memory {n}" for n in range(25)]
        assert all(finding.level != "problem" for finding in memory.doctor())


def test_several_servers_share_one_store(store: Path):
    with RunningServer(store) as first, RunningServer(store) as second:
        number = first("POST", "/v1/memories", {"text": "Alice prefers dark mode"}).json["record"]["number"]
        assert second("GET", f"/v1/memories/{number}").json["text"] == "Alice prefers dark mode"
        hits = second("POST", "/v1/recall", {"query": "dark"}).json["hits"]
        assert [hit["record"]["number"] for hit in hits] == [number]


def test_the_server_does_outstanding_work_when_it_is_quiet(store: Path):
    said = [
        {"role": "user", "content": f"Sentence {n} is about the garden", "at": f"2026-01-01T10:{n:02}"}
        for n in range(6)
    ]
    said += [{**message, "at": message["at"].replace("-01T", "-02T")} for message in said]
    with Memory(store, embedder="none") as memory:
        memory.conversation("c").add_messages(said)
    with RunningServer(store, ("--rate", "0")) as server, server.stream("/v1/events?after=12") as stream:
        event = next(event for event in events(stream) if "event" in event)
        assert event["event"] == "insert"
        made = server("GET", f"/v1/memories/{json.loads(event['data'])['number']}").json
        assert made["key"].startswith("episode:c/")
