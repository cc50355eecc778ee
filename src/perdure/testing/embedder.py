"""A stand-in for a model: deterministic, instant, and close for texts that share words. For tests, never for recall."""

from __future__ import annotations

from collections.abc import Sequence

from perdure.embed.port import Generation, Progress, Vectors
from perdure.errors import EmbedderUnavailable
from perdure.text.entry import term_hash
from perdure.text.words import clean, searchable, terms


class WordEmbedder:
    """Hashes words into a small vector space. `down` makes it fail as a provider that is away would."""

    def __init__(self, dimensions: int = 64, version: str = "1") -> None:
        self.generation = Generation("testing", "words", dimensions, version)
        self.down = False
        self.embedded = 0

    def embed_query(self, text: str) -> Vectors:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        import numpy as np

        if self.down:
            raise EmbedderUnavailable("The test embedder is down.")
        width = self.generation.dimensions
        vectors = np.zeros((len(texts), width), np.float32)
        # A constant part, so that a text without words has a direction too.
        vectors[:, 0] = 0.1
        for row, text in enumerate(texts):
            for term in terms(searchable(clean(text))):
                found = term_hash(term)
                vectors[row, found % width] += 1 if found & 0x10000 else -1
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True).clip(1e-6)
        self.embedded += len(texts)
        if progress:
            progress(len(texts), len(texts))
        return vectors
