"""An embedder is foreign code: whatever it does, its callers see good vectors or `EmbedderUnavailable`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from perdure.embed.port import Embedder, Progress, Vectors
from perdure.errors import EmbedderUnavailable

# Of the squared length.
_TOLERANCE: Final = 2e-3


def checked_query(embedder: Embedder, text: str) -> Vectors:
    return _checked(embedder, lambda: embedder.embed_query(text), ())


def checked_passages(embedder: Embedder, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
    return _checked(embedder, lambda: embedder.embed_passages(texts, progress), (len(texts),))


def _checked(embedder: Embedder, embed: Callable[[], object], rows: tuple[int, ...]) -> Vectors:
    """As float32 unit vectors: a NaN that got into the store would spoil every answer after it."""
    import numpy as np

    try:
        vectors = np.ascontiguousarray(embed(), dtype=np.float32)
    except EmbedderUnavailable:
        raise
    except Exception as error:
        raise EmbedderUnavailable(f"The embedder failed: {type(error).__name__}: {error}.") from error
    wanted = (*rows, embedder.generation.dimensions)
    if vectors.shape != wanted:
        raise EmbedderUnavailable(f"The embedder gave vectors of shape {vectors.shape} instead of {wanted}.")
    if not (np.abs(np.vecdot(vectors, vectors) - 1) < _TOLERANCE).all():
        raise EmbedderUnavailable("The embedder gave a vector that is not finite or not of length 1.")
    return vectors
