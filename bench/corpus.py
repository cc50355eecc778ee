"""What is stored and asked: real texts with their real vectors; above their number, recombinations of them.

No data set is part of this repository. All are for measuring only:

    locomo10.json         github.com/snap-research/locomo, data/locomo10.json (CC BY-NC 4.0)
    scifact/corpus.jsonl  github.com/allenai/scifact in the layout of BEIR (abstracts: ODC-By 1.0)
    beam/*.json           github.com/mohammadtavakoli78/BEAM, chats/100K/1 to 10 (no licence stated)
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, TypeAlias

import numpy as np
from numpy.typing import NDArray

from bench.shuffle import shuffled
from perdure.embed.port import Embedder
from perdure.ids import content_hash
from perdure.text.secrets import redact
from perdure.text.words import query_words

Vectors: TypeAlias = NDArray[np.float32]
Batch: TypeAlias = tuple[list[str], Vectors]
Progress: TypeAlias = Callable[[int, int], None]

SHA256: Final = {
    "locomo": "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
    "scifact": "f0d32db0d156b526d75921ed7a76f2cb912902631c87248c5c97c617bad0b60c",
    "beam": "653b320249232485d118d07df6061e2a6c41d921d775d19c811326070dc3040e",
}
ORIGIN: Final = {
    "locomo": "locomo10.json from github.com/snap-research/locomo (folder data)",
    "scifact": "corpus.jsonl of SciFact from github.com/allenai/scifact, in the layout of BEIR",
    "beam": "chats 1 to 10 of github.com/mohammadtavakoli78/BEAM (folder chats/100K) in one JSON file",
}
REAL: Final = 10_000
QUESTIONS: Final = 300
_SEED: Final = 20260314
_STEP: Final = 10_000
_SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[A-Z])")
_SHORTEST, _LONGEST = 30, 600


class DataMissing(Exception):
    """A data set is not there, or is not the one that the figures are about."""


@dataclass(frozen=True, slots=True)
class Corpus:
    """Texts and vectors of any number, the first of them real. A smaller one is the beginning of a larger."""

    texts: Sequence[str]
    vectors: Vectors
    questions: Sequence[str]
    question_vectors: Vectors
    common: str
    """Five words that very many of the texts hold."""

    def batches(self, size: int) -> Iterator[Batch]:
        real = min(size, len(self.texts))
        for start in range(0, real, _STEP):
            stop = min(real, start + _STEP)
            yield list(self.texts[start:stop]), self.vectors[start:stop]
        yield from self._recombined(size - real)

    def unseen(self, count: int) -> Batch:
        """Texts that no corpus of this kind holds, for adding."""
        rng = np.random.default_rng(_SEED + 1)
        texts, vectors = self._mix(rng, count)
        return [f"{text} (note {number})" for number, text in enumerate(texts)], vectors

    def _recombined(self, count: int) -> Iterator[Batch]:
        rng = np.random.default_rng(_SEED)
        seen = {content_hash(text) for text in self.texts}
        while count > 0:
            texts, vectors = self._mix(rng, _STEP)
            fresh: list[int] = []
            for position, text in enumerate(texts):
                digest = content_hash(text)
                if digest not in seen and _is_plain(text) and len(fresh) < count:
                    seen.add(digest)
                    fresh.append(position)
            count -= len(fresh)
            yield [texts[position] for position in fresh], vectors[fresh]

    def _mix(self, rng: np.random.Generator, count: int) -> Batch:
        """Three quarters of one text and a quarter of another; the vector lies accordingly, with some noise."""
        first, second = rng.integers(len(self.texts), size=(2, count))
        texts = [_join(self.texts[int(a)], self.texts[int(b)]) for a, b in zip(first, second, strict=True)]
        return texts, mixed(rng, self.vectors, first, second)


def mixed(rng: np.random.Generator, vectors: Vectors, first: NDArray[Any], second: NDArray[Any]) -> Vectors:
    """Three quarters of the first ones and a quarter of the second, with some noise."""
    noise = rng.standard_normal((len(first), vectors.shape[1]), dtype=np.float32)
    sums = np.float32(0.75) * vectors[first] + np.float32(0.25) * vectors[second]
    sums += noise * np.float32(0.3 / np.sqrt(vectors.shape[1]))
    return sums / np.linalg.norm(sums, axis=1, keepdims=True)


def load(locomo: Path, scifact: Path | None, embedder: Embedder, cache: Path, progress: Progress) -> Corpus:
    """Read, check and embed the real texts; their vectors are kept in `cache` for the next time."""
    turns, questions = _locomo(checked(locomo, "locomo"))
    rng = np.random.default_rng(_SEED)
    sentences = _scifact(checked(scifact, "scifact")) if scifact else []
    pool = [*turns, *shuffled(sentences, rng)[: max(0, REAL - len(turns))]]
    distinct = {content_hash(text): text for text in pool if _is_plain(text)}
    texts = shuffled(list(distinct.values()), rng)
    asked = shuffled(questions, rng)[:QUESTIONS]
    vectors = _embedded([*texts, *asked], embedder, cache, progress)
    return Corpus(texts, vectors[: len(texts)], asked, vectors[len(texts) :], _common_words(texts))


def checked(path: Path, name: str) -> bytes:
    where = f"It is {ORIGIN[name]}; give its path as --{name} or {name.upper()}=."
    try:
        content = path.read_bytes()
    except OSError as error:
        raise DataMissing(f"{path} cannot be read: {error.strerror}. {where}") from error
    if sha256(content).hexdigest() != SHA256[name]:
        raise DataMissing(f"{path} is another version than the one these figures are about. {where}")
    return content


def _locomo(content: bytes) -> tuple[list[str], list[str]]:
    turns: list[str] = []
    questions: list[str] = []
    for sample in json.loads(content):
        questions += [item["question"] for item in sample["qa"]]
        talk: dict[str, Any] = sample["conversation"]
        for session in (name for name in talk if re.fullmatch(r"session_\d+", name)):
            turns += [_turn(turn, talk[f"{session}_date_time"]) for turn in talk[session]]
    return turns, questions


def _turn(turn: dict[str, Any], date: str) -> str:
    caption = f" [shares image: {turn['blip_caption']}]" if turn.get("blip_caption") else ""
    return f"[{date}] {turn['speaker']}: {turn['text']}{caption}"


def _scifact(content: bytes) -> list[str]:
    abstracts = (json.loads(line)["text"] for line in content.splitlines())
    sentences = (sentence for abstract in abstracts for sentence in _SENTENCE.split(abstract))
    return [sentence for sentence in sentences if _SHORTEST <= len(sentence) <= _LONGEST]


def _is_plain(text: str) -> bool:
    """Perdure would store a text that looks like a secret in another form than its vector was made from."""
    return redact(text).text == text


def _join(first: str, second: str) -> str:
    head, tail = first.split(), second.split()
    return " ".join((*head[: max(1, len(head) * 3 // 4)], *tail[len(tail) * 3 // 4 :]))


def _common_words(texts: Sequence[str]) -> str:
    counts = Counter(word for text in texts for word in query_words(text) if word.isalpha())
    return " ".join(word for word, _ in counts.most_common(5))


def _embedded(texts: Sequence[str], embedder: Embedder, cache: Path, progress: Progress) -> Vectors:
    digest = sha256(json.dumps([embedder.generation.name, *texts]).encode()).hexdigest()
    kept = cache / f"vectors-{digest[:16]}.npy"
    if not kept.exists():
        cache.mkdir(parents=True, exist_ok=True)
        vectors = embedder.embed_passages(texts, progress)
        partial = kept.with_suffix(f".{os.getpid()}.npy")
        np.save(partial, vectors)
        partial.replace(kept)
    return np.load(kept)
