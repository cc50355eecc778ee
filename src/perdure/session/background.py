"""Outstanding work, done by a server when nobody asks it anything: what waits in the spool, vectors, episodes, facts,
expiry. A coding agent's user never has to run `perdure work`.
"""

from __future__ import annotations

import os
import random
import sys
import threading
import time
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Final, NamedTuple

from perdure.errors import PerdureError
from perdure.location import StoreLocation
from perdure.memory import Memory
from perdure.model import MaintenanceResult
from perdure.session.spool import Spool

# Seconds: how long it has to be quiet, and how long work waits at most when it never is.
_QUIET: Final = 2.0
_PATIENCE: Final = 30.0
# Some work becomes due by time alone: memories expire, the last episode of a conversation ends, and what a hook could
# not store waits. Servers that were started together do not look at the same time.
_EVERY: Final = 600.0
# So many memories are embedded at once, or episodes consolidated; a quarter of a second on two processors. Whoever asks
# something meanwhile shares them for so long at most.
_PORTION: Final = 32
_PAUSE: Final = 0.05


class WorkTarget(NamedTuple):
    """The memory to work with, which is closed afterwards if it was opened for that, and where its store is."""

    memory: AbstractContextManager[Memory]
    store: StoreLocation


class _ServerEnds(BaseException):
    """The server ends, in the middle of work. What was not committed did not happen."""


class BackgroundWork:
    """A thread that works after somebody asked something. What it does not get done is derived from the store by
    whoever works next. `open_target` answers None where nothing may be done now. `prepare` is called after the work.
    """

    def __init__(
        self,
        open_target: Callable[[], WorkTarget | None],
        is_busy: Callable[[], bool] = lambda: False,
        prepare: Callable[[], None] = lambda: None,
    ) -> None:
        self._open_target = open_target
        self._is_busy = is_busy
        self._prepare = prepare
        self._asked = threading.Event()
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="perdure-work", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def wake(self) -> None:
        """Somebody may have written."""
        self._asked.set()

    def stop(self) -> None:
        self._ending.set()
        self._asked.set()

    def _run(self) -> None:
        try:
            while True:
                self._asked.wait(random.uniform(0.5, 1.0) * _EVERY)  # noqa: S311
                self._await_quiet()
                try:
                    self._work()
                    self._prepare()
                except PerdureError as error:
                    print(f"work: {error.note}", file=sys.stderr)  # noqa: T201
                except Exception as error:  # noqa: BLE001 - the server goes on, whatever is wrong with its store
                    print(f"work: {type(error).__name__}", file=sys.stderr)  # noqa: T201
        except _ServerEnds:
            pass

    def _work(self) -> None:
        place = self._open_target()
        if place is None:
            return
        # Of a database the work itself asks whether somebody does it, on whatever machine.
        alone: AbstractContextManager[bool] = nullcontext(enter_result=True)
        if place.store.kind == "file":
            alone = work_lock(place.store.path.absolute().parent)
        with alone as is_alone:
            if not is_alone:
                return
            with place.memory as memory:
                Spool(place.store).drain(memory, lambda: not (self._ending.is_set() or self._is_busy()))
                while has_more(memory.work(limit=_PORTION, progress=lambda _done, _of: self._give_way())):
                    self._give_way()

    def _await_quiet(self) -> None:
        until = time.monotonic() + _PATIENCE
        while (self._asked.is_set() or self._is_busy()) and time.monotonic() < until:
            self._asked.clear()
            self._wait(_QUIET)
        self._wait(0)

    def _give_way(self) -> None:
        """Let others have the processors: for a moment, or until nobody asks anything."""
        self._wait(_PAUSE)
        self._await_quiet()

    def _wait(self, seconds: float) -> None:
        if self._ending.wait(seconds):
            raise _ServerEnds


def has_more(done: MaintenanceResult) -> bool:
    """Whether there may be more to do."""
    return any(
        (done.embedded, done.expired, done.purged, done.keywords_added, done.episodes_made, done.episodes_reviewed,
         done.episodes_consolidated, done.memories_compared)
    )  # fmt: skip


@contextmanager
def work_lock(folder: Path) -> Generator[bool]:
    """Whether nobody else works on the stores of a folder: the engine allows it, but several servers would ask a model
    the same. The lock is on the folder itself and leaves no file behind; where there are no locks, everybody may work.
    """
    try:
        from fcntl import LOCK_EX, LOCK_NB, flock

        descriptor = os.open(folder, os.O_RDONLY)
    except (ImportError, OSError):
        yield True
        return
    try:
        try:
            flock(descriptor, LOCK_EX | LOCK_NB)
        except BlockingIOError:
            yield False
            return
        except OSError:
            pass
        yield True
    finally:
        os.close(descriptor)
