"""Who said what in which conversation, as columns that grow with the rows of an index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from perdure.recall.growing import Growing
from perdure.recall.names import Speakers
from perdure.recall.surroundings import NOBODY, Surroundings

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.store.port import TurnInfo


class Telling:
    """Takes rows at the end. Costs nothing as long as none of them was said by anybody."""

    def __init__(self) -> None:
        self._group = Growing(np.int32)
        self._speaker = Growing(np.int32)
        self._asking = Growing(np.float32)
        self._groups: dict[tuple[str, str | None], int] = {}
        self._speakers = Speakers()
        self._silent = 0

    @property
    def nbytes(self) -> int:
        return self._group.nbytes + self._speaker.nbytes + self._asking.nbytes

    @property
    def _spoken(self) -> bool:
        return bool(len(self._group))

    def extend(self, told: Sequence[TurnInfo | None]) -> None:
        if not self._spoken:
            if not any(told):
                self._silent += len(told)
                return
            self._append([None] * self._silent)
        self._append(told)

    def _append(self, told: Sequence[TurnInfo | None]) -> None:
        for column, values in zip((self._group, self._speaker, self._asking), self._coded(told), strict=True):
            column.extend(values)

    def same(self, rows: NDArray[np.intp], told: Sequence[TurnInfo | None]) -> NDArray[np.bool_]:
        """Whether each of these rows says so already."""
        if not self._spoken:
            return np.array([one is None for one in told], np.bool_)
        group, speaker, asking = self._coded(told)
        return (
            (self._group.view[rows] == group)
            & (self._speaker.view[rows] == speaker)
            & (self._asking.view[rows] == asking)
        )

    def _coded(
        self, told: Sequence[TurnInfo | None]
    ) -> tuple[NDArray[np.int32], NDArray[np.int32], NDArray[np.float32]]:
        group = np.full(len(told), NOBODY, np.int32)
        speaker = np.full(len(told), NOBODY, np.int32)
        asking = np.zeros(len(told), np.float32)
        for row, one in enumerate(told):
            if one is None:
                continue
            if one.conversation is not None:
                group[row] = self._groups.setdefault((one.conversation, one.session), len(self._groups))
                asking[row] = one.asking
            if one.speaker:
                speaker[row] = self._speakers.code(one.speaker)
        return group, speaker, asking

    def view(self, numbers: NDArray[np.int64], alive: NDArray[np.bool_]) -> Surroundings | None:
        if not self._spoken:
            return None
        columns = (self._group.view, self._speaker.view, self._asking.view)
        return Surroundings(numbers, alive, *columns, self._speakers)
