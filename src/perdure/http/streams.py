"""The streams of changes that are open: how many there may be, and the one reader of the log that feeds all of a
namespace. Everything here happens in the thread of the server's loop, except that the log is read in another.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from time import monotonic
from typing import Final

import anyio
from anyio.to_thread import run_sync

from perdure.auth.authorise import AccessToken
from perdure.errors import RateLimited, shown
from perdure.http.connections import MOST_CONNECTIONS
from perdure.http.tallies import Tallies
from perdure.memory import Memory
from perdure.model import Revision

# A stream takes a connection for as long as its reader likes. The other half of them is for everybody else.
MOST_STREAMS: Final = MOST_CONNECTIONS // 2
MOST_OF_A_TOKEN: Final = 8
# How the names begin of what is counted of them.
STREAM: Final = "stream "
# Seconds after which it may be worth to ask again: readers stay for long.
_COME_BACK: Final = 10
# How often the log is looked at, in seconds.
_POLL_SECONDS: Final = 0.25
_PAGE_SIZE: Final = 100
# The newest lines, kept for followers; a follower that is further behind reads from the store.
_MAX_LINES_KEPT: Final = 1000


class LogFeed:
    """The newest lines of one namespace's log. All followers share it, so that the log is read once."""

    def __init__(self, memory: Memory, clock: Callable[[], float] = monotonic) -> None:
        self._memory = memory
        self._clock = clock
        self._lines: deque[Revision] = deque(maxlen=_MAX_LINES_KEPT)
        self._newest: int | None = None
        self._next_look = 0.0
        self._looking = False
        self._changed = anyio.Event()

    async def lines_after(self, seen: int) -> Sequence[Revision]:
        """The next lines behind this position, oldest first, as far as they are known by now."""
        if not self._looking and self._clock() >= self._next_look:
            await self._look()
        if self._newest is None or seen >= self._newest:
            return ()
        if self._lines and self._lines[0].seq <= seen + 1:
            return [line for line in self._lines if line.seq > seen]
        return await run_sync(page_after, self._memory, seen)

    async def wait(self) -> None:
        """Until something is new, or it is time to look again."""
        with anyio.move_on_after(_POLL_SECONDS):
            await self._changed.wait()

    async def _look(self) -> None:
        self._looking = True
        lines: Sequence[Revision] = ()
        try:
            if self._newest is None:
                self._newest = await run_sync(position_of, self._memory)
            else:
                lines = await run_sync(page_after, self._memory, self._newest)
        finally:
            self._looking = False
            # Behind a whole page there may be more.
            self._next_look = self._clock() + (0 if len(lines) == _PAGE_SIZE else _POLL_SECONDS)
        if lines:
            self._newest = lines[-1].seq
            self._lines.extend(lines)
            self._changed.set()
            self._changed = anyio.Event()


class Streams:
    """How many streams there are, of whom, and their feeds."""

    def __init__(self, tallies: Tallies) -> None:
        self._tallies = tallies
        self._of_namespace: Counter[str] = Counter()
        self._feeds: dict[str, LogFeed] = {}

    @contextmanager
    def one_more(self, token: AccessToken, memory: Memory, namespace: str) -> Generator[LogFeed]:
        """Counts as long as it is open. RateLimited when the token, or the whole server, has as many as it may."""
        own, totals = f"{STREAM}{token.id}", self._tallies.totals()
        if totals.get(own, 0) >= MOST_OF_A_TOKEN:
            raise _too_many(f"The token {shown(token.name)} follows changes in {MOST_OF_A_TOKEN} streams already.")
        if sum(value for name, value in totals.items() if name.startswith(STREAM)) >= MOST_STREAMS:
            raise _too_many(f"The server has {MOST_STREAMS} streams open already.")
        self._tallies.add(own)
        self._of_namespace[namespace] += 1
        feed = self._feeds.setdefault(namespace, LogFeed(memory))
        try:
            yield feed
        finally:
            self._tallies.add(own, -1)
            self._of_namespace[namespace] -= 1
            if not self._of_namespace[namespace]:
                del self._of_namespace[namespace], self._feeds[namespace]


def position_of(memory: Memory) -> int:
    """The position of the newest line."""
    newest = memory.log(limit=1)
    return newest[0].seq if newest else 0


def page_after(memory: Memory, seen: int) -> Sequence[Revision]:
    """The next lines, oldest first. Positions have no gaps, so that a page that ends at `seen + 100` begins there."""
    if position_of(memory) <= seen:
        return ()
    page = memory.log(before=seen + _PAGE_SIZE + 1, limit=_PAGE_SIZE)
    return [line for line in reversed(page) if line.seq > seen]


def _too_many(sentence: str) -> RateLimited:
    error = RateLimited(sentence, remedy="Close one of them, or wait as long as `Retry-After` says and try again.")
    error.retry_after = _COME_BACK
    return error
