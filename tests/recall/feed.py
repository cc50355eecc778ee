"""A namespace in a dictionary, as far as a recall index looks at a store; and BM25 as one would write it by hand."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from perdure.embed.port import Generation
from perdure.store.port import IndexChanges, IndexRow, Position
from perdure.text.bm25 import K1, B
from perdure.text.entry import pack_terms, term_hash

if TYPE_CHECKING:
    from numpy.typing import NDArray

GENERATION = Generation("testing", "arrays", 8, "1")
PLAIN = IndexRow(
    number=0, terms=b"", vector=None, active=True, tier="normal", kind=None, valid_from=None, valid_until=None,
    expires_at=None, dated=0, updated_at=0, category=None, observations=1, confidence=0.5, importance=0.5, anchor=None,
    conversation=None, session=None, speaker=None, question_share=0.0, stability=None,
    trigger_phrases=(),
)  # fmt: skip


class Feed:
    """What is put, changed and dropped, and the log of it. Counts how it is read."""

    def __init__(self) -> None:
        self.rows: dict[int, IndexRow] = {}
        self.words: dict[int, list[str]] = {}
        self.log: list[int] = []
        self.vectors: list[int] = []
        self.repairs = 0
        self.pages = 0
        self.refreshes = 0

    def put(
        self,
        number: int,
        words: Sequence[str],
        vector: NDArray[np.float32] | None = None,
        **fields: Any,
    ) -> None:
        packed = None if vector is None else vector.tobytes()
        self.rows[number] = PLAIN._replace(number=number, terms=pack_terms(words), vector=packed, **fields)
        self.words[number] = list(words)
        self.log.append(number)

    def embed(self, number: int, vector: NDArray[np.float32]) -> None:
        self.rows[number] = self.rows[number]._replace(vector=vector.tobytes())
        self.vectors.append(number)

    def drop(self, number: int) -> None:
        del self.rows[number], self.words[number]
        self.log.append(number)

    def position(self, namespace: str, generation: Generation | None) -> Position:
        return Position(len(self.log), len(self.vectors) if generation else 0, self.repairs)

    def index_rows(
        self, namespace: str, generation: Generation | None, after: int, limit: int, *, with_triggers: bool = False
    ) -> list[IndexRow]:
        self.pages += 1
        return [self.rows[number] for number in sorted(self.rows) if number > after][:limit]

    def index_changes(self, namespace: str, generation: Generation | None, since: Position) -> IndexChanges:
        self.refreshes += 1
        touched = sorted({*self.log[since.seq :], *self.vectors[since.vector :]})
        rows = [self.rows[number] for number in touched if number in self.rows]
        return IndexChanges(rows, [number for number in touched if number not in self.rows])


def bm25(documents: Mapping[int, Sequence[str]], query: Sequence[str]) -> dict[int, float]:
    """Number to score, of the documents that hold any of the words."""
    average = sum(map(len, documents.values())) / max(1, len(documents))
    holding = {word: sum(word in words for words in documents.values()) for word in set(query)}
    scores: dict[int, float] = {}
    for number, words in documents.items():
        counted = Counter(words)
        norm = K1 * (1 - B + B * len(words) / average) if average else 0.0
        score = sum(
            math.log1p((len(documents) - holding[word] + 0.5) / (holding[word] + 0.5))
            * (counted[word] * (K1 + 1) / (counted[word] + norm))
            for word in set(query)
            if counted[word]
        )
        if score:
            scores[number] = score
    return scores


def hashes(words: Sequence[str]) -> list[int]:
    return list(dict.fromkeys(map(term_hash, words)))


def unit(rng: np.random.Generator, *shape: int) -> NDArray[np.float32]:
    vectors = rng.standard_normal(shape).astype(np.float32)
    return vectors / np.linalg.norm(vectors, axis=-1, keepdims=True)
