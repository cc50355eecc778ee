"""Storing and asking, through `perdure.Memory` alone."""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

from bench.recall.data import Collection
from bench.recall.systems import System, recipes
from perdure import Memory
from perdure.embed.port import Embedder
from perdure.location import locate
from perdure.settings import Settings

# What users get, and what every set is judged by.
FIRST: Final = 10
# As deep as any measure looks. The candidates are the same as for ten, so that the first ten are, too.
DEEPEST: Final = 50
# The namespace that holds all collections.
POOLED: Final = "everything"


class Answered(NamedTuple):
    """The names of what was found, best first, and the number that is shown beside each."""

    names: Sequence[str]
    relevances: Sequence[float] = ()


@contextmanager
def stored(collections: Sequence[Collection], embedder: Embedder, *, pooled: bool = False) -> Generator[Memory]:
    """A store with a namespace for each of them and, if `pooled`, one for all together."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        settings = Settings(store=locate(path), cache=Path(folder), actor="bench", recipes=recipes())
        with Memory(path, embedder=embedder, settings=settings) as memory:
            for collection in collections:
                _store(memory.namespace(collection.name), collection.memories)
            if pooled:
                _store(memory.namespace(POOLED), [one for each in collections for one in each.memories])
            yield memory


def _store(memory: Memory, memories: Sequence[Mapping[str, Any]]) -> None:
    done = memory.import_(memories)
    worked = memory.work()
    if done.inserted != len(memories) or worked.vectors_pending:
        raise RuntimeError(f"Of {len(memories)} memories {done} were stored, and then {worked}.")


def asked(
    memory: Memory, questions: Iterable[str], system: System, limit: int = FIRST, floor: float | None = None
) -> list[Answered]:
    """Without a `floor` of its own, the system decides whether there is one."""
    least = floor if floor is not None else None if system.has_floor else 0.0
    recipe = system.name if system.table is not None else None
    return [_answered(memory, question, recipe, limit, least) for question in questions]


def _answered(memory: Memory, question: str, recipe: str | None, limit: int, floor: float | None) -> Answered:
    hits = list(memory.recall(question, limit=limit, recipe=recipe, min_relevance=floor))
    return Answered([str(hit.record.metadata["name"]) for hit in hits], [hit.relevance for hit in hits])
