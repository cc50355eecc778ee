"""The nearest rows by cosine, in memory.

Few rows are compared exactly. Of many, one bit per dimension is looked at first: the sign, after the mean is taken
away; the rows that agree with the query in most of them are then compared exactly.

A memory that is too long for one vector has one for each of its windows. The first is in the matrix of the rows, as
that of every other memory is; the further ones are in a matrix of their own, which says to which row each belongs.
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from perdure.recall.append_array import AppendOnlyArray
from perdure.recall.top_k import top_k
from perdure.values import replace, value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Up to here comparing exactly is as fast.
EXACT_ROWS: Final = 4096
# How many rows are compared exactly after the first look. Of real vectors 0.998 of the ten nearest were found so.
_LEAST_RESCORED: Final = 400
_RESCORED_SHARE: Final = 1000
_RESCORED_PER_WANTED: Final = 4
# When the first tenth of what is wanted is not among the first quarter of these, four times as many are compared: one
# query in five on real vectors, more where a model's signs say less.
_SURE_SHARE: Final = 10
_CERTAIN_SHARE: Final = 4
_MORE: Final = 4
_ENCODED_AT_ONCE: Final = 8192
# The best window of a long memory counts. Several windows are several chances to be near, so they cost a little: this
# times the logarithm of their number, up to some: what stands in the last paragraph of a book has to be found.
# docs/design.md says what is known of it.
_COST_OF_CHANCES: Final = np.float32(0.02)
_MOST_CHANCES: Final = 8
# From how many rows it is told how near a row is by chance.
_SAMPLE: Final = 256
# From how many rows it is told how near two rows are by chance.
_PAIRED: Final = 32


class Near(NamedTuple):
    rows: NDArray[np.intp]
    cosines: NDArray[np.float32]

    def best(self, count: int) -> Near:
        """The nearest of these, more when there are ties."""
        # From -1..1 to 1..3, because `top_k` takes zero for absent.
        best = top_k(self.cosines + np.float32(2), count)
        return Near(self.rows[best], self.cosines[best])

    def agree_well(self, agreed: NDArray[np.uint16], count: int) -> bool:
        """Whether the nearest agree well: as long as one is found late in the order of agreement, more may follow."""
        agreement = agreed[self.rows]
        worst = agreement[np.argpartition(self.cosines, -count)[-count:]].min()
        return int(np.count_nonzero(agreement > worst)) * _CERTAIN_SHARE <= len(self.rows)


@value_class
class Signs:
    """One bit per dimension, in columns of 64 dimensions each: a search reads every column from end to end."""

    mean: NDArray[np.float32]
    columns: tuple[NDArray[np.uint64], ...]

    def agreement(self, query: NDArray[np.float32]) -> NDArray[np.uint16]:
        """In how many dimensions each row has the sign of the query."""
        opposite = ~_pack(query[np.newaxis] - self.mean)[0]
        size = len(self.columns[0])
        agreed = np.zeros(size, np.uint16)
        different, counted = np.empty(size, np.uint64), np.empty(size, np.uint8)
        for column, word in zip(self.columns, opposite, strict=True):
            np.bitwise_xor(column, word, out=different)
            np.bitwise_count(different, out=counted)
            np.add(agreed, counted, out=agreed)
        return agreed


def values_at(values: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """A copy of the values at these rows, which ascend and do not repeat: all of them, or some looked up one by one."""
    return values.copy() if len(rows) == len(values) else values.take(rows)


def of_best_window(best: NDArray[np.float32], windows: NDArray[np.intp] | int) -> NDArray[np.float32]:
    """The cosines of memories with so many windows each, from those of their best windows."""
    return best - _COST_OF_CHANCES * np.log(np.minimum(windows, _MOST_CHANCES), dtype=np.float32)


@value_class
class WindowVectors:
    """The further windows of long memories: their vectors, the row of the memory that each belongs to, and the same
    the other way: `rows`, ascending, have `counts` windows each, from `starts` on.
    """

    vectors: Vectors
    owner: NDArray[np.intp]
    rows: NDArray[np.intp]
    starts: NDArray[np.intp]
    counts: NDArray[np.intp]

    def of(self, rows: NDArray[np.intp]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Which of these rows have further windows, as places in `rows`, and which they are, as places here."""
        at = np.searchsorted(self.rows, rows)
        at[at == len(self.rows)] = 0
        places = np.flatnonzero(self.rows[at] == rows)
        return places, at[places]

    def cosines(self, query: NDArray[np.float32], at: NDArray[np.intp]) -> NDArray[np.float32]:
        """Those of all windows of some rows, one row behind the other."""
        counts = self.counts[at]
        first = np.repeat(self.starts[at] - counts.cumsum() + counts, counts)
        windows: NDArray[np.intp] = first + np.arange(len(first))
        matrix = self.vectors.matrix
        if 2 * len(windows) > len(matrix):
            return np.vecdot(matrix, query).take(windows)
        return np.vecdot(matrix.take(windows, axis=0), query)

    def raise_cosines(
        self, cosines: NDArray[np.float32], query: NDArray[np.float32], rows: NDArray[np.intp]
    ) -> NDArray[np.float32]:
        """The cosines of the first windows of rows become those of their best windows."""
        places, at = self.of(rows)
        if len(places):
            counts = self.counts[at]
            best = np.maximum.reduceat(self.cosines(query, at), counts.cumsum() - counts)
            cosines[places] = of_best_window(np.maximum(cosines[places], best), counts + 1)
        return cosines

    def nearest_rows(self, query: NDArray[np.float32], possible: NDArray[np.bool_], count: int) -> NDArray[np.intp]:
        """The rows of the nearest windows: at least `count`, if there are as many."""
        allowed = possible[self.owner]
        wanted, number = count, int(np.count_nonzero(allowed))
        while True:
            near = self.vectors.nearest(query, allowed, wanted)
            rows = np.unique(self.owner[near.rows])
            if len(rows) >= count or len(near.rows) >= number:
                return rows
            # Several windows of the same memories are among them.
            wanted = max(2 * wanted, len(near.rows) + count)


@value_class(slots=False)
class Vectors:
    """What a search sees. `present` is false for rows without a vector and for rows that are gone. With `question`, the
    matrix has one column: the cosines with that one, the only one that is asked. `windows` is None where no memory is
    so long that it has several vectors.
    """

    matrix: NDArray[np.float32]
    present: NDArray[np.bool_]
    count: int
    signs: Signs | None
    question: NDArray[np.float32] | None = None
    windows: WindowVectors | None = None

    @cached_property
    def _of_first_windows(self) -> Vectors:
        return replace(self, windows=None)

    def cosines(self, query: NDArray[np.float32], rows: NDArray[np.intp]) -> NDArray[np.float32]:
        """Of each row that of its best window."""
        if self.windows is not None:
            return self.windows.raise_cosines(self._of_first_windows.cosines(query, rows), query, rows)
        # Row by row, not as one product: that may wake threads, and depends on where a row stands. Gathering most rows
        # of a matrix costs more than comparing all.
        if self.question is not None:
            return values_at(self.matrix[:, 0], rows)
        if 2 * len(rows) > len(self.matrix):
            return values_at(np.vecdot(self.matrix, query), rows)
        return np.vecdot(self.matrix.take(rows, axis=0), query)

    def best_window(self, query: NDArray[np.float32], row: int) -> tuple[int, int] | None:
        """Which window of a row is the nearest, counted from 0, and how many it has; None if it has only one."""
        rows = np.array([row])
        if self.windows is None or not len((found := self.windows.of(rows))[0]):
            return None
        first = self._of_first_windows.cosines(query, rows)
        every = np.concatenate([first, self.windows.cosines(query, found[1])])
        return int(every.argmax()), len(every)

    def nearest(self, query: NDArray[np.float32], allowed: NDArray[np.bool_] | None, count: int) -> Near:
        """The `count` nearest of the allowed rows, more when there are ties."""
        possible = self.present if allowed is None else allowed & self.present
        number = self.count if allowed is None else int(np.count_nonzero(possible))
        if self.windows is not None and (self.windows.vectors.signs or (self.signs and number > EXACT_ROWS)):
            near = self._of_first_windows.nearest(query, allowed, count)
            rows = np.union1d(near.rows, self.windows.nearest_rows(query, possible, count))
            return Near(rows, self.cosines(query, rows)).best(count)
        if self.signs is None or number <= EXACT_ROWS:
            rows = np.flatnonzero(possible)
            return Near(rows, self.cosines(query, rows)).best(count)
        count = min(count, number)
        agreed = self.signs.agreement(query)
        if number < len(possible):
            agreed *= possible
        looked_at = max(_LEAST_RESCORED + len(possible) // _RESCORED_SHARE, _RESCORED_PER_WANTED * count)
        while True:
            rows = top_k(agreed, looked_at)
            near = Near(rows, self.cosines(query, rows))
            if len(near.rows) >= number or near.agree_well(agreed, 1 + count // _SURE_SHARE):
                return near.best(count)
            looked_at *= _MORE

    def sample(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosines of rows taken at equal steps: how near a row is that has nothing to do with the query."""
        step = max(1, len(self.matrix) // _SAMPLE)
        rows = np.arange(0, len(self.matrix), step)
        return self.cosines(query, rows)[self.present[::step]]

    @cached_property
    def pairs(self) -> NDArray[np.float32]:
        """The cosines of rows taken at equal steps with each other."""
        step = max(1, len(self.matrix) // _PAIRED)
        sample = self.matrix[::step][self.present[::step]]
        first, second = np.triu_indices(len(sample), 1)
        return np.vecdot(sample[first], sample[second])


class VectorBuilder:
    """Takes rows at the end, with or without a vector, and hands out `Vectors` views that stay as they are."""

    def __init__(self, dimensions: int, *, exact: bool = False) -> None:
        """`exact`: without signs, which pay off for whoever asks more than once."""
        self.dimensions = dimensions
        self._exact = exact
        self._matrix = AppendOnlyArray(np.float32, dimensions)
        self._present = AppendOnlyArray(np.bool_)
        self._count = 0
        self._columns: list[AppendOnlyArray[np.uint64]] = []
        self._mean = np.zeros(dimensions, np.float32)
        self._encoded_count = 0
        # Of long memories: the vectors of their further windows, the row of each, and which ones each row has.
        self._windows: VectorBuilder | None = None
        self._owner = AppendOnlyArray(np.intp)
        self._spans: dict[int, tuple[int, int]] = {}

    @property
    def matrix(self) -> NDArray[np.float32]:
        return self._matrix.view

    @property
    def present(self) -> NDArray[np.bool_]:
        return self._present.view

    @property
    def nbytes(self) -> int:
        own = sum(part.nbytes for part in (self._matrix, self._present, self._owner, *self._columns))
        return own + (self._windows.nbytes if self._windows else 0)

    def extend(self, vectors: NDArray[np.float32], present: NDArray[np.bool_]) -> None:
        self._matrix.extend(vectors)
        self._present.extend(present)
        self._count += int(np.count_nonzero(present))
        if self._columns:
            self._append_signs(vectors)

    def add_windows(self, row: int, vectors: NDArray[np.float32]) -> None:
        """The further windows of a row, which had none."""
        if self._windows is None:
            self._windows = VectorBuilder(self.dimensions, exact=self._exact)
        self._spans[row] = (len(self._owner), len(vectors))
        self._owner.extend(np.full(len(vectors), row, np.intp))
        self._windows.extend(vectors, np.ones(len(vectors), np.bool_))

    @property
    def has_windows(self) -> bool:
        return self._windows is not None

    def windows_of(self, row: int) -> NDArray[np.float32]:
        """The vectors of the further windows of a row."""
        start, count = self._spans.get(row, (0, 0))
        return self._windows.matrix[start : start + count] if self._windows else self.matrix[:0]

    def fill(self, rows: NDArray[np.intp], vectors: NDArray[np.float32]) -> None:
        """Vectors for rows that had none."""
        self._matrix.fill(rows, vectors)
        self._present.replace(rows, np.True_)
        self._count += len(rows)
        if self._columns:
            for column, words in zip(self._columns, _pack(vectors - self._mean).T, strict=True):
                column.fill(rows, words)

    def remove(self, rows: NDArray[np.intp]) -> None:
        self._count -= int(np.count_nonzero(self.present[rows]))
        self._present.replace(rows, np.False_)
        if self._windows is not None:
            gone = np.flatnonzero(np.isin(self._owner.view, rows))
            if len(gone):
                self._windows.remove(gone)

    def view(self, question: NDArray[np.float32] | None = None) -> Vectors:
        if self._count > EXACT_ROWS and self._count > 2 * self._encoded_count and not self._exact:
            self._encode()
        columns = tuple(column.view for column in self._columns)
        signs = Signs(self._mean, columns) if columns else None
        return Vectors(self.matrix, self.present, self._count, signs, question, self._view_windows())

    def _view_windows(self) -> WindowVectors | None:
        if self._windows is None:
            return None
        rows = np.fromiter(self._spans, np.intp)
        starts, counts = np.array([*self._spans.values()], np.intp).T
        if (rows[1:] < rows[:-1]).any():
            order = rows.argsort()
            rows, starts, counts = rows[order], starts[order], counts[order]
        return WindowVectors(self._windows.view(), self._owner.view, rows, starts, counts)

    def _encode(self) -> None:
        """Signs for all rows, from a mean that suits them; again when there are twice as many."""
        step = 1 + len(self.matrix) // _ENCODED_AT_ONCE
        self._mean = self.matrix[::step].mean(axis=0)
        self._encoded_count = self._count
        self._columns = [AppendOnlyArray(np.uint64) for _ in range(-(-self.dimensions // 64))]
        for start in range(0, len(self.matrix), _ENCODED_AT_ONCE):
            self._append_signs(self.matrix[start : start + _ENCODED_AT_ONCE])

    def _append_signs(self, vectors: NDArray[np.float32]) -> None:
        for column, words in zip(self._columns, _pack(vectors - self._mean).T, strict=True):
            column.extend(words)


def _pack(centred: NDArray[np.float32]) -> NDArray[np.uint64]:
    """(rows, dimensions) to (rows, words of 64 signs); the last word is filled up with zeros."""
    packed = np.packbits(centred > 0, axis=1)
    missing = -packed.shape[1] % 8
    if missing:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    return np.ascontiguousarray(packed).view(np.uint64)
