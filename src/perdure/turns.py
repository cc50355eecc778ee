"""A fair lock: one thread of a server runs Python code at a time. Threads that compute at the same time only take the
interpreter from each other, and each switch costs more than it gains.

A turn is short. A thread that takes longer loses it to the next one and goes on beside it, so that no answer waits for
a slow one.
"""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

# Seconds: what most calls need, however many memories there are.
_TURN_SECONDS: Final = 0.01


class Turns:
    """One for all threads that answer. `with turns:` is a turn."""

    def __init__(self) -> None:
        # One thread at a time waits for the turn, the others for that one.
        self._next = threading.Lock()
        self._turn = threading.Lock()
        self._changing = threading.Lock()
        self._holder = 0

    def begin(self) -> None:
        mine = threading.get_ident()
        with self._next:
            is_free = self._turn.acquire(timeout=_TURN_SECONDS)
            with self._changing:
                if not is_free:
                    # It is taken from its holder, unless that one ended just now.
                    self._turn.acquire(blocking=False)
                self._holder = mine
        _current.turns = self

    def end(self) -> None:
        _current.turns = None
        with self._changing:
            if self._holder == threading.get_ident():
                self._holder = 0
                self._turn.release()

    def __enter__(self) -> None:
        self.begin()

    def __exit__(self, *_: object) -> None:
        self.end()


class _Current(threading.local):
    """What a thread has a turn of, or had."""

    turns: Turns | None = None


_current: Final = _Current()


@contextmanager
def turn_given_up() -> Generator[None]:
    """While a thread runs something that needs no interpreter, another one computes."""
    turns = _current.turns
    if turns is None:
        yield
        return
    turns.end()
    try:
        yield
    finally:
        turns.begin()
