"""Outstanding work, done by the server when nobody has written for a moment, and now and then: vectors, episodes,
facts, expiry.
"""

from __future__ import annotations

import sys
import threading
from typing import Final

from perdure.errors import PerdureError
from perdure.memory import Memory

# How long it has to be quiet, and how long work waits at most when it never is.
_QUIET: Final = 2.0
_PATIENCE: Final = 30.0
# Some work becomes due by time alone: memories expire, and the last episode of a conversation ends.
_EVERY: Final = 600.0


class BackgroundWork:
    """A thread that works after writes. What it does not get done is derived from the store by whoever works next."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._written = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="perdure-work", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Somebody may have written."""
        self._written.set()

    def stop(self) -> None:
        self._ending.set()
        self._written.set()

    def _run(self) -> None:
        while True:
            self._written.wait(_EVERY)
            waited = 0.0
            while waited < _PATIENCE and self._written.is_set() and not self._ending.is_set():
                self._written.clear()
                self._ending.wait(_QUIET)
                waited += _QUIET
            if self._ending.is_set():
                return
            try:
                self._memory.work()
            except PerdureError as error:
                print(f"work: {error.sentence} {error.remedy}", file=sys.stderr)  # noqa: T201
