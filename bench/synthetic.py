"""Texts made up with the frequencies that words have, and vectors in clusters: no data set and no model is needed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

import numpy as np

from bench.corpus import Batch, Corpus, Vectors
from bench.lives import InstantVectors
from perdure import Memory
from perdure.embed.port import Progress

TEXTS: Final = 10_000
QUESTIONS: Final = 300
# The smallest store that is asked holds so many of the texts, and with them the answers.
_SMALLEST: Final = 1000
_SEED: Final = 20261115
_VOCABULARY: Final = 50_000
# Zipf's law without its first words: those are the stopwords, which no search asks for.
_STOPWORDS: Final = 20
_WORDS_PER_TEXT: Final = 20
_WORDS_PER_QUESTION: Final = 5
_CLUSTERS: Final = 200
# As far from its cluster as the cluster is from the origin: the texts of one topic have a cosine of about a half.
_SPREAD: Final = 1.0
_ONSETS: Final = ("b", "d", "f", "g", "k", "l", "m", "n", "p", "r", "st", "t", "v", "w", "z")
_VOWELS: Final = ("a", "e", "i", "o", "u")
_SYLLABLES: Final = tuple(onset + vowel for onset in _ONSETS for vowel in _VOWELS)


class GivenVectors(InstantVectors):
    """Vectors that were made earlier; of a text it does not know, one drawn from its hash."""

    def __init__(self, dimensions: int) -> None:
        super().__init__(dimensions)
        self._known: dict[str, Vectors] = {}

    def know(self, texts: Sequence[str], vectors: Vectors) -> None:
        self._known = dict(zip(texts, vectors, strict=True))

    def embed_query(self, text: str) -> Vectors:
        known = self._known.get(text)
        return super().embed_passages([text])[0] if known is None else known

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:  # noqa: ARG002
        return np.stack([self.embed_query(text) for text in texts])


def synthetic(dimensions: int) -> Corpus:
    rng = np.random.default_rng(_SEED)
    texts = list(_texts(rng, TEXTS, _WORDS_PER_TEXT))
    asked = list(_texts(rng, QUESTIONS, _WORDS_PER_QUESTION))
    centres = rng.standard_normal((_CLUSTERS, dimensions), dtype=np.float32)
    vectors, asked_vectors = _clustered(rng, centres, TEXTS), _clustered(rng, centres, QUESTIONS)
    for question in range(0, QUESTIONS, 2):
        # Every second question has an answer: some of the words of a text, and a vector near to its own.
        text = int(rng.integers(_SMALLEST))
        asked[question] = " ".join(texts[text].split()[:_WORDS_PER_QUESTION])
        asked_vectors[question] += 2 * vectors[text]
        asked_vectors[question] /= np.linalg.norm(asked_vectors[question])
    common = " ".join(_word(rank) for rank in range(5))
    return Corpus(texts, vectors, asked, asked_vectors, common)


def fill(memory: Memory, given: GivenVectors, batches: Iterable[Batch]) -> None:
    for texts, vectors in batches:
        given.know(texts, vectors)
        done = memory.import_({"text": text} for text in texts)
        worked = memory.work()
        if done.inserted != len(texts) or worked.vectors_pending:
            raise RuntimeError(f"Of {len(texts)} texts {done} were stored, and then {worked}.")


def _texts(rng: np.random.Generator, count: int, words: int) -> Iterator[str]:
    shares = 1 / (np.arange(_VOCABULARY) + _STOPWORDS)
    drawn = rng.choice(_VOCABULARY, size=(count, words), p=shares / shares.sum())
    return (" ".join(map(_word, row)) for row in drawn.tolist())


def _word(rank: int) -> str:
    """Another one for each rank, frequent ones not longer than rare ones."""
    first, rest = divmod(rank, len(_SYLLABLES))
    second, third = divmod(first, len(_SYLLABLES))
    return _SYLLABLES[rest] + _SYLLABLES[third] + _SYLLABLES[second] + "n"


def _clustered(rng: np.random.Generator, centres: Vectors, count: int) -> Vectors:
    chosen = centres[rng.integers(len(centres), size=count)]
    drawn = chosen + np.float32(_SPREAD) * rng.standard_normal(chosen.shape, dtype=np.float32)
    return drawn / np.linalg.norm(drawn, axis=1, keepdims=True)
