"""Connections to the addresses that were checked, and none that outlives its deadline.

The pool hands the number that it calls a timeout through to here unread. For us it is a moment, by `time.monotonic`, by
which all is done: counted anew for each read, a timeout would never end while a server drips byte after byte.
"""

from __future__ import annotations

import socket
import ssl
import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from ipaddress import ip_address
from typing import Any
from weakref import WeakSet

import httpcore2

from perdure.providers.address import LOOPBACK, Address, Endpoint, check_addresses
from perdure.providers.answer import one_line


class CheckedBackend(httpcore2.NetworkBackend):
    """Opens connections to one server. Its name is looked up for each of them, and what is connected to is the address
    that was checked: there is no second look-up that could answer otherwise.
    """

    def __init__(self, endpoint: Endpoint, egress: Sequence[str]) -> None:
        self._endpoint = endpoint
        self._egress = egress
        self._streams = WeakSet[_DeadlineStream]()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[httpcore2.SOCKET_OPTION] | None = None,
    ) -> httpcore2.NetworkStream:
        del host, local_address
        deadline = timeout or time.monotonic()
        addresses = self._addresses(deadline)
        check_addresses(self._endpoint, addresses, self._egress)
        error: Exception = httpcore2.ConnectError("its name has no address")
        for tried, address in enumerate(addresses):
            # An address that swallows packets must leave time for the others.
            seconds = _left(deadline, httpcore2.ConnectTimeout) / (len(addresses) - tried)
            try:
                stream = httpcore2.SyncBackend().connect_tcp(
                    str(address), port, timeout=seconds, socket_options=socket_options or []
                )
            except (httpcore2.ConnectError, httpcore2.ConnectTimeout) as failure:
                error = failure
                continue
            return _DeadlineStream(stream, self._streams)
        raise error

    def _addresses(self, deadline: float) -> Sequence[Address]:
        """What the URL's host stands for. Only a name that is not this machine's is looked up."""
        endpoint = self._endpoint
        if endpoint.address is not None:
            return [endpoint.address]
        if endpoint.is_loopback:
            return LOOPBACK
        answer: list[Address] = []
        failure: list[Exception] = []

        def look_up() -> None:
            try:
                found = socket.getaddrinfo(endpoint.host, endpoint.port, type=socket.SOCK_STREAM)
            except (OSError, UnicodeError) as error:
                failure.append(error)
                return
            for *_, where in found:
                # Not every system leaves out what it has said before, and an address of a link has a zone.
                with suppress(ValueError):
                    address = ip_address(str(where[0]).partition("%")[0])
                    if address not in answer:
                        answer.append(address)

        # The system's resolver knows no deadline, so that it is left behind if it takes too long.
        thread = threading.Thread(target=look_up, name="perdure-resolve", daemon=True)
        thread.start()
        thread.join(_left(deadline, httpcore2.ConnectTimeout))
        if thread.is_alive():
            raise httpcore2.ConnectTimeout
        if failure:
            raise httpcore2.ConnectError("its name could not be looked up") from failure[0]
        return answer

    def abandon(self) -> None:
        """Close what was inherited from the parent process, which goes on using it: not a byte is sent."""
        for stream in list(self._streams):
            stream.close()


class _DeadlineStream(httpcore2.NetworkStream):
    def __init__(self, stream: httpcore2.NetworkStream, alive: WeakSet[_DeadlineStream]) -> None:
        self._stream = stream
        self._alive = alive
        alive.add(self)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        return self._stream.read(max_bytes, timeout=_left(timeout, httpcore2.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        connection: socket.socket = self._stream.get_extra_info("socket")
        view = memoryview(buffer)
        while view:
            try:
                connection.settimeout(_left(timeout, httpcore2.WriteTimeout))
                view = view[connection.send(view) :]
            except TimeoutError as error:
                raise httpcore2.WriteTimeout from error
            except OSError as error:
                raise httpcore2.WriteError(error) from error

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore2.NetworkStream:
        seconds = _left(timeout, httpcore2.ConnectTimeout)
        return _DeadlineStream(self._stream.start_tls(ssl_context, server_hostname, seconds), self._alive)

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


def _left(deadline: float | None, expired: type[Exception]) -> float:
    left = (deadline or 0.0) - time.monotonic()
    if left <= 0:
        raise expired
    return left


def reason_of(error: BaseException) -> str:
    """Why the network failed, in the system's words. Those of the HTTP library hold the header it did not like."""
    if error.args and isinstance(error.args[0], OSError):
        error = error.args[0]
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted, {one_line(error.verify_message).rstrip('.')}"
    if isinstance(error, httpcore2.LocalProtocolError):
        return "the request cannot be written as HTTP"
    return one_line(getattr(error, "strerror", None) or str(error) or type(error).__name__).rstrip(".")
