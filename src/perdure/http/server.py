"""Runs the server until it is told to stop."""

from __future__ import annotations

import os
import signal
import socket
import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from types import FrameType
from typing import Final, TypeAlias, cast

import anyio
import uvicorn
from starlette.types import ASGIApp

from perdure.auth.authorise import AccessToken
from perdure.auth.tokens import Tokens
from perdure.clock import system_clock
from perdure.http.app import build_app
from perdure.http.connections import Connection
from perdure.http.guard import Guard, RequestRules
from perdure.http.listening import BACKLOG, LEAVE_SECONDS, Listening
from perdure.http.rate_limit import RateLimit
from perdure.http.routing import Serving
from perdure.http.shared_state import SharedState
from perdure.location import StoreLocation
from perdure.memory import Memory
from perdure.session.background import BackgroundWork, WorkTarget

PageMaker: TypeAlias = Callable[[Serving, ASGIApp], ASGIApp]

MAX_BODY: Final = 4 << 20
# How long requests that run may take to end, and then the memory to close. Whatever was acknowledged is on disk before.
_GRACE: Final = 1
_CLOSE: Final = 0.25
# How long a connection may say nothing: longer than clients and proxies keep theirs, so that they close it first.
_IDLE: Final = 75
# Seconds after which a process that leaves closes a connection on which nothing is asked, and between two looks.
_UNUSED: Final = 2
_LOOK: Final = 0.1
_LAST: Final = (b"connection", b"close")


def serve(  # noqa: PLR0913 - one for each thing that the two kinds of server decide
    memory: Memory,
    namespace: str,
    listening: Listening,
    tokens: Tokens | None,
    *,
    rate: float,
    work: StoreLocation | None,
    announce: Callable[[], None],
    shared: SharedState | None = None,
    page: PageMaker | None = None,
) -> None:
    """Answer until SIGINT or SIGTERM; then end within two seconds, and close the memory. `work` is where the
    store is, on which outstanding work is done in between; None: it is not. `announce` is called once it answers.
    `shared` is what several processes have in common that answer together. `page` puts the page before the routes.
    """
    server: _Server | None = None
    background = BackgroundWork(lambda: WorkTarget(nullcontext(memory), work) if work else None)
    burst = max(1, int(2 * rate))
    serving = Serving(
        memory,
        tokens,
        namespace,
        limit=RateLimit(rate, burst) if shared is None else shared.rate_limit(rate, burst),
        is_ending=lambda: server is not None and server.should_exit,
        note_write=background.wake,
    )
    if shared is not None:
        serving = replace(serving, tallies=shared.tallies, tasks=shared.tasks)
    rules = RequestRules(listening.hosts, tokens, None if tokens else anybody(), MAX_BODY)
    guard = Guard(build_app(serving), rules, serving.limit, serving.metrics)
    served: ASGIApp = guard if page is None else page(serving, guard)
    config = uvicorn.Config(
        served, lifespan="off", http=Connection, ws="none", loop="asyncio", interface="asgi3", log_config=None,
        log_level="critical",
        access_log=False, proxy_headers=False, server_header=False, timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=_IDLE,
        # Of several processes none takes more than one connection at a time, so that each gets its share.
        backlog=BACKLOG if shared is None else 1,
    )  # fmt: skip
    server = _Server(config, announce)
    if work is not None:
        background.start()
        background.wake()
    server.run(sockets=[listening.socket])
    background.stop()
    end(memory)


def anybody() -> AccessToken:
    """The caller of a server without tokens: a model, which destroys nothing."""
    return AccessToken("none", "anybody", ("read", "write", "delete"), None, "model", system_clock())


class _Server(uvicorn.Server):
    """uvicorn's server, which would die of the signal after it has ended well. With SIGUSR1 it leaves: others answer at
    the same address, so that what was begun here may take its time, and no client loses a request.
    """

    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce
        self._leaves = False

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        for each in sockets or ():
            # The length of the queue is another matter than how many are taken from it at once.
            each.listen(BACKLOG)
        self._announce()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._leaves:
            await self._leave()
        await super().shutdown(sockets)

    async def _leave(self) -> None:
        for server in self.servers:
            server.close()
        state = self.server_state
        # Each connection may be used once more, because its client may just be doing so.
        state.default_headers = [*state.default_headers, _LAST]
        with anyio.move_on_after(LEAVE_SECONDS):
            while self._leaves and state.connections:
                for each in cast("set[Connection]", set(state.connections)):
                    each.close_unused(_UNUSED)
                await anyio.sleep(_LOOK)

    @contextmanager
    def capture_signals(self) -> Generator[None]:
        def stop(number: int, _frame: FrameType | None) -> None:
            self._leaves = number == leave
            self.should_exit = True

        leave = getattr(signal, "SIGUSR1", signal.SIGTERM)
        before = {each: signal.signal(each, stop) for each in (signal.SIGINT, signal.SIGTERM, leave)}
        try:
            yield
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)


def end(memory: Memory) -> None:
    """Close the memory. A call that still runs in a thread is not waited for: what it did not commit did not happen."""
    closing = threading.Thread(target=memory.close, daemon=True)
    closing.start()
    closing.join(_CLOSE)
    others = [each for each in threading.enumerate() if not each.daemon and each is not threading.main_thread()]
    for each in others:
        each.join(_CLOSE / len(others))
    if closing.is_alive() or any(each.is_alive() for each in others):
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)
