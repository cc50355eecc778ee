"""What the interpreter itself sees of the network: every look-up, and every connection that is tried."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_watchers: list[list[tuple[str, Any]]] = []


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if _watchers and event in {"socket.connect", "socket.getaddrinfo"}:
        # The address of a connection, the name of a look-up.
        where = arguments[1] if event == "socket.connect" else arguments[0]
        for seen in _watchers:
            seen.append((event, where))


sys.addaudithook(_hook)


@contextmanager
def network_events() -> Generator[list[tuple[str, Any]]]:
    """Those of this process within the block."""
    seen: list[tuple[str, Any]] = []
    _watchers.append(seen)
    try:
        yield seen
    finally:
        _watchers.remove(seen)
