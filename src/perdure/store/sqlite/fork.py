"""A forked child must not inherit an open database.

SQLite keeps one list of locks per process and file. A child inherits the list but none of the operating system's locks
behind it, so even a *new* connection of the child would believe that it holds locks, and the parent could take the
write-ahead log away under it. Therefore a store that nobody is using closes its connections before a fork, and both
sides open new ones on demand. A store that is in use at that moment cannot be closed: the child refuses the store and
its file, and neither uses nor closes the connections it inherited.
"""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol

from perdure.errors import StoreClosed
from perdure.store.sqlite.file import FileIdentity


class Forkable(Protocol):
    def before_fork(self) -> None: ...
    def after_fork_in_child(self) -> None: ...
    def holds(self, identity: FileIdentity) -> bool: ...


_open: Final[weakref.WeakSet[Forkable]] = weakref.WeakSet()

# Files that this process, a child, must not open, because it inherited connections to them.
inherited: Final[set[FileIdentity]] = set()


def forked() -> StoreClosed:
    return StoreClosed(
        "The store was in use when this process was forked, so this process cannot use it.",
        remedy="Open the store in a new process, or fork while no other thread and no transaction uses the store.",
    )


def watch(connections: Forkable) -> None:
    _open.add(connections)


def is_open(identity: FileIdentity) -> bool:
    """Whether this process has connections to the file: then no other code of it may open the file."""
    return any(connections.holds(identity) for connections in list(_open))


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=lambda: [connections.before_fork() for connections in list(_open)],
        after_in_child=lambda: [connections.after_fork_in_child() for connections in list(_open)],
    )
