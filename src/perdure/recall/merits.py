"""What prominence looks at, of every memory of a namespace: a cache of the store, refreshed by position in its log."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

import numpy as np

from perdure.clock import to_micros
from perdure.model import INDEXED_STATES, Record
from perdure.recall.prominence import Columns
from perdure.store.port import Merit, Position, Store

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.recall.past import Past

# By the number of a memory.
Recalls: TypeAlias = "Callable[[], NDArray[np.int64]]"

_Scalar = TypeVar("_Scalar", np.int64, np.float64)

_PAGE: Final = 4096
_FEW: Final = 1000
_KEPT: Final = 16
_DAY_MICROS: Final = 86_400_000_000


@dataclass(frozen=True, slots=True)
class Merits:
    """By the number of a memory. `observations` is 0 where there is none that may be found; `category` counts in
    `categories`, where the first is none at all.
    """

    position: Position
    observations: NDArray[np.int64]
    confidence: NDArray[np.float64]
    updated_at: NDArray[np.int64]
    category: NDArray[np.int64]
    categories: tuple[str | None, ...] = (None,)

    @property
    def most_observed(self) -> int:
        return int(self.observations.max(initial=0))

    def columns(self, numbers: NDArray[np.int64], recalls: NDArray[np.int64], now: datetime) -> Columns:
        days = (to_micros(now) - self.updated_at[numbers]) / _DAY_MICROS
        return Columns(self.observations[numbers], self.confidence[numbers], days, recalls[numbers])

    def kinds(self, numbers: NDArray[np.int64], categories: Sequence[str]) -> NDArray[np.intp]:
        """Which of these categories each has, -1 for any other."""
        known = {name: kind for kind, name in enumerate(categories)}
        kinds = [-1 if name is None else known.get(name, -1) for name in self.categories]
        return np.array(kinds, np.intp)[self.category[numbers]]

    def reaching(self, number: int) -> Merits:
        """The same, with room for this number."""
        missing = number + 1 - len(self.observations)
        if missing <= 0:
            return self
        return replace(
            self,
            observations=_grown(self.observations, missing),
            confidence=_grown(self.confidence, missing),
            updated_at=_grown(self.updated_at, missing),
            category=_grown(self.category, missing),
        )

    def changed(self, position: Position, numbers: Sequence[int], merits: Sequence[Merit]) -> Merits:
        """These numbers are as these merits say, or gone."""
        top = max((*numbers, *(merit.number for merit in merits)), default=0)
        new = replace(
            self,
            position=position,
            observations=self.observations.copy(),
            confidence=self.confidence.copy(),
            updated_at=self.updated_at.copy(),
            category=self.category.copy(),
        ).reaching(top)
        new.observations[np.array(numbers, np.intp)] = 0
        if not merits:
            return new
        found, categories, observed, confidence, updated = zip(*merits, strict=True)
        codes = {name: code for code, name in enumerate(self.categories)}
        for name in categories:
            codes.setdefault(name, len(codes))
        rows = np.array(found, np.intp)
        new.observations[rows] = observed
        new.confidence[rows] = confidence
        new.updated_at[rows] = updated
        new.category[rows] = [codes[name] for name in categories]
        return replace(new, categories=tuple(codes))

    def then(self, past: Past) -> Merits:
        """As they were at an earlier time."""
        return self.changed(self.position, list(past.changed), [_merit(one.record) for one in past.old.values()])


def _grown(column: NDArray[_Scalar], missing: int) -> NDArray[_Scalar]:
    return np.concatenate([column, np.zeros(missing, column.dtype)])


def _merit(record: Record) -> Merit:
    updated = to_micros(record.updated_at)
    return Merit(record.number, record.category, record.observation_count, record.confidence, updated)


def _nothing() -> Merits:
    zero = np.zeros(1, np.int64)
    return Merits(Position(), zero, np.zeros(1), zero, zero)


class MeritCache:
    """Safe to use from any thread."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._held: OrderedDict[str, Merits] = OrderedDict()

    def merits(self, namespace: str) -> Merits:
        with self._lock:
            held = self._held.get(namespace)
        position = self._store.position(namespace, None)
        if held is None or held.position != position:
            held = self._refreshed(namespace, held, position)
        with self._lock:
            self._held[namespace] = held
            self._held.move_to_end(namespace)
            while len(self._held) > _KEPT:
                self._held.popitem(last=False)
        return held

    def _refreshed(self, namespace: str, held: Merits | None, position: Position) -> Merits:
        if held is None or held.position.repairs != position.repairs:
            return self._loaded(namespace, position)
        if not 0 <= position.seq - held.position.seq <= max(_FEW, len(held.observations)):
            return self._loaded(namespace, position)
        numbers = self._store.changed_after(namespace, held.position.seq)
        records = (one for one in self._store.fetch(namespace, numbers) if one.state in INDEXED_STATES)
        return held.changed(position, numbers, [_merit(one) for one in records])

    def _loaded(self, namespace: str, position: Position) -> Merits:
        found: list[Merit] = []
        after = 0
        while page := self._store.merits(namespace, after, _PAGE):
            found += page
            after = page[-1].number
        return _nothing().changed(position, (), found)

    def worth(self, namespace: str, numbers: NDArray[np.int64], past: Past | None) -> tuple[Merits, Recalls]:
        """The merits of a namespace, with room for these numbers, and what tells how often each was recalled. The past
        has no recalls.
        """
        merits = self.merits(namespace)
        merits = (merits if past is None else merits.then(past)).reaching(int(numbers.max(initial=0)))
        return merits, partial(self._recalls, namespace if past is None else None, len(merits.observations))

    def _recalls(self, namespace: str | None, size: int) -> NDArray[np.int64]:
        """Counted outside the log, so asked for anew."""
        recalls = np.zeros(size, np.int64)
        if namespace is not None and (counts := self._store.recall_counts(namespace)):
            found = np.array(counts, np.int64)
            found = found[found[:, 0] < size]
            recalls[found[:, 0]] = found[:, 1]
        return recalls
