"""How many requests one token may make: so many a second, and some more at once."""

from __future__ import annotations

import mmap
import os
import struct
from collections import OrderedDict
from collections.abc import Callable
from hashlib import blake2b
from pathlib import Path
from time import monotonic
from typing import Final

# How many callers are remembered; the one that was longest away is dropped first, and begins anew.
_MAX_CALLERS: Final = 10_000
# How many requests a caller may make in a second, unless `--rate` says otherwise.
RATE: Final = 100


# Of callers that several processes count together: how many there is room for, and where one may stand.
_PLACES: Final = 1 << 14
_PROBES: Final = 8
_BUCKET: Final = struct.Struct("<8sdd")


class RateLimit:
    """Every caller has a bucket of `burst` requests, which fills up by `rate` requests a second. A rate of 0 means that
    there is no limit.
    """

    def __init__(self, rate: float = 0, burst: int = 1, clock: Callable[[], float] = monotonic) -> None:
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
        left, wait = self._take(*self._left.pop(caller, (float(self._burst), now)), now)
        self._left[caller] = (left, now)
        if len(self._left) > _MAX_CALLERS:
            self._left.popitem(last=False)
        return wait

    def _take(self, left: float, since: float, now: float) -> tuple[float, float]:
        """How many are left after one more request, and how long it has to wait."""
        left = min(self._burst, left + (now - since) * self._rate)
        return (left - 1, 0) if left >= 1 else (left, (1 - left) / self._rate)


class SharedRateLimit(RateLimit):
    """The same buckets for several processes, in a file that all of them map. The clock is that of the machine."""

    def __init__(self, rate: float, burst: int, path: Path) -> None:
        super().__init__(rate, burst)
        self._descriptor = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)
        os.ftruncate(self._descriptor, _PLACES * _BUCKET.size)
        self._buckets = mmap.mmap(self._descriptor, 0)

    def wait(self, caller: str) -> float:
        from fcntl import LOCK_EX, LOCK_UN, lockf

        if not self._rate:
            return 0
        name = blake2b(caller.encode("utf-8", "surrogatepass"), digest_size=8).digest()
        first = int.from_bytes(name, "little")
        places = [(first + probe) % _PLACES * _BUCKET.size for probe in range(_PROBES)]
        # A lock of this kind is the process's own, and ends with it.
        lockf(self._descriptor, LOCK_EX)
        try:
            now = self._clock()
            found = [(place, *_BUCKET.unpack_from(self._buckets, place)) for place in places]
            own = next((each for each in found if each[1] == name), None)
            # The caller that has not asked for the longest time is forgotten.
            place, _, left, since = own or (min(found, key=lambda each: each[3])[0], name, float(self._burst), now)
            left, wait = self._take(left, since, now)
            _BUCKET.pack_into(self._buckets, place, name, left, now)
            return wait
        finally:
            lockf(self._descriptor, LOCK_UN)
