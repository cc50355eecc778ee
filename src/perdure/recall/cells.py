"""The rows of a large file in cells: each holds those that are nearest to its mean. What is near to a question is
mostly in the cells whose means are near to it, so that a search looks at these alone.

Whoever writes a file arranges its rows. Rows that came later are in no cell, and every search looks at them.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isqrt
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from perdure.values import value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Of fewer rows, looking at the signs of all is quick enough.
LEAST_ROWS: Final = 1 << 19
# The means are found by so many rows for each, in so many rounds.
_SAMPLED: Final = 40
_ROUNDS: Final = 8
# There are as many cells as each has rows, and new ones when there are twice as many rows as when they were made.
_GROWN: Final = 2
_AT_ONCE: Final = 8192


@value_class
class Cells:
    """The rows of cell `n` are `rows[starts[n]:starts[n + 1]]`, ascending."""

    means: NDArray[np.float32]
    starts: NDArray[np.intp]
    rows: NDArray[np.uint32]

    @classmethod
    def over(cls, arrays: Mapping[str, NDArray[Any]]) -> Cells:
        return cls(arrays["cells.means"], arrays["cells.starts"], arrays["cells.rows"])

    def arrays(self) -> dict[str, NDArray[Any]]:
        return {"cells.means": self.means, "cells.starts": self.starts, "cells.rows": self.rows}

    @property
    def sizes(self) -> NDArray[np.intp]:
        return np.diff(self.starts)

    def order(self, query: NDArray[np.float32]) -> NDArray[np.intp]:
        """All cells, the nearest first."""
        return np.argsort(-np.vecdot(self.means, query), kind="stable")

    def spans(self, cells: NDArray[np.intp]) -> list[slice]:
        """Where the rows of these are."""
        return list(map(slice, self.starts[cells].tolist(), self.starts[cells + 1].tolist()))

    def places(self) -> NDArray[np.intp]:
        """Where each row is."""
        places = np.empty(len(self.rows), np.intp)
        places[self.rows] = np.arange(len(self.rows))
        return places


@value_class
class Arrangement:
    """Which cell each row belongs to, from the first on, and the means of all cells."""

    means: NDArray[np.float32]
    cell: NDArray[np.int32]

    @classmethod
    def of(cls, matrix: NDArray[np.float32], known: Cells | None) -> Arrangement:
        """Of all rows of a matrix. Cells that are known are kept until there are too few of them."""
        if known is None or _GROWN * len(known.means) ** 2 <= len(matrix):
            means = _means(matrix)
            return cls(means, _nearest(matrix, means))
        cell = np.empty(len(known.rows), np.int32)
        cell[known.rows] = np.repeat(np.arange(len(known.means), dtype=np.int32), np.diff(known.starts))
        return cls(known.means, cell).grown(matrix)

    def grown(self, matrix: NDArray[np.float32]) -> Arrangement:
        """With the rows that came since."""
        later = _nearest(matrix[len(self.cell) :], self.means)
        return Arrangement(self.means, np.concatenate([self.cell, later]))

    def cells(self, rows: NDArray[np.intp]) -> Cells:
        """Of these rows, as if there were no others."""
        cell = self.cell[rows]
        order = np.argsort(cell, kind="stable")
        starts = np.searchsorted(cell[order], np.arange(len(self.means) + 1))
        return Cells(self.means, starts, order.astype(np.uint32))


def _means(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """Of cells for all rows, found by a sample of them: the mean of those that are nearest to it, again and again."""
    number = isqrt(len(matrix))
    sample = matrix[:: max(1, len(matrix) // (number * _SAMPLED))].copy()
    means = sample[:: max(1, len(sample) // number)][:number].copy()
    for _ in range(_ROUNDS):
        cell = _nearest(sample, means)
        order = np.argsort(cell, kind="stable")
        held, starts = np.unique(cell[order], return_index=True)
        means[held] = np.add.reduceat(sample[order], starts, axis=0)
        means /= np.maximum(np.linalg.norm(means, axis=1, keepdims=True), np.float32(1e-9))
    return means


def _nearest(matrix: NDArray[np.float32], means: NDArray[np.float32]) -> NDArray[np.int32]:
    """Which mean each row is nearest to."""
    nearest = np.empty(len(matrix), np.int32)
    for start in range(0, len(matrix), _AT_ONCE):
        block = matrix[start : start + _AT_ONCE]
        nearest[start : start + len(block)] = (block @ means.T).argmax(axis=1)
    return nearest
