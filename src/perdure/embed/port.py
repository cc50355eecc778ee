"""What an embedder must do. Adapters live beside this file; nothing above this layer knows which one runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Vectors: TypeAlias = "NDArray[np.float32]"
Progress: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Generation:
    """One vector space. Vectors of two generations are never compared."""

    provider: str
    model: str
    dimensions: int
    version: str

    @property
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
