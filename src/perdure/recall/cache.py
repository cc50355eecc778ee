"""The indexes of the namespaces in use, within a bound on memory."""

from __future__ import annotations

import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from perdure.recall.index import NamespaceIndex
from perdure.recall.snapshot import Snapshot

if TYPE_CHECKING:
    from perdure.embed.port import Generation
    from perdure.store.port import Store


class Indexes:
    """The least recently used go first. The one just used always stays, however large it is."""

    def __init__(self, store: Store, memory_bytes: int) -> None:
        self._store = store
        self._memory_bytes = memory_bytes
        self._lock = threading.Lock()
        self._held: OrderedDict[str, NamespaceIndex] = OrderedDict()

    def __contains__(self, namespace: str) -> bool:
        return namespace in self._held

    def snapshot(self, namespace: str, generation: Generation | None) -> Snapshot:
        """The namespace as it is now. Without a generation only its words matter, and any index has them."""
        with self._lock:
            index = self._held.get(namespace)
            if index is None or (generation is not None and index.generation != generation):
                index = self._held[namespace] = NamespaceIndex(namespace, generation)
            self._held.move_to_end(namespace)
        before = index.snapshot
        snapshot = index.current(self._store)
        if snapshot is not before:
            self._trim()
        return snapshot

    def _trim(self) -> None:
        with self._lock:
            size = sum(index.nbytes for index in self._held.values())
            while size > self._memory_bytes and len(self._held) > 1:
                _, index = self._held.popitem(last=False)
                size -= index.nbytes
