"""A memory that stands behind so many others, both by words and by meaning, when somebody asks for tea."""

from __future__ import annotations

from collections.abc import Sequence
from math import cos, sin
from typing import Any

import numpy as np

from perdure import Memory
from perdure.embed.port import Generation, Progress

QUESTION = "tea"


class CrowdEmbedder:
    """Three directions: what is near to the question, what is less near, and everything else."""

    generation = Generation("test", "near", 2, "1")

    def embed_query(self, text: str) -> Any:
        return self.embed_passages([text])[0]

    def embed_passages(self, texts: Sequence[str], progress: Progress | None = None) -> Any:
        angles = [0.1 if "kettle" in text else 0.5 if "saucer" in text else 1.5 for text in texts]
        angles = [0.0 if text == QUESTION else angle for text, angle in zip(texts, angles, strict=True)]
        return np.array([[cos(angle), sin(angle)] for angle in angles], np.float32)


def remember_behind(memory: Memory, ahead: int) -> int:
    """The number of a memory with so many ahead of it in either list."""
    behind = memory.remember("tea in a saucer with many other words that make it long and so less about it")
    memory.import_({"text": f"tea {number}"} for number in range(ahead))
    memory.import_({"text": f"kettle {number}"} for number in range(ahead))
    memory.work()
    return behind.record.number
