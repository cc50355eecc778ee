"""Does the floor of relevance hold with a model of which nothing is known? `python -m bench.crowded` asks.

The packaged model's vectors are crowded: a constant direction is added to all of them, so that every cosine becomes
a + (1 - a) · cosine. Nothing is known of such a model but what is measured when its first vector is stored. Each row
says how many foreign claims find nothing, and how many of the own questions keep their evidence.
"""

# pyright: reportPrivateUsage=false

from __future__ import annotations

import argparse
import os
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import numpy as np

from bench.corpus import Vectors
from bench.ours import local_embedder
from bench.recall.data import Collection, Question, locomo, scifact
from bench.recall.vectors import Remembering
from perdure import Memory
from perdure.embed.port import Embedder, Generation, Progress

_SHARES: Final = (0.0, 0.3, 0.6, 0.8)
_CONVERSATIONS: Final = 4
_CLAIMS: Final = 50
_QUESTIONS: Final = 60
_SMALL: Final = (1, 2, 3)
_SEED: Final = 20260314


class Crowded:
    """The vectors of another embedder, with a constant direction added."""

    def __init__(self, embedder: Embedder, share: float) -> None:
        self._embedder = embedder
        self._share = share
        self.generation = Generation("bench", f"crowded-{share}", embedder.generation.dimensions + 1, "1")

    def embed_query(self, text: str) -> Vectors:
        return self._crowd(self._embedder.embed_query(text)[np.newaxis])[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Vectors:
        return self._crowd(self._embedder.embed_passages(texts, progress))

    def _crowd(self, vectors: Vectors) -> Vectors:
        constant = np.full((len(vectors), 1), self._share**0.5, np.float32)
        return np.hstack([vectors * np.float32((1 - self._share) ** 0.5), constant])


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.crowded", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--locomo", type=Path, default=os.environ.get("LOCOMO"), required="LOCOMO" not in os.environ)
    parser.add_argument("--scifact", type=Path, required=True)
    parser.add_argument("--cache", type=Path, default=Path(__file__).parent / ".cache")
    options = parser.parse_args(arguments)
    conversations, claims = locomo(options.locomo)[:_CONVERSATIONS], scifact(options.scifact).questions
    known = Remembering(local_embedder(), options.cache)
    print(f"{'model':<14}{'unrelated':>10}{'claims empty':>14}{'own kept':>10}   claims empty with 1, 2, 3 memories")
    for embedder in (known, *(Crowded(known, share) for share in _SHARES)):
        print(_row(embedder, conversations, claims), flush=True)
    known.keep()


def _row(embedder: Embedder, conversations: Sequence[Collection], claims: Sequence[Question]) -> str:
    draw = random.Random(_SEED)  # noqa: S311 - the same questions every time
    empty: list[bool] = []
    kept: list[bool] = []
    small: list[list[bool]] = [[] for _ in _SMALL]
    with Memory(":memory:", embedder=embedder) as memory:
        for each in conversations:
            space = memory.namespace(each.name)
            space.import_(each.memories, trusted=True)
            memory.work()
            empty += (not space.recall(claim.text).hits for claim in draw.sample(list(claims), _CLAIMS))
            for question in draw.sample(list(each.questions), min(_QUESTIONS, len(each.questions))):
                names = [
                    {str(hit.record.metadata["name"]) for hit in space.recall(question.text, min_relevance=floor)}
                    for floor in (0.0, None)
                ]
                if names[0] & question.gold:
                    kept.append(bool(names[1] & question.gold))
        unrelated = memory._services.embedders.current().unrelated  # noqa: SLF001
    for place, count in enumerate(_SMALL):
        for each in conversations:
            with Memory(":memory:", embedder=embedder) as memory:
                for record in draw.sample(list(each.memories), count):
                    memory.remember(record["text"])
                small[place] += (not memory.recall(claim.text).hits for claim in draw.sample(list(claims), _CLAIMS))
    few = ", ".join(f"{np.mean(share):.1%}" for share in small)
    measured = "known" if unrelated is None else f"{unrelated:.3f}"
    return f"{embedder.generation.model:<14.14}{measured:>10}{np.mean(empty):>14.1%}{np.mean(kept):>10.1%}   {few}"


if __name__ == "__main__":
    main()
