"""A connection to the server: how long it may take to say what it wants, and how many there may be."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

# Seconds until the headers of a request have arrived, and from then on its body. The guard, which can still answer,
# loses its patience with a body a little earlier.
HEADER_SECONDS: Final = 10
BODY_SECONDS: Final = 40
# Fewer than a process may usually have files open.
MOST_CONNECTIONS: Final = 512


class Connection(H11Protocol):
    """uvicorn's connection, which by itself waits for ever as long as a byte comes now and then. Also after an answer
    that was given early: of the body that nobody reads any more, bytes may go on coming.
    """

    _missing: type[h11.IDLE | h11.SEND_BODY] | None = None
    _patience: Callable[[], None] | None = None

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        self._watch()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        self._watch()

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        if self._patience is not None:
            self._patience()

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
