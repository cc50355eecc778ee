"""Turns: threads of a server that compute in Python at the same time only take the interpreter from each other, and
each switch costs more than it gains. So they compute one after the other.

A turn is short. Whoever waits longer than that for one begins without it, so that no quick answer waits for a slow one.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

_PATIENCE: Final = 0.01


class _Held(threading.local):
    """The lock of the turn that a thread has, if it has one."""

    lock: threading.Lock | None = None


_held: Final = _Held()


class Turns:
    def __init__(self) -> None:
        self._lock = threading.Lock()

    def begin(self) -> None:
        _held.lock = self._lock if self._lock.acquire(timeout=_PATIENCE) else None

    def end(self) -> None:
        lock, _held.lock = _held.lock, None
        if lock is not None:
            lock.release()


@contextmanager
def turn_given_up() -> Generator[None]:
    """While a thread runs something that needs no interpreter, another one computes."""
    lock, _held.lock = _held.lock, None
    if lock is None:
        yield
        return
    lock.release()
    try:
        yield
    finally:
        _held.lock = lock if lock.acquire(timeout=_PATIENCE) else None
