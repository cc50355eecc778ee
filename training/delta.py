"""What training changed, small enough for the repository: low-rank factors of each matrix's difference to the published
one, in 16-bit integers.

    python -m training.delta trained.npz packages/minilm/delta.npz --rank 64 --share 0.9

`--share` goes only so far of the way from the published model to the trained one. Integers, and a power of two as their
scale, because their products are exact in float64: every machine builds the same weights from them, to the bit.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

import numpy as np

from training.base import base_model, read_base, trained_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

_MOST: Final = 32_000


def integers(values: NDArray[np.float64]) -> tuple[NDArray[np.int16], int]:
    """The values as integers times a power of two, and its exponent."""
    largest = float(np.abs(values).max())
    exponent = math.ceil(math.log2(largest / _MOST)) if largest else 0
    return np.rint(values / 2.0**exponent).astype(np.int16), exponent


def factors(difference: NDArray[np.float64], rank: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    left, sizes, right = np.linalg.svd(difference, full_matrices=False)
    roots = np.sqrt(sizes[:rank])
    return left[:, :rank] * roots, roots[:, np.newaxis] * right[:rank]


def delta(
    base: Mapping[str, NDArray[np.float32]], trained: dict[str, NDArray[np.float32]], rank: int, share: float
) -> dict[str, NDArray[np.int16]]:
    """By tensor: `name|left`, `name|right` of a matrix, `name|whole` of what is none, and their exponents. What the
    model had not before is written whole.
    """
    made: dict[str, NDArray[np.int16]] = {}
    for name, values in sorted(trained.items()):
        before = base[name].astype(np.float64) if name in base else 0.0
        difference = share * (values.astype(np.float64) - before)
        parts = {"whole": difference}
        if difference.ndim == 2 and name in base:
            parts = dict(zip(("left", "right"), factors(difference, rank), strict=True))
        for part, content in parts.items():
            made[f"{name}|{part}"], exponent = integers(content)
            made[f"{name}|{part}|exponent"] = np.array(exponent, np.int16)
    return made


def main() -> None:
    parser = argparse.ArgumentParser(description="Write what training changed as low-rank factors.")
    parser.add_argument("trained", type=Path, help="what training.train wrote")
    parser.add_argument("out", type=Path)
    parser.add_argument("--rank", type=int, default=64)
    parser.add_argument("--share", type=float, default=1.0, help="how far of the way from the published model")
    parser.add_argument(
        "--judge", action="store_true", help="as the difference to our trained model, not the published"
    )
    options = parser.parse_args()
    model = base_model()
    base = trained_weights(model) if options.judge else read_base(model)
    made = delta(base, dict(np.load(options.trained)), options.rank, options.share)
    np.savez_compressed(options.out, **made)  # pyright: ignore[reportArgumentType] - numpy's stub knows no keywords
    print(f"wrote {options.out}: {options.out.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
