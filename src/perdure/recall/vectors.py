"""The nearest rows by cosine, in memory.

Few rows are compared exactly. Of many, one bit per dimension is looked at first: the sign, after the mean is taken
away; the rows that agree with the query in most of them are then compared by one byte per dimension, and the nearest
of these exactly. Of very many, in a file, only the signs of those are looked at that are in the nearest cells.

A memory that is too long for one vector has one for each of its windows. The first is in the matrix of the rows, as
that of every other memory is; the further ones are in a matrix of their own, which says to which row each belongs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from perdure.recall.append_array import AppendOnlyArray
from perdure.recall.array_file import SelectedRows
from perdure.recall.cells import LEAST_ROWS, Arrangement, Cells
from perdure.recall.top_k import top_k
from perdure.store.capabilities import Chances
from perdure.values import replace, value_class

if TYPE_CHECKING:
    from numpy.typing import NDArray

# Up to here comparing exactly is as fast.
EXACT_ROWS: Final = 4096
# How many rows are compared by bytes, or exactly, after the first look. Of real vectors 0.998 of the ten nearest were
# found so, and of a million made-up ones at least 0.995.
_LEAST_RESCORED: Final = 400
_RESCORED_SHARE: Final = 500
_RESCORED_PER_WANTED: Final = 4
# When the first tenth of what is wanted is not among the first quarter of these, four times as many are compared: one
# query in five on real vectors, more where a model's signs say less.
_SURE_SHARE: Final = 10
_CERTAIN_SHARE: Final = 4
_MORE: Final = 4
_ENCODED_AT_ONCE: Final = 8192
_COMPARED_AT_ONCE: Final = 1 << 15
_ROUNDED_AT_ONCE: Final = 512
# Among more rows than these, bytes are compared first: they lie nearer to each other. Of those so many are compared
# exactly at last.
_BY_BYTES: Final = 50_000
_EXACT_PER_WANTED: Final = 2
_LEAST_EXACT: Final = 50
_MOST_ROUNDED: Final = 127
# In a file with cells, so many rows are looked at first, as a share of all and for each that is wanted. When the first
# fifth of what is wanted is not all among the first third of these, twice as many are, and at last all. So .995 of the
# ten nearest were found of the kind of real vectors whose nearest are scattered most, and .999 and more of two others.
_CELLS_SHARE: Final = 4
_CELLS_PER_WANTED: Final = 64
_CERTAIN_CELLS: Final = 3
_SURE_IN_CELLS: Final = 5
# The best window of a long memory counts. Several windows are several chances to be near, so they cost a little: this
# times the logarithm of their number, up to some: what stands in the last paragraph of a book has to be found.
# docs/design.md says what is known of it.
CHANCES: Final = Chances(cost=0.02, most=8)
# From how many rows it is told how near a row is by chance.
SAMPLE: Final = 256
# From how many rows it is told how near two rows are by chance.
PAIRED: Final = 32


class Near(NamedTuple):
    rows: NDArray[np.intp]
    cosines: NDArray[np.float32]

    def best(self, count: int) -> Near:
        """The nearest of these, more when there are ties."""
        # From -1..1 to 1..3, because `top_k` takes zero for absent.
        best = top_k(self.cosines + np.float32(2), count)
        return Near(self.rows[best], self.cosines[best])

    def stand_early(self, count: int, seen: int) -> bool:
        """Whether the nearest are among the first of so many that were seen, in the order in which they are likely."""
        if len(self.rows) < count:
            return False
        return int(self.rows[np.argpartition(self.cosines, -count)[-count:]].max()) * _CERTAIN_CELLS < seen

    def agree_well(self, agreed: NDArray[np.uint16], count: int) -> bool:
        """Whether the nearest agree well: as long as one is found late in the order of agreement, more may follow."""
        agreement = agreed[self.rows]
        worst = agreement[np.argpartition(self.cosines, -count)[-count:]].min()
        return int(np.count_nonzero(agreement > worst)) * _CERTAIN_SHARE <= len(self.rows)


@value_class
class Signs:
    """One bit per dimension, in columns of 64 dimensions each: a search reads every column from end to end. And one
    byte per dimension, times the `scales`: what agrees in most signs is compared by these, a quarter as much to read
    from all over a file as the vectors themselves.
    """

    mean: NDArray[np.float32]
    columns: tuple[NDArray[np.uint64], ...]
    rounded: NDArray[np.int8]
    scales: NDArray[np.float32]
    cells: Cells | None = None

    def look(self, query: NDArray[np.float32], possible: NDArray[np.bool_], number: int, wanted: int) -> SignsSeen:
        """In how many dimensions rows have the sign of the query: all, or first those that are in the nearest cells. So
        many are possible, and so many wanted.
        """
        size, every = len(self.scales), np.empty(0, np.intp)
        nothing = SignsSeen(query, None if number == len(possible) else possible, every, np.empty(0, np.uint16), [], 0)
        if self.cells is None:
            return self._further(nothing, [slice(0, size)])
        in_cells = len(self.cells.rows)
        # What came later is in no cell, and as likely as what is in the first.
        later = self._further(nothing, [slice(in_cells, size)]) if in_cells < size else nothing
        first = max(size // _CELLS_SHARE, _CELLS_PER_WANTED * wanted)
        return self.look_further(later._replace(cells=self.cells.order(query)), first)

    def look_further(self, seen: SignsSeen, least: int) -> SignsSeen:
        """At least at so many more, in the cells that are next; at all when few would be left."""
        if self.cells is None:
            return seen
        left = np.cumsum(self.cells.sizes[seen.cells])
        number = len(left) if 5 * least >= 4 * int(left[-1]) else 1 + int(np.searchsorted(left, least))
        chosen, cells = seen.cells[:number], seen.cells[number:]
        return self._further(seen, self.cells.spans(chosen))._replace(cells=cells)

    def _further(self, seen: SignsSeen, spans: list[slice]) -> SignsSeen:
        agreed, number = self._agreement(seen.query, spans), sum(span.stop - span.start for span in spans)
        if seen.allowed is not None:
            allowed = seen.allowed
            if self.cells is not None:
                rows = [self.cells.rows[span] for span in spans if span.start < len(self.cells.rows)]
                allowed = allowed.take(np.concatenate(rows)) if rows else allowed[len(self.cells.rows) :]
            agreed *= allowed
            number = int(np.count_nonzero(allowed))
        every = np.concatenate([seen.agreed, agreed]) if len(seen.agreed) else agreed
        return seen._replace(agreed=every, spans=[*seen.spans, *spans], number=seen.number + number)

    def rows(self, places: NDArray[np.intp]) -> NDArray[np.intp]:
        """Which rows are at these places."""
        if self.cells is None:
            return places
        in_cells = len(self.cells.rows)
        return np.where(places < in_cells, self.cells.rows.take(np.minimum(places, in_cells - 1)), places)

    def cosines(self, query: NDArray[np.float32], places: NDArray[np.intp]) -> NDArray[np.float32]:
        """Nearly those of the rows at these places."""
        cosines = np.empty(len(places), np.float32)
        # In blocks, as below.
        for start in range(0, len(places), _ROUNDED_AT_ONCE):
            block = places[start : start + _ROUNDED_AT_ONCE]
            cosines[start : start + len(block)] = np.vecdot(self.rounded.take(block, axis=0).astype(np.float32), query)
        return cosines * self.scales.take(places)

    def _agreement(self, query: NDArray[np.float32], spans: list[slice]) -> NDArray[np.uint16]:
        opposite = ~_pack(query[np.newaxis] - self.mean)[0]
        size = sum(span.stop - span.start for span in spans)
        agreed = np.zeros(size, np.uint16)
        # In blocks, so that what is in between never leaves the processor's own memory.
        block = min(size, _COMPARED_AT_ONCE)
        different, counted = np.empty(block, np.uint64), np.empty(block, np.uint8)
        end = 0
        for pieces in _blocks(spans):
            rows = sum(piece.stop - piece.start for piece in pieces)
            sums, end = agreed[end : end + rows], end + rows
            for column, word in zip(self.columns, opposite, strict=True):
                words = column[pieces[0]]
                if len(pieces) > 1:
                    words = np.concatenate([column[piece] for piece in pieces], out=different[:rows])
                np.bitwise_xor(words, word, out=different[:rows])
                np.bitwise_count(different[:rows], out=counted[:rows])
                np.add(sums, counted[:rows], out=sums)
        return agreed


class SignsSeen(NamedTuple):
    """What signs tell of some rows, one span of places behind the other, the likeliest first. `number` of them are
    allowed; none that is not agrees in anything. `cells` are those that were not looked at, in order.
    """

    query: NDArray[np.float32]
    allowed: NDArray[np.bool_] | None
    cells: NDArray[np.intp]
    agreed: NDArray[np.uint16]
    spans: list[slice]
    number: int

    def places(self, seen: NDArray[np.intp]) -> NDArray[np.intp]:
        """Where the signs of these are."""
        if len(self.spans) == 1:
            return seen + self.spans[0].start
        starts = np.array([span.start for span in self.spans])
        ends = np.cumsum([span.stop - span.start for span in self.spans])
        shifts = starts - np.concatenate([[0], ends[:-1]])
        return seen + shifts[np.searchsorted(ends, seen, side="right")]


def _blocks(spans: list[slice]) -> Iterator[list[slice]]:
    """Spans, or parts of them, that are compared at once."""
    pieces: list[slice] = []
    room = _COMPARED_AT_ONCE
    for span in spans:
        start = span.start
        while start < span.stop:
            piece = slice(start, min(span.stop, start + room))
            pieces.append(piece)
            room -= piece.stop - start
            start = piece.stop
            if not room:
                yield pieces
                pieces, room = [], _COMPARED_AT_ONCE
    if pieces:
        yield pieces


def values_at(values: NDArray[Any], rows: NDArray[np.intp]) -> NDArray[Any]:
    """A copy of the values at these rows, which ascend and do not repeat: all of them, or some looked up one by one."""
    return values.copy() if len(rows) == len(values) else values.take(rows)


def of_best_window(best: NDArray[np.float32], windows: NDArray[np.intp] | int) -> NDArray[np.float32]:
    """The cosines of memories with so many windows each, from those of their best windows."""
    return best - np.float32(CHANCES.cost) * np.log(np.minimum(windows, CHANCES.most), dtype=np.float32)


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
        places = (self.rows[at] == rows).nonzero()[0]
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
    so long that it has several vectors. Where the rows are only some of a namespace, `taken` are others taken at equal
    steps from all of it, to be compared with a query and with each other.
    """

    matrix: NDArray[np.float32]
    present: NDArray[np.bool_]
    count: int
    signs: Signs | None
    question: NDArray[np.float32] | None = None
    windows: WindowVectors | None = None
    taken: tuple[Vectors, Vectors] | None = None

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
            every = np.vecdot(self.matrix, query)
            return every if len(rows) == len(every) else every.take(rows)
        return np.vecdot(self.matrix.take(rows, axis=0), query)

    def at(self, rows: NDArray[np.intp]) -> Vectors:
        """Copies of some rows that are present, each with its first window."""
        return Vectors(self.matrix.take(rows, axis=0), np.ones(len(rows), np.bool_), len(rows), None)

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
            rows = possible.nonzero()[0]
            return Near(rows, self.cosines(query, rows)).best(count)
        count = min(count, number)
        signs, seen = self.signs, self.signs.look(query, possible, number, count)
        looked_at = max(_LEAST_RESCORED + len(possible) // _RESCORED_SHARE, _RESCORED_PER_WANTED * count)
        is_exact = signs.cells is None and len(possible) <= _BY_BYTES
        while True:
            best = top_k(seen.agreed, looked_at)
            places = seen.places(best)
            cosines = self.cosines(query, places) if is_exact else signs.cosines(query, places)
            # Where they stand among those that were looked at.
            near = Near(best, cosines)
            if len(best) < seen.number and not near.agree_well(seen.agreed, 1 + count // _SURE_SHARE):
                looked_at *= _MORE
            elif len(seen.cells) and not near.stand_early(1 + count // _SURE_IN_CELLS, len(seen.agreed)):
                seen = signs.look_further(seen, len(seen.agreed))
            elif is_exact:
                return Near(places, cosines).best(count)
            else:
                best = near.best(_EXACT_PER_WANTED * count + _LEAST_EXACT).rows
                rows = np.sort(signs.rows(seen.places(np.sort(best))))
                return Near(rows, self.cosines(query, rows)).best(count)

    def sample(self, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """The cosines of rows taken at equal steps: how near a row is that has nothing to do with the query."""
        if self.taken is not None:
            sampled = self.taken[0]
            return sampled.cosines(query, np.arange(len(sampled.matrix)))
        step = max(1, len(self.matrix) // SAMPLE)
        if self.windows is None and self.question is None:
            return np.vecdot(self._sampled, query)[self.present[::step]]
        rows = np.arange(0, len(self.matrix), step)
        return self.cosines(query, rows)[self.present[::step]]

    @cached_property
    def _sampled(self) -> NDArray[np.float32]:
        """A copy of these: each would be read from another place of a file, for every question."""
        return self.matrix[:: max(1, len(self.matrix) // SAMPLE)].copy()

    @cached_property
    def pairs(self) -> NDArray[np.float32]:
        """The cosines of rows taken at equal steps with each other."""
        step = max(1, len(self.matrix) // PAIRED)
        sample = self.taken[1].matrix if self.taken else self.matrix[::step][self.present[::step]]
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
        self._rounded = AppendOnlyArray(np.int8, dimensions)
        self._scales = AppendOnlyArray(np.float32)
        self._mean = np.zeros(dimensions, np.float32)
        self._cells: Cells | None = None
        self._arrangement: Arrangement | None = None
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
        parts = (self._matrix, self._present, self._owner, self._rounded, self._scales, *self._columns)
        own = sum(part.nbytes for part in parts)
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

    def release(self) -> None:
        """Let go of what is mapped of the vectors: few of them are looked at, all over the file, and each look maps
        what stands around it. The system keeps it, and gives it back when it is asked.
        """
        self._matrix.release()
        self._rounded.release()
        if self._windows is not None:
            self._windows.release()

    @property
    def in_file(self) -> int:
        """So many rows at the beginning are in a file, or in cells, and their vectors are not to be written."""
        return max(self._matrix.mapped, len(self._cells.rows) if self._cells else 0)

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
            rounded, scales = _round(vectors)
            self._rounded.fill(rows, rounded)
            self._scales.fill(rows, scales)

    def remove(self, rows: NDArray[np.intp]) -> None:
        self._count -= int(np.count_nonzero(self.present[rows]))
        self._present.replace(rows, np.False_)
        if self._windows is not None:
            gone = np.flatnonzero(np.isin(self._owner.view, rows))
            if len(gone):
                self._windows.remove(gone)

    def arrange(self, seen: Vectors) -> None:
        """What takes long of `arrays`, for what a search saw a moment ago: other threads may search and add rows
        meanwhile.
        """
        if seen.signs is not None and len(seen.matrix) >= LEAST_ROWS:
            self._arrangement = Arrangement.of(seen.matrix, seen.signs.cells)
        if self._windows is not None and seen.windows is not None:
            self._windows.arrange(seen.windows.vectors)

    def arrays(self, rows: NDArray[np.intp]) -> dict[str, NDArray[Any] | SelectedRows]:
        """Of these rows, as if there were no others."""
        every = len(rows) == len(self._matrix)
        arrays: dict[str, NDArray[Any] | SelectedRows] = {
            "matrix": self.matrix if every else SelectedRows(self.matrix, rows),
            "present": self.present if every else self.present[rows],
        }
        if self._columns:
            arrays |= self._arrays_of_signs(rows)
        if self._windows is not None:
            places = np.full(len(self._matrix), -1, np.intp)
            places[rows] = np.arange(len(rows))
            owner = places[self._owner.view]
            kept = np.flatnonzero(owner >= 0)
            arrays["owner"] = owner[kept]
            arrays |= {f"windows.{name}": array for name, array in self._windows.arrays(kept).items()}
        return arrays

    def _arrays_of_signs(self, rows: NDArray[np.intp]) -> dict[str, NDArray[Any] | SelectedRows]:
        """In cells, where there are many rows."""
        places: NDArray[np.intp] = rows
        arrays: dict[str, NDArray[Any] | SelectedRows] = {}
        if self._cells is not None:
            in_cells = self._cells.places()
            places = np.concatenate([in_cells, np.arange(len(in_cells), len(self._matrix))])[rows]
        if len(rows) >= LEAST_ROWS:
            known, self._arrangement = self._arrangement, None
            cells = (known.grown(self.matrix) if known else Arrangement.of(self.matrix, self._cells)).cells(rows)
            places = places[cells.rows]
            arrays |= cells.arrays()
        every = len(places) == len(self._matrix) and places is rows
        arrays["mean"] = self._mean
        arrays["rounded"] = self._rounded.view if every else SelectedRows(self._rounded.view, places)
        arrays["scales"] = self._scales.view if every else self._scales.view[places]
        for number, column in enumerate(self._columns):
            arrays[f"signs{number}"] = column.view if every else column.view[places]
        return arrays

    @classmethod
    def over(cls, arrays: Mapping[str, NDArray[Any]], size: int, dimensions: int) -> VectorBuilder:
        """As `arrays` gave them."""
        builder = cls(dimensions)
        builder._matrix.over(arrays["matrix"], size)
        builder._present.over(arrays["present"], size)
        builder._count = int(np.count_nonzero(builder.present))
        if "mean" in arrays:
            builder._mean, builder._encoded_count = arrays["mean"], builder._count
            builder._rounded.over(arrays["rounded"], size)
            builder._scales.over(arrays["scales"], size)
            words = range(-(-dimensions // 64))
            builder._columns = [AppendOnlyArray(np.uint64).over(arrays[f"signs{number}"], size) for number in words]
            builder._cells = Cells.over(arrays) if "cells.rows" in arrays else None
        if "owner" in arrays:
            own = {name.removeprefix("windows."): each for name, each in arrays.items() if name.startswith("windows.")}
            owner = arrays["owner"]
            builder._owner.over(owner, len(owner))
            builder._windows = cls.over(own, len(owner), dimensions)
            # Those of one row stand together.
            starts = np.flatnonzero(np.diff(owner, prepend=-1))
            counts = np.diff(starts, append=len(owner))
            spans = zip(starts.tolist(), counts.tolist(), strict=True)
            builder._spans = dict(zip(owner[starts].tolist(), spans, strict=True))
        return builder

    def view(self, question: NDArray[np.float32] | None = None) -> Vectors:
        if self._count > EXACT_ROWS and self._count > 2 * self._encoded_count and not self._exact:
            self._encode()
        columns = tuple(column.view for column in self._columns)
        signs = Signs(self._mean, columns, self._rounded.view, self._scales.view, self._cells) if columns else None
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
        """Signs and bytes for all rows, from a mean that suits them; again when there are twice as many."""
        step = 1 + len(self.matrix) // _ENCODED_AT_ONCE
        self._mean = self.matrix[::step].mean(axis=0)
        self._encoded_count = self._count
        self._cells = self._arrangement = None
        self._columns = [AppendOnlyArray(np.uint64) for _ in range(-(-self.dimensions // 64))]
        self._rounded, self._scales = AppendOnlyArray(np.int8, self.dimensions), AppendOnlyArray(np.float32)
        for start in range(0, len(self.matrix), _ENCODED_AT_ONCE):
            self._append_signs(self.matrix[start : start + _ENCODED_AT_ONCE])

    def _append_signs(self, vectors: NDArray[np.float32]) -> None:
        for column, words in zip(self._columns, _pack(vectors - self._mean).T, strict=True):
            column.extend(words)
        rounded, scales = _round(vectors)
        self._rounded.extend(rounded)
        self._scales.extend(scales)


def _round(vectors: NDArray[np.float32]) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """To bytes, and what they are to be multiplied by; a row of zeros stays one."""
    scales = np.abs(vectors).max(axis=1, initial=0.0) / np.float32(_MOST_ROUNDED)
    rounded = np.rint(vectors / np.where(scales, scales, np.float32(1))[:, np.newaxis]).astype(np.int8)
    return rounded, scales


def _pack(centred: NDArray[np.float32]) -> NDArray[np.uint64]:
    """(rows, dimensions) to (rows, words of 64 signs); the last word is filled up with zeros."""
    packed = np.packbits(centred > 0, axis=1)
    missing = -packed.shape[1] % 8
    if missing:
        packed = np.pad(packed, ((0, 0), (0, missing)))
    return np.ascontiguousarray(packed).view(np.uint64)
