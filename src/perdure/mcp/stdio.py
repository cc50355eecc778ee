"""The server of `perdure mcp`: JSON-RPC, a message a line, over standard input and output.

One thread reads and answers what needs no engine; a few others do the work; the main thread waits for the end. Nothing
is imported for the first answer that it does not need: hosts give a server about two seconds to say hello, on whatever
machine, and start without it if it does not.
"""

from __future__ import annotations

import json
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Sequence
from contextlib import suppress
from queue import Empty, Full, Queue, SimpleQueue
from types import FrameType
from typing import TYPE_CHECKING, Any, BinaryIO, Final, NoReturn, cast

from perdure.mcp.protocol import (
    INTERNAL_ERROR,
    INVALID_REQUEST,
    MEMORY_ERROR,
    PARSE_ERROR,
    Protocol,
    ProtocolError,
    Request,
    failure,
    notification,
    progress,
    read_request,
)
from perdure.mcp.tool import is_object
from perdure.turns import Turns

if TYPE_CHECKING:
    from perdure.session.background import BackgroundWork

MAX_MESSAGE: Final = 8 << 20
# At most 4 messages of more than 64 KiB wait at once; then reading stops until the host reads its answers.
_LARGE_BYTES: Final = 1 << 16
_MAX_LARGE_WAITING: Final = 4
_WORKERS: Final = 6
_QUEUED: Final = 1024
_CHUNK: Final = 1 << 16
# Seconds: how often the end and long calls are looked after; how long calls may still take when the host closed its
# end, or wants us to stop (Claude Code kills half a second later); how long use counts may take to be written. Together
# below the two seconds after which hosts lose their patience. At the end of a script that is all there is for opening
# the store and loading the model: `printf '…' | perdure mcp`.
_CHECK_SECONDS: Final = 0.5
_DRAIN_AT_EOF: Final = 1.25
_DRAIN_AT_SIGNAL: Final = 0.3
_CLOSE: Final = 0.3
# Seconds that the reader may spend on one message before it counts as stuck.
_STUCK_SECONDS: Final = 0.7
_SWITCH: Final = 0.0005
# The id of a message at its beginning, behind short members alone, and as its last member.
_ID: Final = rb'"id"\s*:\s*(?P<id>-?\d{1,18}|"[^"\\]{0,200}")'
_FIRST_ID: Final = re.compile(rb'\{(?:\s*"(?:jsonrpc|method)"\s*:\s*"[^"\\]{0,200}"\s*,)*\s*' + _ID)
_LAST_ID: Final = re.compile(rb",\s*" + _ID + rb"(?:\s*,\s*\"jsonrpc\"\s*:\s*\"2\.0\")?\s*\}$")
_NEAR_THE_END: Final = 400


class RunningCall:
    """A request that is being worked on, or waits for it."""

    def __init__(self, request: Request) -> None:
        self.request = request
        self.since = time.monotonic()
        self.seconds_told = 0
        self.is_cancelled = False
        self._claimed = threading.Lock()

    def claim(self) -> bool:
        """True for the first caller only; that caller sends the answer."""
        return self._claimed.acquire(blocking=False)


class StdioServer:
    def __init__(self, protocol: Protocol, source: BinaryIO, target: int) -> None:
        self._protocol = protocol
        self._source = source
        self._target = target
        self._sending = threading.Lock()
        # A call or a list of them, and its size in bytes. None ends a worker.
        self._work: Queue[tuple[RunningCall | Sequence[object], int] | None] = Queue(_QUEUED)
        self._turns = Turns()
        self._calls: dict[object, RunningCall] = {}
        self._large = threading.BoundedSemaphore(_MAX_LARGE_WAITING)
        # Since when the reader has been busy with one message; None while it waits for the next.
        self._busy_since: float | None = None
        self.warming: threading.Thread | None = None
        self._background: BackgroundWork | None = None
        self._ending = threading.Event()
        # A signal handler may put something into this queue, whatever the thread it interrupts is doing.
        self.stop: Final = SimpleQueue[str]()

    def run(self) -> None:
        """Serve until the host closes its end, goes away, or says stop. Whatever was acknowledged is on disk then."""
        parent = os.getppid()
        for run in (self._read, self._report_progress, *[self._run_worker] * _WORKERS):
            threading.Thread(target=run, daemon=True).start()
        reason = None
        while reason is None:
            try:
                reason = self.stop.get(timeout=_CHECK_SECONDS)
            except Empty:
                if os.getppid() != parent:
                    reason = "parent"
                elif self._is_left_alone():
                    reason = "gone"
        self._ending.set()
        if self._background is not None:
            self._background.stop()
        drain = _DRAIN_AT_EOF if reason == "eof" else _DRAIN_AT_SIGNAL
        with self._work.all_tasks_done:
            self._work.all_tasks_done.wait_for(lambda: not self._work.unfinished_tasks, drain)
        for _ in range(_WORKERS):
            with suppress(Full):
                self._work.put_nowait(None)
        # Each in its own thread, because a host that does not read must not keep the use counts from the disk.
        leaving = [
            threading.Thread(target=run, daemon=True) for run in (self._refuse_rest, self._protocol.memory.close)
        ]
        for thread in leaving:
            thread.start()
        until = time.monotonic() + _CLOSE
        for thread in leaving:
            thread.join(max(0, until - time.monotonic()))

    def _is_left_alone(self) -> bool:
        """Whether the host has closed its end while the reader, which would notice, waits for something else: for the
        host to read our answers, or for a call to end.
        """
        since = self._busy_since
        if since is None or time.monotonic() - since < _STUCK_SECONDS:
            return False
        import select

        if not hasattr(select, "poll"):
            return False
        closed = getattr(select, "POLLRDHUP", 0) | select.POLLHUP
        source = select.poll()
        source.register(self._source, closed)
        return any(found & closed for _, found in source.poll(0))

    def _refuse_rest(self) -> None:
        """Tell all waiting callers that no answer will come."""
        for call in list(self._calls.values()):
            if call.claim():
                error = ProtocolError(MEMORY_ERROR, "The server ended before this call did; it may have been done.")
                self._send(failure(call.request.id, error))

    # -- reading -------------------------------------------------------------------------------------------------------

    def _read(self) -> None:
        while line := self._source.readline(MAX_MESSAGE + 1):
            self._busy_since = time.monotonic()
            if len(line) > MAX_MESSAGE and not line.endswith(b"\n"):
                end = line[-_CHUNK:]
                while (rest := self._source.readline(_CHUNK)) and not rest.endswith(b"\n"):
                    end = rest
                error = ProtocolError(INVALID_REQUEST, f"A message may have {MAX_MESSAGE:,} bytes.")
                self._send(failure(id_of_long_message(line[:_CHUNK], end + rest), error))
            elif line.strip():
                self._receive(line)
            self._busy_since = None
        self.stop.put("eof")

    def _receive(self, line: bytes) -> None:
        try:
            message: Any = json.loads(line.decode("utf-8"), parse_constant=_refuse)
        except (ValueError, RecursionError):
            self._send(failure(None, ProtocolError(PARSE_ERROR, "That is not JSON in UTF-8.")))
            return
        if isinstance(message, list):
            if message and self._protocol.takes_batches:
                self._queue(cast("list[object]", message), len(line))
            else:
                error = ProtocolError(INVALID_REQUEST, "A list of messages belongs to revision 2025-03-26 alone.")
                self._send(failure(None, error))
            return
        request = self._understood(message)
        if isinstance(request, dict):
            self._send(request)
        elif request is not None and request.id is None:
            self._notified(request)
        elif request is not None and request.method == "subscriptions/listen":
            self._acknowledge(request)
        elif request is not None and request.method in self._protocol.slow_methods:
            call = self._calls[request.id] = RunningCall(request)
            self._queue(call, len(line))
        elif request is not None:
            self._send(self._protocol.answer(request))

    def _queue(self, work: RunningCall | Sequence[object], size: int) -> None:
        if size > _LARGE_BYTES:
            self._large.acquire()
        self._work.put((work, size))

    def _understood(self, message: object) -> Request | dict[str, Any] | None:
        """The request, or the answer that says what is wrong with it."""
        try:
            return read_request(message)
        except ProtocolError as error:
            return failure(message.get("id") if is_object(message) else None, error)

    def _notified(self, request: Request) -> None:
        if request.method == "notifications/cancelled":
            id = request.params.get("requestId")
            call = self._calls.get(id) if isinstance(id, str | int | float) else None
            if call is not None:
                call.is_cancelled = True

    def _acknowledge(self, request: Request) -> None:
        """Our lists never change, so a subscription to them is one answer, and silence from then on."""
        asked = request.params.get("notifications")
        kinds = ("toolsListChanged", "promptsListChanged", "resourcesListChanged")
        honored = {kind: True for kind in kinds if is_object(asked) and asked.get(kind) is True}
        meta = {"io.modelcontextprotocol/subscriptionId": request.id}
        self._send(notification("notifications/subscriptions/acknowledged", notifications=honored, _meta=meta))

    # -- working -------------------------------------------------------------------------------------------------------

    def _run_worker(self) -> None:
        while (taken := self._work.get()) is not None:
            work, size = taken
            try:
                with self._turns:
                    if isinstance(work, RunningCall):
                        self._finish(work)
                    elif answers := [answer for message in work if (answer := self._answer_of_batch(message))]:
                        self._send(answers)
            finally:
                del work, taken
                if size > _LARGE_BYTES:
                    self._large.release()
                self._work.task_done()
                if self._background is not None:
                    self._background.wake()

    def _finish(self, call: RunningCall) -> None:
        """A call that was cancelled gets no answer. If it was at work already, what it wrote is written."""
        answer = None if call.is_cancelled else self._answer(call.request)
        if self._calls.get(call.request.id) is call:
            del self._calls[call.request.id]
        if answer is not None and not call.is_cancelled and call.claim():
            self._send(answer)

    def _answer(self, request: Request) -> dict[str, Any]:
        try:
            return self._protocol.answer(request)
        except Exception as error:  # noqa: BLE001 - a server answers whatever happens
            sentence = f"Something unexpected happened in Perdure: {type(error).__name__}."
            return failure(request.id, ProtocolError(INTERNAL_ERROR, sentence))

    def _answer_of_batch(self, message: object) -> dict[str, Any] | None:
        request = self._understood(message)
        if isinstance(request, dict) or request is None:
            return request
        if request.id is None:
            self._notified(request)
            return None
        return self._answer(request)

    def _report_progress(self) -> None:
        """Send progress notifications for long calls."""
        while not self._ending.wait(_CHECK_SECONDS):
            now = time.monotonic()
            for call in list(self._calls.values()):
                token, seconds = call.request.progress_token, int(now - call.since)
                if token is not None and seconds > call.seconds_told and not call.is_cancelled:
                    call.seconds_told = seconds
                    self._send(progress(token, seconds))

    # -- writing -------------------------------------------------------------------------------------------------------

    def _send(self, message: object) -> None:
        """One line. Escaped, because a text may hold half of a surrogate pair, which no encoding has."""
        line = memoryview(json.dumps(message, separators=(",", ":")).encode() + b"\n")
        try:
            with self._sending:
                while line:
                    line = line[os.write(self._target, line) :]
        except OSError:
            self.stop.put("gone")
        if self.warming is None:
            self.warming = threading.Thread(target=self._warm, daemon=True)
            self.warming.start()

    def _warm(self) -> None:
        """Get ready for the first call, then do background work."""
        self._protocol.warm()
        from perdure.session.background import BackgroundWork

        memory = self._protocol.memory
        self._background = BackgroundWork(
            memory.work_target, lambda: self._work.unfinished_tasks > 0, memory.embed_next_question
        )
        if not self._ending.is_set():
            self._background.start()
            self._background.wake()


def id_of_long_message(beginning: bytes, end: bytes) -> str | int | None:
    """The id of a message that is too long to be read: it stands before everything else that may be long, or last."""
    first = _FIRST_ID.match(beginning.lstrip())
    found = first or _LAST_ID.search(end.rstrip()[-_NEAR_THE_END:])
    if found is None:
        return None
    try:
        id: object = json.loads(found["id"])
    except ValueError:
        return None
    return id if isinstance(id, str | int) else None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")


def serve(protocol: Protocol) -> NoReturn:
    """Serve standard input and output, and end the process. Whatever is printed by accident goes to standard error."""
    source, target = os.fdopen(os.dup(0), "rb"), os.dup(1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    try:
        os.dup2(2, 1)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    sys.stdout = sys.stderr
    server = StdioServer(protocol, source, target)

    def stop(_number: int, _frame: FrameType | None) -> None:
        server.stop.put("signal")

    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    # A thread that comes back from SQLite or numpy waits so long for the interpreter; eight recalls at once are a third
    # faster than with the usual five milliseconds.
    sys.setswitchinterval(_SWITCH)
    server.run()
    # Threads that still wait, for a lock or for a reader, must not keep the process.
    os._exit(0)
