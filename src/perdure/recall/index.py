"""Everything recall has to know of one namespace, in memory: a cache of the store, refreshed by position in its log."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from perdure.embed.port import Generation
from perdure.recall.batch import ALWAYS, FOREVER, Batch
from perdure.recall.growing import Growing
from perdure.recall.lexical import LexicalBuilder
from perdure.recall.snapshot import Snapshot
from perdure.recall.telling import Telling
from perdure.recall.vectors import VectorBuilder
from perdure.store.port import IndexRow, Position, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PAGE: Final = 1024
# Rows that are gone stay until they are a quarter of all, then the index is filled anew.
_GONE_SHARE: Final = 4
_FEW: Final = 1000
# What an index takes that holds nothing.
_EMPTY_BYTES: Final = 1 << 14


class NamespaceIndex:
    """Rows are only ever added: a memory that changed gets a new row, and its old one counts as gone. So a snapshot
    taken earlier stays true while rows are added behind it.
    """

    def __init__(self, namespace: str, generation: Generation | None) -> None:
        self.namespace = namespace
        self.generation = generation
        self.snapshot: Snapshot | None = None
        self._lock = threading.Lock()
        self._empty()

    def _empty(self) -> None:
        self._position = Position()
        self._numbers = Growing(np.int64)
        self._visible = Growing(np.bool_)
        self._valid_from = Growing(np.int64)
        self._valid_until = Growing(np.int64)
        self._signatures = Growing(np.uint64)
        self._alive = Growing(np.bool_)
        self._telling = Telling()
        self._row_of = np.full(1, -1, np.intp)
        self._timed = False
        self._documents = 0
        self._words = 0
        self._lexical = LexicalBuilder()
        self._vectors = VectorBuilder(self.generation.dimensions if self.generation else 0)

    @property
    def nbytes(self) -> int:
        growing = (self._numbers, self._visible, self._valid_from, self._valid_until, self._signatures, self._alive)
        others = (self._telling, self._row_of, self._lexical, self._vectors)
        return _EMPTY_BYTES + sum(part.nbytes for part in (*growing, *others))

    def current(self, store: Store) -> Snapshot:
        """The namespace as it is now. Readers wait for each other only when it has changed."""
        position = store.position(self.namespace, self.generation)
        snapshot = self.snapshot
        if snapshot is None or snapshot.position != position:
            with self._lock:
                return self._update(store)
        if self._lexical.untidy and self._lock.acquire(blocking=False):
            try:
                return self._update(store)
            finally:
                self._lock.release()
        return snapshot

    def filled(self, rows: Sequence[IndexRow]) -> Snapshot:
        """These rows, for an index that is made once and read from no store."""
        if rows:
            self._append(self._decode(rows))
            if self._lexical.untidy:
                self._lexical.tidy(self._alive.view)
        return self._view()

    def _update(self, store: Store) -> Snapshot:
        if self.snapshot is None:
            self._load(store)
        else:
            self._refresh(store)
            # Not right after loading: a process that asks only once need not wait for the sorting.
            if self._lexical.untidy:
                self._lexical.tidy(self._alive.view)
        self.snapshot = self._view()
        return self.snapshot

    def _view(self) -> Snapshot:
        alive = self._alive.view
        return Snapshot(
            self._position,
            self._numbers.view,
            self._visible.view,
            self._valid_from.view,
            self._valid_until.view,
            alive,
            self._timed,
            self._lexical.view(alive, self._documents, self._words),
            self._vectors.view(),
            self._telling.view(self._numbers.view, alive),
        )

    def _load(self, store: Store) -> None:
        self._empty()
        # Read first: what is written while the pages are read comes again with the next refresh.
        position = store.position(self.namespace, self.generation)
        after = 0
        while rows := store.index_rows(self.namespace, self.generation, after, _PAGE):
            self._append(self._decode(rows))
            after = rows[-1].number
        self._position = position

    def _refresh(self, store: Store) -> None:
        position = store.position(self.namespace, self.generation)
        if position == self._position:
            return
        behind = position.seq - self._position.seq
        # Beside the log anything may have changed: numbers that were here need not even be in it any more.
        other = position.repairs != self._position.repairs
        if other or not self._documents or not 0 <= behind <= max(_FEW, len(self._numbers)) or self._mostly_gone:
            self._load(store)
            return
        changes = store.index_changes(self.namespace, self.generation, self._position)
        if changes.removed:
            self._remove(self._rows_of(np.array(changes.removed, np.int64)))
        if changes.rows:
            self._change(changes.rows)
        self._position = position

    @property
    def _mostly_gone(self) -> bool:
        gone = len(self._numbers) - self._documents
        return gone > max(_FEW, len(self._numbers) // _GONE_SHARE)

    def _decode(self, rows: Sequence[IndexRow]) -> Batch:
        return Batch.of(rows, self._vectors.dimensions)

    def _append(self, batch: Batch) -> None:
        first = len(self._numbers)
        self._numbers.extend(batch.numbers)
        self._visible.extend(batch.visible)
        self._valid_from.extend(batch.valid_from)
        self._valid_until.extend(batch.valid_until)
        self._signatures.extend(batch.signatures)
        self._alive.extend(np.ones(len(batch.numbers), np.bool_))
        self._telling.extend(batch.told)
        self._lexical.extend(batch.terms, batch.frequencies, batch.ends, batch.lengths)
        self._vectors.extend(batch.vectors, batch.present)
        self._documents += len(batch.numbers)
        self._words += int(batch.lengths.sum())
        self._timed = self._timed or bool((batch.valid_from != ALWAYS).any() or (batch.valid_until != FOREVER).any())
        self._point(batch.numbers, first)

    def _point(self, numbers: NDArray[np.int64], first: int) -> None:
        needed = int(numbers.max()) + 1
        if needed > len(self._row_of):
            grown = np.full(max(needed, 2 * len(self._row_of)), -1, np.intp)
            grown[: len(self._row_of)] = self._row_of
            self._row_of = grown
        self._row_of[numbers] = np.arange(first, first + len(numbers))

    def _rows_of(self, numbers: NDArray[np.int64]) -> NDArray[np.intp]:
        """Where each memory stands, or -1."""
        known = numbers < len(self._row_of)
        return np.where(known, self._row_of[numbers * known], -1)

    def _remove(self, rows: NDArray[np.intp]) -> None:
        rows = rows[rows >= 0]
        if len(rows):
            self._alive.changed(rows, value=False)
            self._vectors.remove(rows)
            self._row_of[self._numbers.view[rows]] = -1
            self._documents -= len(rows)
            self._words -= int(self._lexical.lengths[rows].sum())

    def _change(self, rows: Sequence[IndexRow]) -> None:
        """Often nothing that matters here is different, or only the vector has come."""
        batch = self._decode(rows)
        old = self._rows_of(batch.numbers)
        same = (
            (old >= 0)
            & (self._signatures.view[old] == batch.signatures)
            & (self._visible.view[old] == batch.visible)
            & (self._valid_from.view[old] == batch.valid_from)
            & (self._valid_until.view[old] == batch.valid_until)
            & self._telling.same(old, batch.told)
        )
        had = self._vectors.present[old]
        arrived = same & ~had & batch.present
        if arrived.any():
            self._vectors.fill(old[arrived], batch.vectors[arrived])
        kept = same & (had == batch.present) & (self._vectors.matrix[old] == batch.vectors).all(axis=1)
        new = np.flatnonzero(~(kept | arrived)).tolist()
        if new:
            self._remove(old[new])
            self._append(batch if len(new) == len(rows) else self._decode([rows[which] for which in new]))
