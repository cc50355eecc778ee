"""Indexes of the past: what is still as it was comes from the index of today, the rest from a small one beside it."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from perdure.embed.port import Generation
from perdure.recall.index import NamespaceIndex
from perdure.recall.past import Past, When, look_back
from perdure.recall.snapshot import Snapshot
from perdure.store.port import Position, Store

_VIEWS_KEPT: Final = 4


class _Key(NamedTuple):
    namespace: str
    generation: Generation | None
    position: Position
    seq: int
    as_of: datetime | None
    known_then: bool


@dataclass(frozen=True, slots=True)
class View:
    past: Past
    same: Snapshot
    other: Snapshot


class Views:
    """The past does not change, but what is still as it was does: a view serves until the next write."""

    def __init__(self, store: Store, present: Callable[[str, Generation | None], Snapshot]) -> None:
        self._store = store
        self._present = present
        self._lock = threading.Lock()
        self._held: OrderedDict[_Key, View] = OrderedDict()

    def view(self, namespace: str, generation: Generation | None, when: When) -> View:
        present = self._present(namespace, generation)
        seq = present.position.seq
        if when.known_at is not None:
            seq = min(seq, self._store.seq_at(namespace, when.known_at))
        key = _Key(namespace, generation, present.position, seq, when.as_of, when.known_at is not None)
        with self._lock:
            view = self._held.get(key)
        if view is None:
            view = self._make(namespace, generation, when, seq, present)
        self._hold(key, view)
        return view

    def drop(self, namespace: str) -> None:
        with self._lock:
            for key in [one for one in self._held if one.namespace == namespace]:
                del self._held[key]

    def _hold(self, key: _Key, view: View) -> None:
        with self._lock:
            for other in [one for one in self._held if one[:2] == key[:2] and one.position != key.position]:
                del self._held[other]
            self._held[key] = view
            self._held.move_to_end(key)
            while len(self._held) > _VIEWS_KEPT:
                self._held.popitem(last=False)

    def _make(self, namespace: str, generation: Generation | None, when: When, seq: int, present: Snapshot) -> View:
        past = look_back(self._store, namespace, when, seq)
        rows = past.rows(self._store, namespace, generation)
        other = NamespaceIndex(namespace, generation).filled(rows)
        return View(past, present.without(list(past.changed)), other)
