"""How many requests one token may make: so many a second, and some more at once."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from time import monotonic
from typing import Final

# How many callers are remembered; whoever was longest away is forgotten first, and begins anew.
_MOST: Final = 10_000


class RateLimit:
    """Every caller has a bucket of `burst` requests, which fills up by `rate` requests a second. A rate of 0 means that
    there is no limit.
    """

    def __init__(self, rate: float, burst: int, clock: Callable[[], float] = monotonic) -> None:
        self._rate = rate
        self._burst = burst
        self._clock = clock
        # By caller: how many requests are left, and when that was so.
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def wait(self, caller: str) -> float:
        """Count one request: 0 when it may be made now, else in how many seconds it may."""
        if not self._rate:
            return 0
        now = self._clock()
        left, since = self._left.pop(caller, (float(self._burst), now))
        left = min(self._burst, left + (now - since) * self._rate)
        allowed = left >= 1
        self._left[caller] = (left - 1 if allowed else left, now)
        if len(self._left) > _MOST:
            self._left.popitem(last=False)
        return 0 if allowed else (1 - left) / self._rate
