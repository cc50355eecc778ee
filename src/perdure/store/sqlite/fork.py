"""A forked child must not inherit an open database.

SQLite keeps one list of locks per process and file. In a child that list says "locked" while the operating system says
nothing, so even a *new* connection there would not lock, and the parent could take the log away under it. Therefore
all connections are closed before a fork and opened again, on demand, on both sides.
"""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol

from perdure.store.sqlite.file import Identity


class Forkable(Protocol):
    def before_fork(self) -> None: ...
    def after_fork(self, *, child: bool) -> None: ...
    def holds(self, identity: Identity) -> bool: ...


FORKED: Final = "This process was forked in the middle of a transaction, so it cannot use its parent's store."

_open: Final[weakref.WeakSet[Forkable]] = weakref.WeakSet()
_quiet: Final[list[Forkable]] = []

# Files whose connections could not be closed in time: this process, the child, must not open them.
inherited: Final[set[Identity]] = set()


def watch(connections: Forkable) -> None:
    _open.add(connections)


def is_open(identity: Identity) -> bool:
    """Whether this process has connections to the file: then nobody else in it may open the file."""
    return any(connections.holds(identity) for connections in list(_open))


def _before() -> None:
    _quiet[:] = list(_open)
    for connections in _quiet:
        connections.before_fork()


def _after(*, child: bool) -> None:
    for connections in _quiet:
        connections.after_fork(child=child)
    _quiet.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before,
        after_in_parent=lambda: _after(child=False),
        after_in_child=lambda: _after(child=True),
    )
