"""The memory of a server that never refuses to start: it is opened when it is needed, and again after a failure."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from perdure.memory import Memory


class LazyMemory:
    """One memory for all threads. A store that cannot be opened fails the call that needs it, and is tried again by the
    next one: whoever mends it does not have to start the host again.
    """

    def __init__(
        self, store: str | None, namespace: str | None, session: str | None, project: Path | None = None
    ) -> None:
        """`project` is the directory of the host's project: its settings count, and only its files are read."""
        self.project: Final = project
        self._store = store
        self._namespace = namespace
        self._session = session
        self._lock = threading.Lock()
        self._memory: Memory | None = None
        self.tasks: dict[str, str] = {}

    def open(self) -> Memory:
        with self._lock:
            if self._memory is None:
                from perdure.memory import Memory
                from perdure.settings import load

                self._memory = Memory(
                    self._store, settings=load(project=self.project), namespace=self._namespace,
                    session=self._session, surface="mcp", writer="model",
                )  # fmt: skip
            return self._memory

    def discard(self, memory: Memory) -> None:
        """Open another one next time: the file of this one is no longer the store."""
        with self._lock:
            if self._memory is memory:
                self._memory = None
        memory.close()

    def close(self) -> None:
        with self._lock:
            memory, self._memory = self._memory, None
        if memory is not None:
            memory.close()
