"""BM25, once, for the index in memory and for the one on disk. Works on numbers and on numpy arrays alike."""

from __future__ import annotations

import math
from typing import Final, TypeVar

# Memories are short: on short turns .9/.4 beats the usual 1.2/.75 (measured, see docs/design.md).
K1: Final = 0.9
B: Final = 0.4

Number = TypeVar("Number")


def idf(documents: int, containing: int) -> float:
    """How telling a word is: always positive, larger the fewer memories hold it."""
    return math.log1p((documents - containing + 0.5) / (containing + 0.5))


def length_norm(length: Number, average: float) -> Number:
    """The part of the formula that depends on the memory alone."""
    return K1 * (1 - B) + length * (K1 * B / average)  # type: ignore[operator]


def saturation(frequency: Number, norm: Number) -> Number:
    """How much the n-th occurrence of a word still adds, in 0..K1+1."""
    return frequency * (K1 + 1) / (frequency + norm)  # type: ignore[operator]
