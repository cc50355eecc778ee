"""A circuit breaker: after a failure a provider is left alone for a while, so that no call waits in vain."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from random import random
from typing import Final

from perdure.errors import ProviderUnavailable

FIRST_REST: Final = 2.0
LONGEST_REST: Final = 30.0
# A server may say when to come back; a header that says next year must not silence recall by meaning for good.
LONGEST_RETRY_AFTER: Final = 60.0


class Breaker:
    """Open after a failure, for two seconds first and then for twice as long each time, less up to a half by chance, so
    that many processes do not come back together. When the rest is over one request tries, while all others still
    fail at once. `clock` counts seconds.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic, chance: Callable[[], float] = random) -> None:
        self._clock = clock
        self._chance = chance
        self._lock = threading.Lock()
        self._failures = 0
        self._open_until = float("-inf")
        self._trying = False
        self._last: ProviderUnavailable | None = None

    @property
    def last_error(self) -> ProviderUnavailable | None:
        return self._last

    def admit(self, seconds: float) -> float:
        """0 if a request that takes at most this long may go out now, else in how many seconds to ask again."""
        with self._lock:
            now = self._clock()
            if now < self._open_until:
                return self._open_until - now
            if self._failures:
                self._trying = True
                self._open_until = now + seconds
            return 0.0

    def succeed(self) -> None:
        with self._lock:
            self._failures = 0
            self._open_until = float("-inf")
            self._trying = False
            self._last = None

    def fail(self, error: ProviderUnavailable, retry_after: float | None = None) -> None:
        with self._lock:
            now = self._clock()
            self._last = error
            if now >= self._open_until or self._trying:
                rest = min(FIRST_REST * 2.0 ** min(self._failures, 10), LONGEST_REST) * (1 - self._chance() / 2)
                self._open_until = now + rest
                self._failures += 1
                self._trying = False
            # Else it was under way already when another one failed: several at once are one failure.
            if retry_after is not None:
                self._open_until = max(self._open_until, now + min(retry_after, LONGEST_RETRY_AFTER))
