"""A namespace at one position of its log, as recall sees it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final, TypeAlias

import numpy as np

from perdure.clock import to_micros
from perdure.recall.lexical import Lexical
from perdure.recall.scope import Scope
from perdure.recall.surroundings import Surroundings
from perdure.recall.vectors import Vectors
from perdure.store.port import Position

if TYPE_CHECKING:
    from numpy.typing import NDArray

Choice: TypeAlias = "NDArray[np.bool_]"

_CHOICES_KEPT: Final = 16


@dataclass(frozen=True, slots=True)
class Snapshot:
    """It never changes, so any number of threads can read it. A row is one version of a memory; `alive` are the newest
    versions of memories that are still there. `timed`: some rows are valid only for a time. `surroundings` is None when
    nobody speaks here.
    """

    position: Position
    numbers: NDArray[np.int64]
    visible: NDArray[np.bool_]
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    alive: NDArray[np.bool_]
    timed: bool
    lexical: Lexical
    vectors: Vectors
    surroundings: Surroundings | None = None
    _choices: dict[Scope, Choice] = field(default_factory=dict[Scope, Choice])

    def within(self, scope: Scope, now: datetime) -> Choice | None:
        """The rows that the ordinary rules allow; None when they allow every one."""
        allowed = self.alive & self.visible if scope.visible else self.alive
        if scope.valid and self.timed:
            moment = to_micros(now)
            allowed = allowed & (self.valid_from <= moment) & (self.valid_until > moment)
        return None if allowed.all() else allowed

    def holding(self, numbers: Sequence[int]) -> Choice:
        """The rows of these numbers."""
        wanted = np.array(numbers, np.int64)
        known = np.zeros(int(self.numbers.max(initial=0)) + 1, np.bool_)
        known[wanted[wanted < len(known)]] = True
        return known[self.numbers]

    def chosen(self, scope: Scope) -> Choice | None:
        """What was chosen the last time, on this very snapshot."""
        return self._choices.get(scope)

    def choose(self, scope: Scope, rows: Choice) -> None:
        if len(self._choices) >= _CHOICES_KEPT:
            self._choices.clear()
        self._choices[scope] = rows

    def without(self, numbers: Sequence[int]) -> Snapshot:
        """The same, as if these had never been there; it shares everything that is large."""
        gone = self.holding(numbers) & self.alive
        if not gone.any():
            return self
        alive, lexical, present = self.alive & ~gone, self.lexical, self.vectors.present & ~gone
        return replace(
            self,
            alive=alive,
            lexical=replace(
                lexical,
                alive=alive,
                documents=lexical.documents - int(np.count_nonzero(gone)),
                words=lexical.words - int(lexical.lengths[gone].sum()),
            ),
            vectors=replace(self.vectors, present=present, count=int(np.count_nonzero(present))),
            surroundings=self.surroundings and replace(self.surroundings, alive=alive),
            _choices={},
        )
