"""Random order, the same in every run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    import numpy as np

Item = TypeVar("Item")


def shuffled(items: Sequence[Item], rng: np.random.Generator) -> list[Item]:
    order: list[int] = rng.permutation(len(items)).tolist()
    return [items[position] for position in order]
