"""Where a server listens, decided before anything heavy is loaded."""

from __future__ import annotations

import socket
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Final

from perdure.errors import InvalidInput, shown

LOOPBACK_HOSTS: Final = frozenset({"127.0.0.1", "::1", "localhost"})
BACKLOG: Final = 1024
# How long a process may take to leave while others answer at its address.
LEAVE_SECONDS: Final = 60
_ANY: Final = frozenset({"0.0.0.0", "::", ""})  # noqa: S104 - these are what has to be recognised


@dataclass(frozen=True, slots=True)
class Listening:
    """Where a server listens, and whom it answers."""

    socket: socket.socket
    url: str
    hosts: frozenset[str]
    is_loopback: bool


def listen(host: str, port: int, allowed: tuple[str, ...] = ()) -> Listening:
    """Open the port. Requests are answered for the hosts that are allowed, and on this machine for its own names."""
    is_loopback = host in LOOPBACK_HOSTS or is_loopback_address(host)
    if host in _ANY and not allowed:
        raise InvalidInput(
            f"{shown(host)} is every address of this machine, and the server has to know its names.",
            remedy="Say by which names it is reached: --allow-host memory.example.org",
        )
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # The protocol is named because asyncio sends small answers at once only on sockets that say that they are TCP:
    # without it every answer waits 40 ms for the reader's system to confirm its first half.
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    try:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        opened.bind((host, port))
        opened.listen(BACKLOG)
    except OSError as error:
        opened.close()
        reason = getattr(error, "strerror", None) or str(error)
        raise InvalidInput(
            f"{host}:{port} cannot be listened on: {reason}.", remedy="Choose another address, or another --port."
        ) from error
    shown_host = f"[{host}]" if ":" in host else host
    names = {name.lower().strip("[]") for name in (*allowed, *(() if host in _ANY else (host,)))}
    # Every address of a machine is also its own: a health check on it needs no name.
    hosts = frozenset(names | (LOOPBACK_HOSTS if is_loopback or host in _ANY else frozenset[str]()))
    return Listening(opened, f"http://{shown_host}:{opened.getsockname()[1]}", hosts, is_loopback)


def join(number: int, url: str, hosts: frozenset[str], *, is_loopback: bool) -> Listening:
    """What another process opened, for this one to answer at as well."""
    family = socket.AF_INET6 if "[" in url else socket.AF_INET
    opened = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP, fileno=number)
    return Listening(opened, url, hosts, is_loopback)


def is_loopback_address(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
