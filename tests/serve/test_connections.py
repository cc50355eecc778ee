"""Connections that take their time, connections without end, and requests that two readers would read differently."""

from __future__ import annotations

import re
import select
import signal
import socket
from collections.abc import Iterator
from contextlib import ExitStack, closing, suppress
from http.client import HTTPConnection
from pathlib import Path

import pytest
from hook.hosts import eventually
from serve.running import WAIT, RunningServer

from perdure import Memory

MOST = 6
CROWDED = f"""
import perdure.http.connections as connections
connections.READ_SECONDS = float(__import__("os").environ.get("READ_SECONDS", "60"))
connections.MOST_UNREAD = int(__import__("os").environ.get("MOST_UNREAD", "1000000000"))
connections.MOST_CONNECTIONS = {MOST}
"""
HURRIED = f"""{CROWDED}
connections.HEADER_SECONDS = connections.BODY_SECONDS = 0.2
"""
PAUSE = 0.02
# Seconds within which a server ends, on a machine that has other work.
SOON = 5


@pytest.fixture(scope="module")
def hurried(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """A server that has little patience."""
    with RunningServer(tmp_path_factory.mktemp("serve") / "memory.db", before=HURRIED) as running:
        yield running


def connect(server: RunningServer) -> socket.socket:
    host, port = server.address.split(":")
    return socket.create_connection((host, int(port)), timeout=WAIT)


def drip(connection: socket.socket, byte: bytes) -> bytes:
    """A byte now and then, until the server has enough; what it said meanwhile."""
    said = b""
    try:
        while True:
            connection.sendall(byte)
            if select.select([connection], [], [], PAUSE)[0]:
                received = connection.recv(65536)
                if not received:
                    return said
                said += received
    except OSError:
        return said


@pytest.mark.parametrize(
    "begun",
    [b"", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\nG"],
)
def test_headers_that_never_end_are_not_waited_for(hurried: RunningServer, begun: bytes):
    with closing(connect(hurried)) as slow:
        slow.sendall(begun)
        said = drip(slow, b"x")
    assert said.count(b"HTTP/1.1 200") == begun.count(b"\r\n\r\n")


def test_who_says_nothing_at_all_is_not_waited_for(hurried: RunningServer):
    with closing(connect(hurried)) as silent:
        assert silent.recv(1) == b""


def test_a_body_that_never_ends_is_not_waited_for_also_after_it_was_refused(hurried: RunningServer):
    head = b"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n"
    with closing(connect(hurried)) as refused, closing(connect(hurried)) as slow:
        refused.sendall(head + b"\r\n")
        slow.sendall(head + f"Authorization: Bearer {hurried.owner}\r\n\r\n".encode())
        assert b"401 Unauthorized" in drip(refused, b"x")
        assert drip(slow, b"x") == b""


def test_a_connection_may_rest_between_requests(hurried: RunningServer):
    with closing(HTTPConnection(hurried.address, timeout=WAIT)) as resting, closing(connect(hurried)) as slow:
        resting.request("GET", "/healthz")
        assert resting.getresponse().read()
        drip(slow, b"x")
        kept = resting.sock
        resting.request("GET", "/healthz")
        assert resting.getresponse().status == 200
        assert resting.sock is kept


def test_beyond_so_many_connections_the_one_that_rests_longest_gives_way(tmp_path: Path):
    with RunningServer(tmp_path / "memory.db", before=CROWDED) as server, ExitStack() as stack:
        several = [stack.enter_context(closing(HTTPConnection(server.address, timeout=WAIT))) for _ in range(MOST)]
        for connection in several:
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
        kept = [connection.sock for connection in several]
        assert server("GET", "/v1/stats").status == 200
        assert kept[0].recv(1) == b""
        for connection, sock in list(zip(several, kept, strict=True))[1:]:
            connection.request("GET", "/healthz")
            assert connection.getresponse().read()
            assert connection.sock is sock


def test_a_reader_who_asks_for_more_streams_than_there_are_connections_keeps_nobody_out(tmp_path: Path):
    with RunningServer(tmp_path / "memory.db", before=CROWDED) as server, ExitStack() as stack:
        head = f"GET /v1/events HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.owner}\r\n\r\n"
        readers = [stack.enter_context(closing(connect(server))) for _ in range(3 * MOST)]
        for reader in readers:
            with suppress(ConnectionError):
                reader.sendall(head.encode())
        # Until each was told something, all connections may be busy with the telling, and then a new one is closed.
        for reader in readers:
            with suppress(ConnectionError):
                reader.recv(1)
        assert server("GET", "/v1/stats").status == 200


def test_where_all_connections_are_being_answered_a_new_one_is_closed(long_store: Path):
    with RunningServer(long_store, before=CROWDED) as server, ExitStack() as stack:
        for path in ("/v1/events", "/v1/export"):
            for _ in range(MOST // 2):
                stack.enter_context(closing(stop_reading(server, path)))
        with closing(connect(server)) as one_too_many:
            assert drip(one_too_many, SMUGGLED) == b""


# As JSON three times as long, and together more than the system keeps for a reader.
LONG = "é" * (1 << 19)


@pytest.fixture
def long_store(tmp_path: Path) -> Path:
    with Memory(tmp_path / "memory.db", embedder="none") as memory:
        memory.import_([{"text": f"{n}{LONG[5:]}"} for n in range(4)])
    return tmp_path / "memory.db"


def stop_reading(server: RunningServer, path: str = "/v1/export") -> socket.socket:
    """A reader who has read the first byte of a long answer, and reads no more."""
    host, port = server.address.split(":")
    reader = socket.socket()
    reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 16)
    reader.settimeout(WAIT)
    reader.connect((host, int(port)))
    head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {server.owner}\r\n"
    reader.sendall(head.encode() + b"Connection: close\r\n\r\n")
    assert reader.recv(1) == b"H"
    return reader


def unread(server: RunningServer) -> int:
    """How many answers are being read, without the one that tells it."""
    told = re.search(r"^perdure_http_requests_running (\d+)$", server("GET", "/metrics").body.decode(), re.MULTILINE)
    assert told is not None
    return int(told[1]) - 1


def read_on(reader: socket.socket) -> bytes:
    said = b""
    with suppress(ConnectionResetError):
        while received := reader.recv(65536):
            said += received
    return said


def test_who_stops_reading_is_left_and_who_reads_slowly_gets_the_whole_answer(long_store: Path):
    with (
        RunningServer(long_store, before=CROWDED, environment={"READ_SECONDS": "1"}) as server,
        closing(stop_reading(server)) as stopped,
    ):
        assert unread(server) == 1
        assert server("POST", "/v1/memories", {"text": "Others are served"}).status == 201
        eventually(lambda: unread(server) == 0)
        assert not read_on(stopped).endswith(b"0\r\n\r\n")
        with closing(stop_reading(server, "/v1/memories")) as slow:
            assert read_on(slow).endswith(b"}")


def test_of_too_many_unread_answers_the_oldest_is_left_and_none_delays_the_end(long_store: Path):
    with RunningServer(long_store, before=CROWDED, environment={"MOST_UNREAD": "100000"}) as server:
        with (
            closing(stop_reading(server, "/v1/memories")) as first,
            closing(stop_reading(server, "/v1/memories")) as second,
        ):
            assert server("GET", "/healthz").status == 200
            assert not read_on(first).endswith(b"}")
            assert read_on(second).endswith(b"}")
        with closing(stop_reading(server)), closing(stop_reading(server, "/v1/events")):
            server.process.send_signal(signal.SIGTERM)
            assert server.process.wait(SOON) == 0
        assert server.errors() == ""


SMUGGLED = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
HIDDEN = b"0\r\n\r\n" + SMUGGLED
AMBIGUOUS = {
    "length and chunks": b"Content-Length: %d\r\nTransfer-Encoding: chunked\r\n" % len(HIDDEN),
    "chunks and length": b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n" % len(HIDDEN),
    "two lengths": b"Content-Length: 5\r\nContent-Length: %d\r\n" % len(HIDDEN),
    "list of lengths": b"Content-Length: 5, %d\r\n" % len(HIDDEN),
    "signed length": b"Content-Length: +5\r\n",
    "chunks spelt otherwise": b"Transfer-Encoding: xchunked\r\n",
    "chunks after something": b"Transfer-Encoding: identity, chunked\r\n",
    "chunks twice": b"Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
    "space before the colon": b"Content-Length : 5\r\n",
    "folded": b"Transfer-Encoding:\r\n chunked\r\nContent-Length: 5\r\n",
    "control character": b"Transfer-Encoding: \x0bchunked\r\n",
    "two hosts": b"Host: localhost\r\nContent-Length: 5\r\n",
}


@pytest.mark.parametrize("headers", AMBIGUOUS.values(), ids=AMBIGUOUS)
def test_of_a_request_that_can_be_read_in_two_ways_neither_is_done(hurried: RunningServer, headers: bytes):
    head = f"POST /v1/memories HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {hurried.owner}\r\n".encode()
    with closing(connect(hurried)) as connection:
        connection.sendall(head + b"Content-Type: application/json\r\n" + headers + b"\r\n" + HIDDEN)
        said = b"".join(iter(lambda: connection.recv(65536), b""))
    assert said.count(b"HTTP/1.1 ") == 1
    assert said.startswith((b"HTTP/1.1 400", b"HTTP/1.1 501"))
