"""Rows from the store as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from perdure.text.entry import TERM_BYTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from perdure.store.port import IndexRow, TurnInfo

ALWAYS: Final = np.iinfo(np.int64).min
FOREVER: Final = np.iinfo(np.int64).max

_FLOAT_BYTES: Final = 4
_TERM: Final = np.dtype([("term", "<u4"), ("frequency", "u1")])


@dataclass(frozen=True, slots=True)
class Batch:
    """`ends` says where in `terms` each row ends. Two rows with the same `signatures` hold the same words."""

    numbers: NDArray[np.int64]
    visible: NDArray[np.bool_]
    valid_from: NDArray[np.int64]
    valid_until: NDArray[np.int64]
    terms: NDArray[np.uint32]
    frequencies: NDArray[np.uint8]
    ends: NDArray[np.intp]
    lengths: NDArray[np.uint32]
    signatures: NDArray[np.uint64]
    present: NDArray[np.bool_]
    vectors: NDArray[np.float32]
    told: Sequence[TurnInfo | None]

    @classmethod
    def of(cls, rows: Sequence[IndexRow], dimensions: int) -> Batch:
        numbers, visible, valid_from, valid_until, packed, vectors, told = zip(*rows, strict=True)
        entries = np.frombuffer(b"".join(packed), _TERM)
        terms, frequencies = entries["term"].astype(np.uint32), entries["frequency"].copy()
        ends = np.cumsum([len(one) // TERM_BYTES for one in packed], dtype=np.intp)
        present, matrix = _matrix(vectors, dimensions)
        return cls(
            np.array(numbers, np.int64),
            np.array(visible, np.bool_),
            np.array([ALWAYS if moment is None else moment for moment in valid_from], np.int64),
            np.array([FOREVER if moment is None else moment for moment in valid_until], np.int64),
            terms,
            frequencies,
            ends,
            _sums(frequencies, ends).astype(np.uint32),
            _sums(terms * frequencies.astype(np.uint64), ends),
            present,
            matrix,
            told,
        )


def _matrix(vectors: Sequence[bytes | None], dimensions: int) -> tuple[NDArray[np.bool_], NDArray[np.float32]]:
    """Which rows have a vector that can be compared, and a row for each, of zeros where there is none."""
    fitting = [vector for vector in vectors if vector is not None and len(vector) == _FLOAT_BYTES * dimensions]
    known = np.frombuffer(b"".join(fitting), "<f4").reshape(len(fitting), dimensions)
    finite = _finite(known)
    if len(fitting) == len(vectors) and finite.all():
        return np.ones(len(vectors), np.bool_), known
    present = np.array([vector is not None and len(vector) == _FLOAT_BYTES * dimensions for vector in vectors])
    present[present] = finite
    matrix = np.zeros((len(vectors), dimensions), np.float32)
    matrix[present] = known[finite]
    return present, matrix


def _finite(vectors: NDArray[np.float32]) -> NDArray[np.bool_]:
    """One NaN or infinity among the vectors would spoil every answer. Their lengths tell it in one pass."""
    with np.errstate(over="ignore", invalid="ignore"):
        return np.isfinite(np.vecdot(vectors, vectors))


def _sums(values: NDArray[np.uint8] | NDArray[np.uint64], ends: NDArray[np.intp]) -> NDArray[np.uint64]:
    """The sum of each row's values; a row may have none."""
    sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(values, dtype=np.uint64)])[ends]
    return np.diff(sums, prepend=np.uint64(0))
