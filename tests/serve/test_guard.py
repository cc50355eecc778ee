"""What stands before every request: host, origin, token, rate, size."""

from __future__ import annotations

import json
import socket
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from serve.running import WAIT, RunningServer

from perdure.http.guard import PUBLIC
from perdure.http.rate_limit import RateLimit
from perdure.http.server import MAX_BODY

if TYPE_CHECKING:
    from serve.running import Reply

FOREIGN_HOSTS = """
attacker.example attacker.example:80 127.0.0.1.attacker.example localhost.attacker.example attacker.example#127.0.0.1
127.0.0.1@attacker.example attacker.example@127.0.0.1 0.0.0.0 [::] 169.254.169.254 2130706433 0x7f000001 127.1
localhost. localhost:x localhost:80:80 127.0.0.1: localhost,localhost [127.0.0.1]attacker.example
127.0.0.1,attacker.example //127.0.0.1 127.0.0.1/ [::1 ]::1[ [::1]attacker.example LOCALHOST.attacker.example
""".split()
FOREIGN_ORIGINS = """
null http://attacker.example https://attacker.example http://localhost http://127.0.0.1:1 file:// chrome-extension://abc
http://localhost.attacker.example
""".split()


def raw(server: RunningServer, request: bytes) -> tuple[int, bytes]:
    """Bytes as they are, on a connection of its own, and the status and body of the answer."""
    host, port = server.address.split(":")
    with closing(socket.create_connection((host, int(port)), timeout=WAIT)) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: connection.recv(65536), b""))
    head, _, body = answer.partition(b"\r\n\r\n")
    return int(head.split(b" ")[1]) if head else 0, body


@pytest.mark.parametrize("path", ["/v1/memories", *sorted(PUBLIC)])
def test_a_page_whose_name_leads_to_this_machine_is_refused(shared: RunningServer, path: str):
    for host in FOREIGN_HOSTS:
        reply = shared("GET", path, headers={"Host": host})
        assert (reply.status, reply.code) == (421, "host_refused"), host


def test_this_machine_s_own_names_are_answered(shared: RunningServer):
    port = shared.address.split(":")[1]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}", "localhost", "LocalHost:1", f"[::1]:{port}"):
        assert shared("GET", "/v1/memories", headers={"Host": host}).status == 200, host


def test_a_server_answers_for_the_names_that_it_was_given(store: Path):
    with RunningServer(store, ("--rate", "0", "--allow-host", "memory.example.org")) as server:
        assert server("GET", "/v1/memories", headers={"Host": "memory.example.org"}).status == 200
        assert server("GET", "/v1/memories", headers={"Host": "other.example.org"}).status == 421


@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_web_page_of_another_origin_is_refused_with_or_without_a_token(shared: RunningServer, origin: str):
    for method, token in (("GET", "owner"), ("GET", None), ("POST", "owner")):
        reply = shared(method, "/v1/memories", {"text": "x"} if method == "POST" else None, token=token,
                       headers={"Origin": origin})  # fmt: skip
        assert (reply.status, reply.code) == (403, "origin_refused")
    assert not [name for name in reply.headers if name.startswith("access-control")]


def test_a_page_of_the_server_itself_may_ask(shared: RunningServer):
    assert shared("GET", "/v1/memories", headers={"Origin": shared.started["url"]}).status == 200
    reply = shared("GET", "/v1/memories", headers={"Sec-Fetch-Site": "cross-site"})
    assert reply.code == "origin_refused"


def test_nobody_is_allowed_to_ask_from_elsewhere_in_a_browser(shared: RunningServer):
    headers = {"Origin": "http://attacker.example", "Access-Control-Request-Method": "POST"}
    assert shared("OPTIONS", "/v1/memories", headers=headers).code == "origin_refused"
    reply = shared("OPTIONS", "/v1/memories", headers={})
    assert (reply.status, reply.code) == (405, "no_route")


def test_a_form_of_a_web_page_changes_nothing(store: Path):
    """Without a token it is the origin and the type of the body that tell a page from a program."""
    with RunningServer(store, ("--no-auth", "--rate", "0")) as server:
        text = b'{"text": "planted"}'
        for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
            reply = server("POST", "/v1/memories", raw=text, token=None, headers={"Content-Type": kind})
            assert (reply.status, reply.code) == (400, "bad_request"), kind
        assert server("GET", "/v1/memories", token=None).json["records"] == []


def test_a_token_is_taken_from_the_header_alone(shared: RunningServer):
    for path in (f"/v1/memories?token={shared.owner}", f"/v1/memories?access_token={shared.owner}"):
        assert shared("GET", path, token=None).code == "unauthenticated"
    for header in (f"Basic {shared.owner}", shared.owner, f"Bearer{shared.owner}", "Bearer", "Bearer  "):
        assert shared("GET", "/v1/memories", token=None, headers={"Authorization": header}).code == "unauthenticated"
    reply = shared("GET", "/v1/memories", token=None)
    assert reply.headers["www-authenticate"] == "Bearer"
    assert (
        shared("GET", "/v1/memories", token=None, headers={"Authorization": f"bearer  {shared.owner} "}).status == 200
    )


def test_a_browser_at_the_bare_address_is_told_where_the_page_is(shared: RunningServer):
    reply = shared("GET", "/", headers={"Authorization": ""})
    assert (reply.status, reply.headers["content-type"]) == (401, "text/plain; charset=utf-8")
    assert b"`perdure serve --ui`" in reply.body


def test_a_body_that_is_too_large_is_refused_however_it_comes(shared: RunningServer):
    too_large = b'{"text": "' + b"x" * MAX_BODY + b'"}'
    head = f"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {shared.owner}\r\n"
    head += "Content-Type: application/json\r\n"
    by_length = raw(shared, f"{head}Content-Length: {len(too_large)}\r\n\r\n".encode())
    endless = raw(shared, f"{head}Content-Length: 99999999999999999999999999\r\n\r\n".encode())
    chunk = f"{1 << 20:x}\r\n".encode() + b"x" * (1 << 20) + b"\r\n"
    chunked = raw(shared, f"{head}Transfer-Encoding: chunked\r\n\r\n".encode() + chunk * 5)
    for status, body in (by_length, endless, chunked):
        assert status in {400, 413}
        assert b"body_too_large" in body or status == 400
    assert by_length[0] == chunked[0] == 413
    assert shared("GET", "/v1/stats").status == 200


def test_a_text_of_a_mebibyte_passes_and_a_longer_one_is_named(shared: RunningServer):
    most = {"text": "é" * (1 << 19)}
    assert shared("POST", "/v1/memories", most, namespace="long").status == 201
    reply = shared("POST", "/v1/memories", {"text": most["text"] + "x"}, namespace="long")
    assert (reply.status, reply.code) == (422, "text_too_long")


RAW = [
    b"", b"\r\n", b"GET", b"GET / HTTP/1.1\r\n\r\n", b"GET / HTTP/9.9\r\nHost: localhost\r\n\r\n", b"\x16\x03\x01\x02",
    b"GET / HTTP/1.1\r\nHost: localhost\r\nHost: attacker.example\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Length: -1\r\n\r\n",
    b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
    b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\nhello",
    b"GET /" + b"a" * 70_000 + b" HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /\x00 HTTP/1.1\r\nHost: localhost\r\n\r\n", b"GET /\xff\xfe HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer x\r\nAuthorization: Bearer y\r\n\r\n",
    b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
    b"CONNECT 169.254.169.254:80 HTTP/1.1\r\nHost: localhost\r\n\r\n",
    b"GET http://169.254.169.254/latest/meta-data HTTP/1.1\r\nHost: localhost\r\n\r\n",
]  # fmt: skip


@pytest.mark.parametrize("request_bytes", RAW, ids=range(len(RAW)))
def test_bytes_that_are_no_request_are_refused_and_the_server_lives(shared: RunningServer, request_bytes: bytes):
    status, body = raw(shared, request_bytes)
    assert status == 0 or 400 <= status < 500, (status, body)
    assert b"Traceback" not in body
    assert shared("GET", "/healthz").status == 200


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"GET /v1/memories HTTP/1.1\r\nHost: localhost\r\nX-Note: a\x00b\r\n\r\n",
        b"GET /v1/memories HTTP/1.1\r\nHost: localhost\r\nX-Note: a\x0bb\r\n\r\n",
        b"GET /v1/memories HTTP/1.1\r\nHost: localhost\r\nno colon\r\n\r\n",
        b"\x16\x03\x01\x02\r\n\r\n",
    ],
)
def test_what_cannot_be_read_as_http_is_refused_with_a_problem_like_everything_else(
    shared: RunningServer, request_bytes: bytes
):
    status, body = raw(shared, request_bytes)
    told = json.loads(body)
    assert (status, told["status"], told["code"], bool(told["remedy"])) == (400, 400, "bad_request", True)


def test_wrong_tokens_do_not_make_the_server_look_dead(store: Path):
    with RunningServer(store, ("--rate", "0.001")) as server:
        assert [server("GET", "/v1/memories", token="wrong").status for _ in range(3)] == [401, 429, 429]  # noqa: S106
        assert [server("GET", "/healthz", token=None).status for _ in range(3)] == [200] * 3
        assert [server("GET", "/openapi.json", token=None).status for _ in range(2)] == [200, 429]
        assert server("GET", "/v1/memories").status == 200


def test_a_token_that_asks_too_often_is_told_when_to_come_back(store: Path):
    with RunningServer(store, ("--rate", "0.001")) as server:
        replies: list[Reply] = [server("GET", "/v1/memories") for _ in range(3)]
        assert [reply.status for reply in replies] == [200, 429, 429]
        assert replies[1].code == "rate_limited"
        assert int(replies[1].headers["retry-after"]) >= 1
        assert replies[1].json["retryable"] is True
        # Those who show no token are counted on their own, and keep nobody else out.
        assert [server("GET", "/v1/memories", token=None).status for _ in range(2)] == [401, 429]


def test_a_bucket_fills_up_with_time():
    now = 0.0
    limit = RateLimit(rate=2, burst=3, clock=lambda: now)
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert limit.wait("b") == 0
    now = 0.5
    assert [limit.wait("a") for _ in range(2)] == [0, 0.5]
    now = 1000.0
    assert [limit.wait("a") for _ in range(4)] == [0, 0, 0, 0.5]
    assert [RateLimit(0, 1).wait("a") for _ in range(3)] == [0, 0, 0]


def test_callers_that_are_remembered_are_bounded():
    limit = RateLimit(rate=1, burst=1, clock=lambda: 0.0)
    assert limit.wait("first") == 0
    for n in range(10_000):
        limit.wait(str(n))
    assert limit.wait("first") == 0
    assert len(limit._left) <= 10_000


def test_an_answer_is_kept_by_nobody_on_the_way(shared: RunningServer):
    for reply in (shared("GET", "/v1/memories"), shared("GET", "/nothing"), shared("GET", "/v1/memories", token=None)):
        assert reply.headers["cache-control"] == "no-store"


def test_metrics_are_for_the_owner_and_count_by_route(store: Path):
    with RunningServer(store) as server:
        for number in (7, 8):
            assert server("GET", f"/v1/memories/{number}").status == 404
        server("GET", "/made-up-by-somebody")
        text = server("GET", "/metrics").body.decode()
    lines = text.splitlines()
    assert 'perdure_http_requests_total{method="GET",route="/v1/memories/{ref:name}",status="404"} 2' in lines
    assert 'perdure_http_requests_total{method="GET",route="none",status="404"} 1' in lines
    assert "made-up-by-somebody" not in text
    assert "perdure_http_request_seconds_count 3" in lines
    assert json.dumps("default") in text or "perdure_memories" in text
