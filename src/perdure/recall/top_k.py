"""The best of an array, without sorting it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

_SAMPLE: Final = 2048


def top_k(values: NDArray[Any], count: int) -> NDArray[np.intp]:
    """The positions of the `count` largest values above zero, ascending; ties with the last of them come along.

    Partitioning a whole array is slow. A sample says from which value on to look; when it misleads, everything is
    looked at.
    """
    candidates, stride = None, len(values) // _SAMPLE
    if stride > 1:
        sample = values[::stride]
        sample = sample[sample > 0]
        rank = 2 * count // stride + 8
        if rank < len(sample):
            candidates = (values >= np.partition(sample, -rank)[-rank]).nonzero()[0]
    if candidates is None or len(candidates) < count:
        candidates = (values > 0).nonzero()[0]
    if len(candidates) <= count:
        return candidates
    chosen = values[candidates]
    return candidates[chosen >= np.partition(chosen, -count)[-count]]


def top_k_newest(
    positions: NDArray[np.intp], values: NDArray[Any], numbers: NDArray[np.int64], count: int
) -> NDArray[np.intp]:
    """Of these positions the best `count`; of equal ones those with the higher numbers."""
    if len(positions) <= count:
        return positions
    chosen = values[positions]
    last = np.partition(chosen, -count)[-count]
    above, ties = positions[chosen > last], positions[chosen == last]
    missing = count - len(above)
    return np.concatenate([above, ties[np.argpartition(numbers[ties], -missing)[-missing:]]])
