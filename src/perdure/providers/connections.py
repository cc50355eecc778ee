"""Connections to one server, kept and used again; none of them outlives its deadline, and no redirect is followed."""

from __future__ import annotations

import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Final

import httpcore2

from perdure.after_fork import renew_after_fork
from perdure.providers.address import Endpoint
from perdure.providers.answer import Answer
from perdure.providers.network import CheckedBackend, reason_of

MOST_BYTES: Final = 32 << 20
KEEP_ALIVE_SECONDS: Final = 15.0
MOST_CONNECTIONS: Final = 8


class ExchangeFailed(Exception):
    """Why there is no answer, or not all of it. `sent`: the request, or a part of it, may have arrived."""

    def __init__(self, reason: str, *, timed_out: bool = False, sent: bool = True) -> None:
        super().__init__(reason)
        self.timed_out = timed_out
        self.sent = sent


@contextmanager
def explained() -> Generator[None]:
    """What the network does is an `ExchangeFailed`."""
    never_sent = httpcore2.ConnectError | httpcore2.ConnectTimeout | httpcore2.PoolTimeout
    try:
        yield
    except httpcore2.TimeoutException as error:
        raise ExchangeFailed("timeout", timed_out=True, sent=not isinstance(error, never_sent)) from error
    except (httpcore2.NetworkError, httpcore2.ProtocolError, OSError) as error:
        raise ExchangeFailed(reason_of(error), sent=not isinstance(error, never_sent)) from error


class Connections:
    """To be shared between threads. `egress` names the networks that may be connected to besides public addresses."""

    def __init__(self, endpoint: Endpoint, egress: Sequence[str]) -> None:
        self.endpoint = endpoint
        self._egress = egress
        self._open()
        renew_after_fork(self)

    def _open(self) -> None:
        endpoint = self.endpoint
        self._backend = CheckedBackend(endpoint, self._egress)
        self._pool = httpcore2.ConnectionPool(
            # The certificates that this system trusts, or those of SSL_CERT_FILE.
            ssl_context=httpcore2.default_ssl_context() if endpoint.scheme == "https" else None,
            max_connections=MOST_CONNECTIONS,
            keepalive_expiry=KEEP_ALIVE_SECONDS,
            network_backend=self._backend,
        )

    def exchange(
        self, method: str, target: str, headers: Mapping[str, str], content: bytes | None, deadline: float
    ) -> Answer:
        """One request, and its whole answer. `target` is quoted; `deadline` is a moment by `time.monotonic`."""
        with self.stream(method, target, headers, content, deadline) as response:
            received = bytearray()
            for chunk in response.iter_stream():
                received += chunk
                if len(received) > MOST_BYTES:
                    raise httpcore2.ReadError(f"it answered with more than {MOST_BYTES >> 20} MiB")
        return Answer(response.status, headers_of(response), bytes(received))

    @contextmanager
    def stream(
        self, method: str, target: str, headers: Mapping[str, str], content: bytes | None, deadline: float
    ) -> Generator[httpcore2.Response]:
        endpoint = self.endpoint
        sent = {
            "host": endpoint.authority,
            "accept": "application/json",
            "accept-encoding": "identity",
            "user-agent": "perdure",
            **({} if content is None else {"content-type": "application/json"}),
            **headers,
        }
        encoded = [(name.encode("ascii"), value.encode()) for name, value in sent.items()]
        url = httpcore2.URL(
            scheme=endpoint.scheme, host=endpoint.host, port=endpoint.port, target=endpoint.path + target
        )
        # Moments, not spans, but for the wait for a free connection: see network.py.
        timeouts = {"connect": deadline, "read": deadline, "write": deadline, "pool": deadline - time.monotonic()}
        with self._pool.stream(
            method, url, headers=encoded, content=content, extensions={"timeout": timeouts}
        ) as response:
            yield response

    def close(self) -> None:
        self._pool.close()

    def renew(self) -> None:
        """In a forked child: connections are the parent's, which goes on using them, and a lock may stay held."""
        self._backend.abandon()
        self._open()


def headers_of(response: httpcore2.Response) -> dict[str, str]:
    """In small letters."""
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in response.headers}
