"""An array that grows at its end, under views that stay as they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

import numpy as np

from perdure.recall.array_file import release

if TYPE_CHECKING:
    from numpy.typing import NDArray

_Scalar = TypeVar("_Scalar", bound=np.generic)


class AppendOnlyArray(Generic[_Scalar]):
    """Pieces are copied into place when the array is first looked at, so that filling it piece by piece copies once.

    A view that was taken earlier never changes: the array is only added to, and `replace` writes into a copy.
    """

    def __init__(self, dtype: type[_Scalar], width: int | None = None) -> None:
        self._buffer: NDArray[_Scalar] = np.empty((0,) if width is None else (0, width), dtype)
        self._consolidated = 0
        self._pieces: list[NDArray[Any]] = []
        self._length = 0
        self._mapped = 0

    def over(self, buffer: NDArray[Any], length: int) -> Self:
        """Begin with what is in a file already, with room behind it."""
        self._buffer = buffer
        self._consolidated = self._length = self._mapped = length
        return self

    def __len__(self) -> int:
        return self._length

    @property
    def view(self) -> NDArray[_Scalar]:
        if self._pieces:
            self._consolidate()
        return self._buffer[: self._length]

    @property
    def nbytes(self) -> int:
        """Without what is in a file, which the system may drop from memory whenever it wants."""
        return (self._length - self._mapped) * self._buffer.strides[0]

    def extend(self, values: NDArray[Any]) -> None:
        self._pieces.append(values)
        self._length += len(values)

    @property
    def mapped(self) -> int:
        """How many of the values are in a file."""
        return self._mapped

    def release(self) -> None:
        """Let go of the pages of the file, to which nothing may have been written."""
        if self._mapped:
            release(self._buffer, self._mapped)

    def replace(self, positions: NDArray[np.intp], values: NDArray[Any] | np.bool_) -> None:
        """Change these values in a copy of the array."""
        self._buffer, self._mapped = self.view.copy(), 0
        self._buffer[positions] = values

    def fill(self, positions: NDArray[np.intp], values: NDArray[Any]) -> None:
        """Write in place, into rows that every reader so far knows to be empty."""
        self.view[positions] = values

    def _consolidate(self) -> None:
        if self._length > len(self._buffer):
            # Unused room at the end takes no memory.
            buffer = np.empty((self._length + self._length // 2, *self._buffer.shape[1:]), self._buffer.dtype)
            buffer[: self._consolidated] = self._buffer[: self._consolidated]
            self._buffer, self._mapped = buffer, 0
        # From the end, so that each piece can be let go as soon as it is copied.
        end = self._length
        while self._pieces:
            piece = self._pieces.pop()
            self._buffer[end - len(piece) : end] = piece
            end -= len(piece)
        self._consolidated = self._length
