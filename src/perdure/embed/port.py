"""What an embedder must do, and the function by which everything else calls one.

Adapters live beside this file; nothing above this layer knows which one runs. An embedder may be anybody's code, so
`checked_vectors` gives float32 unit vectors or raises `EmbedderUnavailable`, whatever it does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Final, Protocol, TypeAlias, cast

from perdure.errors import EmbedderUnavailable, InvalidInput, shown

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
Progress: TypeAlias = Callable[[int, int], None]

_EMBEDDER: Final = "Give 'local', 'none', or an object like `perdure.embed.port.Embedder`."
# How far the squared length of a vector may be from 1.
_TOLERANCE: Final = 2e-3


@dataclass(frozen=True)
class Generation:
    """One vector space. Vectors of two generations are never compared."""

    provider: str
    model: str
    dimensions: int
    version: str

    @cached_property
    def name(self) -> str:
        return f"{self.provider}/{self.model}/{self.dimensions}/{self.version}"


class Embedder(Protocol):
    """Turns text into unit vectors. Raises `EmbedderUnavailable`, never anything else, when it cannot."""

    @property
    def generation(self) -> Generation: ...

    def embed_query(self, text: str) -> Vectors:
        """One vector, shape (dimensions,)."""
        ...

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        """One row per text, in the order given."""
        ...


def check_embedder(value: object) -> Embedder:
    """Whether it has what an embedder has. What it makes is checked each time that it makes something."""
    try:
        missing = [name for name in ("embed_query", "embed_passages") if not callable(getattr(value, name, None))]
        if not isinstance(getattr(value, "generation", None), Generation):
            missing.append("generation")
    except Exception as error:
        raise InvalidInput(f"The embedder does not name its generation: {error}.", remedy=_EMBEDDER) from error
    if missing:
        raise InvalidInput(f"{shown(value)} is no embedder: {', '.join(missing)} missing.", remedy=_EMBEDDER)
    return cast("Embedder", value)


def checked_vectors(embedder: Embedder, texts: str | Sequence[str], progress: Progress | None = None) -> Vectors:
    """The vector of a query, which is a single text, or one row for each of several passages. Only good vectors pass: a
    NaN that got into the store would spoil every answer after it.
    """
    import numpy as np

    is_query = isinstance(texts, str)
    try:
        made = embedder.embed_query(texts) if is_query else embedder.embed_passages(texts, progress)
        vectors = np.ascontiguousarray(made, dtype=np.float32)
    except EmbedderUnavailable:
        raise
    except Exception as error:
        raise EmbedderUnavailable(f"The embedder failed: {type(error).__name__}: {error}.") from error
    dimensions = embedder.generation.dimensions
    shape = (dimensions,) if is_query else (len(texts), dimensions)
    if vectors.shape != shape:
        raise EmbedderUnavailable(f"The embedder gave vectors of shape {vectors.shape} instead of {shape}.")
    if not (np.abs(np.vecdot(vectors, vectors) - 1) < _TOLERANCE).all():
        raise EmbedderUnavailable("The embedder gave a vector that is not finite or not of length 1.")
    return vectors
