"""Texts whose vectors a test puts where it wants them, so that a cosine is what it says to the last bit."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from hashlib import sha256

import numpy as np
from numpy.typing import NDArray

from perdure.embed.port import Generation, Progress

Vector = NDArray[np.float32]

DIMENSIONS = 512
_FREE = 64


def near(cosine: float, axis: int = 1) -> Vector:
    """A unit vector that has this cosine, as a 32-bit float, with `near(1)`; and with others the product of theirs,
    but for those of the same axis.
    """
    vector = np.zeros(DIMENSIONS, np.float32)
    vector[0] = cosine
    vector[axis] = np.sqrt(max(0.0, 1.0 - float(np.float32(cosine)) ** 2))
    return vector


def above(cosine: float) -> float:
    """The smallest 32-bit float above this number."""
    single = np.float32(cosine)
    return float(single if float(single) > cosine else np.nextafter(single, np.float32(2)))


def at_most(cosine: float) -> float:
    """The largest 32-bit float up to this number."""
    single = np.float32(cosine)
    return float(single if float(single) <= cosine else np.nextafter(single, np.float32(-2)))


class PlacedEmbedder:
    """What has no place is at right angles to everything that has one. `asked` are the texts that were embedded."""

    def __init__(self, places: Mapping[str, Vector] | None = None) -> None:
        self.generation = Generation("testing", "placed", DIMENSIONS, "1")
        self.places = dict(places or {})
        self.asked: list[str] = []

    def embed_query(self, text: str) -> Vector:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> NDArray[np.float32]:
        self.asked += texts
        return np.stack([self._place(text) for text in texts])

    def _place(self, text: str) -> Vector:
        if text in self.places:
            return self.places[text]
        vector = np.zeros(DIMENSIONS, np.float32)
        vector[_FREE + int.from_bytes(sha256(text.encode()).digest()[:4]) % (DIMENSIONS - _FREE)] = 1
        return vector
