"""A connection to the server: how long it may take to say what it wants and to read what it is told, and how many there
may be.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Any, Final, cast

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from perdure.errors import BadRequest
from perdure.http.problems import problem

# Seconds until the headers of a request have arrived, and from then on its body. The guard, which can still answer,
# loses its patience with a body a little earlier.
HEADER_SECONDS: Final = 10
BODY_SECONDS: Final = 40
# Fewer than a process may usually have files open.
MOST_CONNECTIONS: Final = 512
# Drop clients that read less than 16 KiB in 30 s. Unread answers of all clients together take at most 128 MiB; beyond
# that, drop the client that has kept the server waiting longest.
READ_SECONDS: Final = 30
READ_BYTES: Final = 16 << 10
MOST_UNREAD: Final = 128 << 20
_SEND_HTTP: Final = "Send HTTP/1.1, without control characters in its headers; nothing was changed."
# Seconds that an answer may still take to be read when the server ends.
LAST_SECONDS: Final = 0.5


class Connection(H11Protocol):
    """uvicorn's connection, which by itself waits for ever as long as a byte comes now and then. Also after an answer
    that was given early: of the body that nobody reads any more, bytes may go on coming. And also for a reader who has
    stopped reading.
    """

    _missing: type[h11.IDLE | h11.SEND_BODY] | None = None
    _patience: Callable[[], None] | None = None
    _reader_patience: Callable[[], None] | None = None
    _unread_since: float = 0
    _resting_since: float = 0

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._resting_since = self.loop.time()
        if len(self.connections) > MOST_CONNECTIONS:
            self._make_room()
        self._watch()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._resting_since = self.loop.time()

    @property
    def is_resting(self) -> bool:
        """Whether nothing that was asked is being answered."""
        is_answered = cast("Any", self.cycle) is None or self.cycle.response_complete
        return is_answered and not self.transport.get_write_buffer_size()

    def close_unused(self, seconds: float) -> None:
        """Close it if nothing was asked for so long."""
        if self.is_resting and self._resting_since + seconds < self.loop.time():
            self.shutdown()

    def _make_room(self) -> None:
        """One too many: the connection that was idle longest is closed, so that idle ones keep nobody out. If all
        are being answered, it is the new one.
        """
        every = cast("set[Connection]", self.connections)
        opened = [each for each in every if not each.transport.is_closing()]
        if len(opened) > MOST_CONNECTIONS:
            min((each for each in opened if each.is_resting), key=attrgetter("_resting_since")).transport.abort()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for patience in (self._patience, self._reader_patience):
            if patience is not None:
                patience()

    def send_400_response(self, msg: str) -> None:
        """What cannot be read as HTTP never comes to the guard, and is refused in the same form."""
        del msg
        answer = problem(BadRequest("The request is not HTTP that can be read.", remedy=_SEND_HTTP))
        head = h11.Response(
            status_code=answer.status_code,
            headers=[*answer.raw_headers, (b"connection", b"close")],
            reason=b"Bad Request",
        )
        for event in (head, h11.Data(data=bytes(answer.body)), h11.EndOfMessage()):
            self.transport.write(self.conn.send(event) or b"")
        self.transport.close()

    def pause_writing(self) -> None:
        """Called when more of an answer waits than is sent at once: begin to watch the reader."""
        super().pause_writing()
        self._unread_since = self.loop.time()
        self._watch_reader(self.transport.get_write_buffer_size())
        every = cast("set[Connection]", self.connections)
        waiting = sorted((each for each in every if each.flow.write_paused), key=attrgetter("_unread_since"))
        unread = sum(each.transport.get_write_buffer_size() for each in waiting)
        for slowest in waiting[:-1]:
            if unread <= MOST_UNREAD:
                return
            unread -= slowest.transport.get_write_buffer_size()
            slowest.transport.abort()

    def resume_writing(self) -> None:
        super().resume_writing()
        if self._reader_patience is not None:
            self._reader_patience()

    def shutdown(self) -> None:
        super().shutdown()
        if self.flow.write_paused:
            self.loop.call_later(LAST_SECONDS, self.transport.abort)

    def _watch_reader(self, unread: int) -> None:
        def look() -> None:
            left = self.transport.get_write_buffer_size()
            if left > unread - READ_BYTES:
                self.transport.abort()
            else:
                self._watch_reader(left)

        self._reader_patience = self.loop.call_later(READ_SECONDS, look).cancel

    def _watch(self) -> None:
        """Begin to wait when something begins to be missing, not with every byte of it. Between two requests nothing
        is: how long that may last, uvicorn watches.
        """
        state = self.conn.their_state
        missing = state if state in {h11.IDLE, h11.SEND_BODY} else None
        if missing is self._missing:
            return
        if self._patience is not None:
            self._patience()
        self._missing = missing
        if missing is not None:
            seconds = HEADER_SECONDS if missing is h11.IDLE else BODY_SECONDS
            self._patience = self.loop.call_later(seconds, self.transport.abort).cancel
