"""An array that grows at its end."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


class Growing(Generic[_Scalar]):
    """What is added is put in place when it is first looked at, so that filling it piece by piece copies once.

    Views taken earlier stay as they are: the array is only added to, or `changed`, which writes into a copy.
    """

    def __init__(self, dtype: type[_Scalar], width: int | None = None) -> None:
        self._room: NDArray[_Scalar] = np.empty((0,) if width is None else (0, width), dtype)
        self._settled = 0
        self._waiting: list[NDArray[Any]] = []
        self._length = 0

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> NDArray[_Scalar]:
        if self._waiting:
            self._settle()
        return self._room[: self._length]

    @property
    def nbytes(self) -> int:
        return self._length * self._room.strides[0]

    def extend(self, values: NDArray[Any]) -> None:
        self._waiting.append(values)
        self._length += len(values)

    def changed(self, positions: NDArray[np.intp], *, value: bool) -> None:
        self._room = self.view.copy()
        self._room[positions] = value

    def fill(self, positions: NDArray[np.intp], values: NDArray[Any]) -> None:
        """Write where no view looks: rows that every reader so far knows to be empty."""
        self.view[positions] = values

    def _settle(self) -> None:
        if self._length > len(self._room):
            # Room that is not yet used takes no memory.
            room = np.empty((self._length + self._length // 2, *self._room.shape[1:]), self._room.dtype)
            room[: self._settled] = self._room[: self._settled]
            self._room = room
        # From the end, so that each piece can be let go as soon as it is copied.
        end = self._length
        while self._waiting:
            piece = self._waiting.pop()
            self._room[end - len(piece) : end] = piece
            end -= len(piece)
        self._settled = self._length
