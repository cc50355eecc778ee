"""Whether the encoder alone orders pairs of sentences as people do: Spearman's rank correlation with their scores."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench.learn.duplicates import load, pair_cosines
from perdure.embed.port import Embedder

# The parts that nothing is trained or chosen on.
PARTS: Final = ("STS-B dev", "SICK trial")


def correlations(sts: Path | None, sick: Path | None, embedder: Embedder) -> dict[str, tuple[int, float]]:
    """By part: how many pairs there are, and the correlation."""
    return {
        part.name: (len(part.pairs), spearman(pair_cosines(part.pairs, embedder), [pair.score for pair in part.pairs]))
        for part in load(sts, sick)
        if part.name in PARTS
    }


def spearman(first: Sequence[float], second: Sequence[float]) -> float:
    return float(np.corrcoef(_ranks(first), _ranks(second))[0, 1])


def _ranks(values: Sequence[float]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """Equal values share the mean of their ranks."""
    _, which, counts = np.unique(np.asarray(values), return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    return ((ends - counts + ends - 1) / 2)[which]
