"""A provider's server that answers as a test tells it to, well or badly, on a port of this machine.

    with FaultServer() as server:
        server.always(ok({"embeddings": [[1.0, 0.0]]}))     # what every request gets
        server.next(status(429, retry_after="2"), RESET)    # but the next two
        ...                                                 # use server.url
        assert server.requests[0].json == {"model": "m", "input": ["text"]}

A behaviour is a function of the connection and the request, so that a wire format is one as well: `answering(function)`
takes a function from the request to JSON, which may check the request and raise `Refuse(400, "…")`. TRANSPORT_FAULTS
holds what any server may do wrong, VECTOR_FAULTS what an embedder may do to good vectors before they are sent. Nothing
here sleeps: what hangs or drips goes on until `server.release()`, or until the test ends.
"""

from __future__ import annotations

import json
import socket
import ssl
import struct
import threading
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Self, TypeAlias

MIB: Final = 1 << 20


@dataclass(frozen=True)
class Received:
    """One request. The names of `headers` are in small letters."""

    method: str
    path: str
    headers: Mapping[str, str]
    body: bytes

    @cached_property
    def json(self) -> Any:
        return json.loads(self.body)


class Connection(BaseHTTPRequestHandler):
    """What a behaviour answers by: `send` for a whole answer, or `wfile` and `connection` for a broken one."""

    protocol_version = "HTTP/1.1"
    # Otherwise the body waits 40 ms for the confirmation of the headers.
    disable_nagle_algorithm = True
    faults: FaultServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        received = Received(self.command, self.path, headers, body)
        try:
            self.faults.behaviour_of(received)(self, received)
        except OSError:
            # Whoever asked has gone.
            self.close_connection = True

    def do_GET(self) -> None:
        self.do_POST()

    def send(
        self, status: int, body: bytes, content_type: str = "application/json", headers: Mapping[str, str] | None = None
    ) -> None:
        self.begin(status, content_type, {"Content-Length": str(len(body)), **(headers or {})})
        self.wfile.write(body)

    def begin(self, status: int, content_type: str, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Says nothing."""


Behaviour: TypeAlias = Callable[[Connection, Received], None]
Vectors: TypeAlias = list[list[Any]]


class Refuse(Exception):
    """Raised by a wire format for a request that the provider would not take."""

    def __init__(self, status: int, message: str) -> None:
        self.status = status
        super().__init__(message)


def ok(value: Any) -> Behaviour:
    return answering(lambda _: value)


def answering(function: Callable[[Received], Any]) -> Behaviour:
    """Whatever the function makes of the request, as JSON; NaN stays NaN, as Python writes it."""

    def answer(connection: Connection, received: Received) -> None:
        try:
            value = function(received)
        except Refuse as refusal:
            connection.send(refusal.status, json.dumps({"error": {"message": str(refusal)}}).encode())
            return
        connection.send(200, json.dumps(value).encode())

    return answer


def status(code: int, value: Any = None, *, retry_after: str | None = None) -> Behaviour:
    """An error, with the provider's own words as JSON."""
    body = json.dumps({"error": {"message": "the server says no"}} if value is None else value).encode()
    headers = {} if retry_after is None else {"Retry-After": retry_after}
    return lambda connection, _: connection.send(code, body, headers=headers)


def text(body: str | bytes, content_type: str = "application/json", code: int = 200) -> Behaviour:
    data = body.encode() if isinstance(body, str) else body
    return lambda connection, _: connection.send(code, data, content_type)


def redirect(location: str, code: int = 307) -> Behaviour:
    return lambda connection, _: connection.send(code, b"{}", headers={"Location": location})


def hang(connection: Connection, _: Received) -> None:
    """Not a byte."""
    connection.faults.released.wait()
    connection.close_connection = True


def drip(connection: Connection, _: Received) -> None:
    """A good answer, a byte at a time, always soon enough for those who count the time between two bytes only."""
    released = connection.faults.released
    connection.begin(200, "application/json", {"Content-Length": str(MIB)})
    while not released.wait(0.01):
        connection.wfile.write(b" ")
    connection.close_connection = True


def drip_headers(connection: Connection, _: Received) -> None:
    released = connection.faults.released
    connection.wfile.write(b"HTTP/1.1 200 OK\r\nX-Long: ")
    while not released.wait(0.01):
        connection.wfile.write(b"x")
    connection.close_connection = True


def reset(connection: Connection, _: Received) -> None:
    """A connection that is thrown away, RST instead of FIN."""
    connection.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.connection.close()
    connection.close_connection = True


def hang_up(connection: Connection, _: Received) -> None:
    connection.close_connection = True


def huge(connection: Connection, _: Received) -> None:
    """100 MB. How much of it was sent is in `server.sent_bytes`."""
    connection.begin(200, "application/json", {"Content-Length": str(100 * MIB)})
    connection.close_connection = True
    for _mib in range(100):
        connection.wfile.write(b" " * MIB)
        connection.faults.sent_bytes += MIB


def truncated(connection: Connection, _: Received) -> None:
    """Half of an answer, and nothing to say that it is the half."""
    connection.send(200, b'{"data": [{"embedding": [0.25, 0.5')


def cut_off(connection: Connection, _: Received) -> None:
    """Half of an answer, then the connection ends."""
    connection.begin(200, "application/json", {"Content-Length": "1000"})
    connection.wfile.write(b'{"data": [')
    connection.close_connection = True


TRANSPORT_FAULTS: Final[Mapping[str, Behaviour]] = {
    "429": status(429),
    "429 with Retry-After": status(429, retry_after="1"),
    "500": status(500),
    "503 with Retry-After": status(503, retry_after="1"),
    "hang": hang,
    "slow drip": drip,
    "slow headers": drip_headers,
    "reset": reset,
    "hang up": hang_up,
    "100 MB": huge,
    "truncated JSON": truncated,
    "cut off": cut_off,
    "prose around JSON": text('Here you are:\n{"data": []}\nAnything else?'),
    "a page": text("<html><body>Bad Gateway</body></html>", "text/html"),
    "redirect": redirect("https://elsewhere.example/v1"),
}
VECTOR_FAULTS: Final[Mapping[str, Callable[[Vectors], Vectors]]] = {
    "one too few": lambda vectors: vectors[:-1],
    "one too many": lambda vectors: [*vectors, vectors[-1]],
    "wrong dimension": lambda vectors: [vector[:-1] for vector in vectors],
    "NaN": lambda vectors: [[float("nan"), *vector[1:]] for vector in vectors],
    "infinite": lambda vectors: [[float("inf"), *vector[1:]] for vector in vectors],
    "too large": lambda vectors: [[10**999, *vector[1:]] for vector in vectors],
    "zero": lambda vectors: [[0.0] * len(vector) for vector in vectors],
    "strings": lambda vectors: [[str(number) for number in vector] for vector in vectors],
}


class FaultServer:
    """One server, stopped by the end of `with`. `url` has no path. With a `tls` context it speaks https."""

    def __init__(self, tls: ssl.SSLContext | None = None) -> None:
        self.requests: list[Received] = []
        self.released = threading.Event()
        self.sent_bytes = 0
        self._usual: Behaviour = ok({})
        self._script: deque[Behaviour] = deque()
        self._lock = threading.Lock()
        self._open: set[socket.socket] = set()
        faults = self

        class Server(ThreadingHTTPServer):
            daemon_threads = False

            def process_request(self, request: Any, client_address: Any) -> None:
                with faults._lock:
                    faults._open.add(request)
                super().process_request(request, client_address)

            def shutdown_request(self, request: Any) -> None:
                with faults._lock:
                    faults._open.discard(request)
                super().shutdown_request(request)

            def finish_request(self, request: Any, client_address: Any) -> None:
                if tls is None:
                    super().finish_request(request, client_address)
                    return
                with tls.wrap_socket(request, server_side=True) as wrapped:
                    with faults._lock:
                        faults._open.add(wrapped)
                    super().finish_request(wrapped, client_address)
                    with faults._lock:
                        faults._open.discard(wrapped)

            def handle_error(self, request: Any, client_address: Any) -> None:
                """A connection that ends is what these tests are about."""

        self._server = Server(("127.0.0.1", 0), type("Handler", (Connection,), {"faults": self}))
        self.port: int = self._server.server_address[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.02,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.released.set()
        self._server.shutdown()
        self._thread.join()
        with self._lock:
            waiting = list(self._open)
        for connection in waiting:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                continue
        self._server.server_close()

    def always(self, behaviour: Behaviour) -> None:
        """What every request gets that nothing else is said about; until then `{}`."""
        self._usual = behaviour

    def next(self, *behaviours: Behaviour) -> None:
        """What the next requests get, one after the other."""
        self._script.extend(behaviours)

    def release(self) -> None:
        """Let everything end that hangs or drips now; later ones hang again."""
        with self._lock:
            released, self.released = self.released, threading.Event()
        released.set()

    def behaviour_of(self, received: Received) -> Behaviour:
        with self._lock:
            self.requests.append(received)
            return self._script.popleft() if self._script else self._usual
