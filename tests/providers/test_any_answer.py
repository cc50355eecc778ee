"""Whatever bytes come back, they are an answer or an error of ours. Bytes are made up around what servers say."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from providers.server import Connection, FaultServer, Received

from perdure.errors import ProviderUnavailable
from perdure.model import Json
from perdure.providers.access import Access
from perdure.providers.client import ProviderClient

HEADERS = st.sampled_from(
    [
        b"Content-Type: application/json",
        b"Content-Type: text/html",
        b"Content-Type: \xff\xfe",
        b"Content-Length: 2",
        b"Content-Length: 2, 3",
        b"Content-Length: -1",
        b"Content-Length: 99999999999999999999",
        b"Transfer-Encoding: chunked",
        b"Transfer-Encoding: gzip",
        b"Content-Encoding: gzip",
        b"Connection: close",
        b"Retry-After: Sun, 31 Dec 99999 99:99:99 GMT",
        b"Retry-After: 1e309",
        b"Retry-After: Sat, 14 Mar 2026 09:27:13 +9999",
        b"Location: http://[",
        b"Location: //\xe2\x80\xae.example/",
        b"no colon",
        b" folded: line",
        b"X: " + b"y" * 5000,
    ]
)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20) | st.just("error"),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["error", "message", "detail", "msg", "x"]), inner, max_size=3)
    ),
    max_leaves=8,
)
BODIES = st.binary(max_size=60) | JSON.map(lambda value: json.dumps(value).encode())
STATUSES = st.integers(100, 999).map(lambda code: b"HTTP/1.1 %d whatever" % code) | st.sampled_from(
    [b"HTTP/1.1 200 OK", b"HTTP/1.0 200 OK", b"HTTP/2 200", b"HTTP/1.1 20 OK", b"ICY 200 OK", b"HTTP/1.1 200 \x1b[2J"]
)


@st.composite
def answers(draw: st.DrawFn) -> bytes:
    head = b"\r\n".join([draw(STATUSES), *draw(st.lists(HEADERS, max_size=4))])
    whole = head + b"\r\n\r\n" + draw(BODIES)
    return whole[: draw(st.integers(0, len(whole)))] if draw(st.booleans()) else whole


@pytest.fixture(scope="module")
def server() -> Iterator[FaultServer]:
    with FaultServer() as server:
        yield server


@settings(suppress_health_check=[HealthCheck.too_slow], max_examples=100)
@given(answers() | st.binary(max_size=80))
@example(b"")
@example(b"HTTP/1.1 307 Temporary Redirect\r\nLocation: http://[\r\nContent-Length: 0\r\n\r\n")
@example(b"HTTP/1.1 429 Slow down\r\nRetry-After: Sun, 31 Dec 99999 99:99:99 GMT\r\nContent-Length: 0\r\n\r\n")
@example(b"HTTP/1.1 503 Slow\r\nRetry-After: Sat, 14 Mar 2026 09:27:13 +9999\r\nContent-Length: 0\r\n\r\n")
@example(b"HTTP/1.1 101 Switching Protocols\r\n\r\n")
@example(b"HTTP/1.1 204 No Content\r\n\r\n")
@example(b'HTTP/1.1 500 Oh\r\nContent-Length: 12\r\n\r\n{"error": 1}')
def test_any_bytes_are_an_answer_or_an_error_of_ours(server: FaultServer, answer: bytes):
    def say(connection: Connection, _: Received) -> None:
        connection.wfile.write(answer)
        connection.close_connection = True

    server.always(say)
    access = Access(redact=str)
    client = ProviderClient(provider="mine", model="m", url=server.url, access=access)
    outcome: Json | ProviderUnavailable
    try:
        outcome = client.post("/embed", {}, purpose="p", items=1, seconds=30)
    except ProviderUnavailable as error:
        outcome = error
    access.close()
    if isinstance(outcome, ProviderUnavailable):
        assert outcome.sentence.isprintable()
        assert len(outcome.sentence) < 500
        assert outcome.retry_after is None or outcome.retry_after >= 0
