"""What a forked child must have of its own: a lock that a thread of the parent held stays held in the child for ever,
and connections are the parent's, which goes on using them. Stores look after themselves.
"""

from __future__ import annotations

import os
from typing import Final, Protocol
from weakref import WeakSet


class _Renewable(Protocol):
    def renew(self) -> None:
        """Called in the child, before anything else runs there."""
        ...


_alive: Final[WeakSet[_Renewable]] = WeakSet()


def renew_after_fork(shared: _Renewable) -> None:
    _alive.add(shared)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: [each.renew() for each in list(_alive)])
