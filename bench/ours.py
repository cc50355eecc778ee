"""Perdure as a contender, through its public door."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from bench.contender import Contender
from bench.corpus import Batch, Vectors
from perdure import Memory
from perdure.embed.local import LocalEmbedder
from perdure.embed.port import Generation, Progress
from perdure.settings import load


class KnownVectors:
    """An embedder that hands out vectors made earlier. It speaks for the local model, which made them."""

    def __init__(self) -> None:
        self._vectors: dict[str, Vectors] = {}
        self._generation = local_embedder().generation

    @property
    def generation(self) -> Generation:
        return self._generation

    def know(self, texts: Sequence[str], vectors: Vectors) -> None:
        self._vectors = dict(zip(texts, vectors, strict=True))

    def embed_query(self, text: str) -> Vectors:
        return self._vectors[text]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:  # noqa: ARG002
        return np.stack([self._vectors[text] for text in texts])


class Perdure(Contender):
    name = "perdure"
    about = "perdure.Memory: import_ + work, recall, remember; learn is off, so that no memories are compared"
    packages = ("perdure", "apsw", "numpy")

    def __init__(self, directory: Path) -> None:
        super().__init__(directory)
        self._known = KnownVectors()
        self.memory: Memory

    @property
    def file(self) -> Path:
        return self.directory / "memory.db"

    def build(self, batches: Iterator[Batch]) -> None:
        with self._memory() as memory:
            for texts, vectors in batches:
                self._known.know(texts, vectors)
                done = memory.import_({"text": text} for text in texts)
                worked = memory.work()
                if done.inserted != len(texts) or worked.vectors_pending:
                    raise RuntimeError(f"Of {len(texts)} texts {done} were stored, and then {worked}.")

    def open(self) -> None:
        self.memory = self._memory()

    def hybrid(self, query: str, vector: Vectors, limit: int) -> list[str]:
        self._known.know((query,), vector[np.newaxis])
        # The other systems fill their limit, whatever fits.
        return [hit.record.text for hit in self.memory.recall(query, limit=limit, min_relevance=0)]

    def add(self, text: str, vector: Vectors) -> None:
        self._known.know((text,), vector[np.newaxis])
        self.memory.remember(text)

    def close(self) -> None:
        self.memory.close()

    def _memory(self) -> Memory:
        # Texts that are made up contradict each other, and questions about that have no vector here.
        return Memory(settings=load(store=self.file, learn="off"), embedder=self._known)


class PerdureEmbedding(Perdure):
    """The same store, used as a user does: the question is embedded, and so is what is added, which is then compared
    with what is near it.
    """

    name = "perdure + embedding"
    about = "the same with its defaults: questions and new memories are embedded, and new ones compared by the judge"
    packages = ("onnxruntime", "tokenizers")
    store = "perdure"

    def add(self, text: str, vector: Vectors) -> None:  # noqa: ARG002 - it embeds the text itself
        # The other one adds the same text to this store, and what is known is only counted.
        self.memory.remember(f"{text} (embedded)")

    def _memory(self) -> Memory:
        return Memory(self.file, embedder=local_embedder())


def local_embedder() -> LocalEmbedder:
    return LocalEmbedder()
