"""An embedder that remembers: the same text is embedded once, in this run and in the next."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

import numpy as np

from bench.corpus import Vectors
from perdure.embed.port import Embedder, Generation, Progress, window_of


class Remembering:
    """Kept in one file for each model."""

    def __init__(self, embedder: Embedder, cache: Path) -> None:
        self._embedder = embedder
        digest = sha256(embedder.generation.name.encode()).hexdigest()
        self._file = cache / f"remembered-{digest[:16]}.npz"
        self._known: dict[bytes, Vectors] = {}
        self._new = False
        if self._file.exists():
            with np.load(self._file) as kept:
                self._known = dict(zip(kept["keys"].tolist(), kept["vectors"], strict=True))

    @property
    def generation(self) -> Generation:
        return self._embedder.generation

    @property
    def window(self) -> int | None:
        """With it a long memory gets its passages, as it does where nothing is remembered."""
        return window_of(self._embedder)

    def embed_query(self, text: str) -> Vectors:
        key = self._key("query", text)
        if key not in self._known:
            self._known[key] = self._embedder.embed_query(text)
            self._new = True
        return self._known[key]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        keys = [self._key("passage", text) for text in texts]
        missing = [place for place, key in enumerate(keys) if key not in self._known]
        if missing:
            vectors = self._embedder.embed_passages([texts[place] for place in missing], progress)
            self._known.update(zip((keys[place] for place in missing), vectors, strict=True))
            self._new = True
        return np.stack([self._known[key] for key in keys])

    def keep(self) -> None:
        if not self._new:
            return
        self._file.parent.mkdir(parents=True, exist_ok=True)
        partial = self._file.with_suffix(f".{os.getpid()}.npz")
        np.savez(partial, keys=np.array(list(self._known)), vectors=np.stack(list(self._known.values())))
        partial.replace(self._file)
        self._new = False

    def _key(self, kind: str, text: str) -> bytes:
        # In hexadecimal: an array of bytes loses zeros at the end.
        return sha256(f"{kind}\0{text}".encode()).hexdigest().encode()
