"""Several processes that answer at one address: `perdure serve --workers`.

The first process opens the address, starts the others and watches them; it answers nothing itself. They share the
socket, so that no connection is lost when one of them ends, the index by its file, and the rest as `shared_state.py`
says. Each reads what it is to do from its standard input, and ends when that ends: it does not outlive the first.

`python -m perdure.http.workers` is one of the others.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Collection
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic
from typing import TYPE_CHECKING, Final

from perdure.http.listening import LEAVE_SECONDS, Listening, join
from perdure.values import field_values, replace, value_class

if TYPE_CHECKING:
    from perdure.auth.tokens import Tokens
    from perdure.http.server import PageMaker
    from perdure.settings import Settings

_READY: Final = b"ready\n"
# Seconds that a process has to end, before it is killed; and between two attempts to start one that ends by itself.
_GRACE: Final = 3.0
_PAUSE: Final = 1.0
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@value_class
class WorkerPlan:
    """What one process is to do. `store` and `namespace` are as they were given; `place` is its number; `works` says
    whether it does the background work.
    """

    store: str | None
    namespace: str | None
    socket: int
    url: str
    hosts: tuple[str, ...]
    is_loopback: bool
    with_tokens: bool
    rate: float
    works: bool
    folder: str = ""
    place: int = 0
    # What `python -m` runs.
    module: str = "perdure.http.workers"


class _Worker:
    """A process, and the next one in its place when it ends or is to be started anew."""

    def __init__(self, plan: WorkerPlan, count: int) -> None:
        self._plans = (plan, replace(plan, place=plan.place + count))
        self._process: subprocess.Popen[bytes] | None = None
        # The one before, which still answers what was begun.
        self._leaving: subprocess.Popen[bytes] | None = None
        self._turns = threading.Lock()
        self._begun = 0.0
        self.is_ending = False

    def begin(self) -> None:
        self._process = self._started()

    def is_ready(self) -> bool:
        """Whether it answers by now."""
        return self._process is not None and _is_ready(self._process)

    def watch(self) -> None:
        """Start another one when it ends by itself, until the server does."""
        if self._process is not None:
            threading.Thread(target=self._replace, args=(self._process,), daemon=True).start()

    def _replace(self, process: subprocess.Popen[bytes]) -> None:
        process.wait()
        if process is not self._process:
            return
        threading.Event().wait(max(0.0, self._begun + _PAUSE - monotonic()))
        with self._turns:
            if process is not self._process or self.is_ending:
                return
            self.begin()
            self.is_ready()
        self.watch()

    def take_turns(self) -> None:
        """Another one in its place, before it leaves. They count in two files."""
        with self._turns:
            if self._leaving is not None:
                _end([self._leaving])
                self._leaving = None
            self._plans = (self._plans[1], self._plans[0])
            new = self._started()
            if not _is_ready(new):
                self._plans = (self._plans[1], self._plans[0])
                _end([new])
                return
            self._process, self._leaving = new, self._process
        self.watch()
        if self._leaving is not None:
            self._leaving.send_signal(signal.SIGUSR1)
            threading.Thread(target=_await, args=(self._leaving, LEAVE_SECONDS + _GRACE), daemon=True).start()

    def end(self) -> None:
        self.is_ending = True
        _end([each for each in (self._process, self._leaving) if each is not None])

    def _started(self) -> subprocess.Popen[bytes]:
        plan, self._begun = self._plans[0], monotonic()
        process = subprocess.Popen(  # noqa: S603 - one of two modules of ours
            [sys.executable, "-m", plan.module],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            pass_fds=(plan.socket,),
        )
        if process.stdin is not None:
            process.stdin.write(json.dumps(field_values(plan)).encode() + b"\n")
            process.stdin.flush()
        return process


def _is_ready(process: subprocess.Popen[bytes]) -> bool:
    return process.stdout is not None and process.stdout.readline() == _READY


def _end(processes: Collection[subprocess.Popen[bytes]]) -> None:
    for process in processes:
        process.terminate()
    for process in processes:
        _await(process, _GRACE)


def _await(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.kill()


def serve_together(plan: WorkerPlan, count: int, announce: Callable[[], None]) -> bool:
    """Answer until SIGINT or SIGTERM. SIGHUP starts every process anew, one after the other, while the others answer.
    False when they could not be started.
    """
    # Before there are threads, which would get the signals otherwise.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)
    try:
        with TemporaryDirectory(prefix="perdure-serve-") as folder:
            # One process does the background work of the store for all of them.
            workers = [
                _Worker(replace(plan, folder=folder, place=place, works=plan.works and place == 0), count)
                for place in range(count)
            ]
            try:
                for worker in workers:
                    worker.begin()
                if not all(worker.is_ready() for worker in workers):
                    return False
                announce()
                for worker in workers:
                    worker.watch()
                while signal.sigwait(_SIGNALS) == signal.SIGHUP:
                    for worker in workers:
                        worker.take_turns()
            finally:
                for worker in workers:
                    worker.is_ending = True
                ending = [threading.Thread(target=worker.end) for worker in workers]
                for each in ending:
                    each.start()
                for each in ending:
                    each.join()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return True


def plan_of(
    listening: Listening, store: str | None, namespace: str | None, *, asks: bool, rate: float, works: bool
) -> WorkerPlan:
    hosts = tuple(sorted(listening.hosts))
    socket = listening.socket.fileno()
    return WorkerPlan(store, namespace, socket, listening.url, hosts, listening.is_loopback, asks, rate, works)


def main(page_of: Callable[[Settings, Listening, Tokens | None], PageMaker] | None = None) -> None:
    """One of the processes. `page_of` makes the page that stands before the routes."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    plan = WorkerPlan(**json.loads(sys.stdin.buffer.readline()))
    threading.Thread(target=_end_with_input, daemon=True).start()

    from contextlib import nullcontext

    from perdure.http.server import serve
    from perdure.http.shared_state import SharedState
    from perdure.memory import Memory
    from perdure.services import open_tokens
    from perdure.settings import load

    settings = load(store=plan.store, namespace=plan.namespace)
    listening = join(plan.socket, plan.url, frozenset(plan.hosts), is_loopback=plan.is_loopback)
    with open_tokens(settings) if plan.with_tokens else nullcontext() as tokens:
        serve(
            Memory(settings=settings, surface="http", writer="person"),
            settings.namespace,
            listening,
            tokens,
            rate=plan.rate,
            work=settings.store if settings.background and plan.works else None,
            announce=_say_ready,
            shared=SharedState(Path(plan.folder), plan.place),
            page=None if page_of is None else page_of(settings, listening, tokens),
        )


def _say_ready() -> None:
    os.write(sys.stdout.fileno(), _READY)


def _end_with_input() -> None:
    while sys.stdin.buffer.read(1):
        pass
    os.kill(os.getpid(), signal.SIGTERM)


if __name__ == "__main__":
    main()
