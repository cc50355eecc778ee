"""Storing and asking, through `perdure.Memory` alone."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, TypeAlias

from bench.recall.data import Collection, Question
from bench.recall.ladder import Rung, recipes
from perdure import Memory
from perdure.embed.port import Embedder
from perdure.settings import Settings

# As deep as any measure looks. The candidates are the same as for ten, so that the first ten are, too.
DEEPEST: Final = 50
# The namespace that holds all of them.
POOLED: Final = "everything"

# For each question the names of what was found, best first.
Rankings: TypeAlias = list[list[str]]


@contextmanager
def stored(collections: Sequence[Collection], embedder: Embedder) -> Generator[Memory]:
    """A store with a namespace for each of them, and one for all if they are several."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(store=path, cache=Path(folder), actor="bench", recipes=recipes())
        with Memory(path, embedder=embedder, settings=settings) as memory:
            for collection in collections:
                _store(memory.namespace(collection.name), collection.memories)
            if len(collections) > 1:
                _store(memory.namespace(POOLED), [one for each in collections for one in each.memories])
            yield memory


def _store(memory: Memory, memories: Sequence[Mapping[str, Any]]) -> None:
    done = memory.import_(memories)
    worked = memory.work()
    if done.inserted != len(memories) or worked.vectors_pending:
        raise RuntimeError(f"Of {len(memories)} memories {done} were stored, and then {worked}.")


def asked(
    memory: Memory, questions: Sequence[Question], rung: Rung, limit: int = DEEPEST, min_relevance: float = 0.0
) -> Rankings:
    """Without a floor: a ranking is measured whole."""
    answers = (
        memory.recall(question.text, limit=limit, recipe=rung.name, min_relevance=min_relevance)
        for question in questions
    )
    return [[str(hit.record.metadata["name"]) for hit in answer] for answer in answers]
