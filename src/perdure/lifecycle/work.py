"""Work that is outstanding, derived from the state of the store: nothing to lose, and any process may do it."""

from __future__ import annotations

from typing import Final

from perdure.embed.checked import checked_passages
from perdure.embed.port import Embedder, Progress
from perdure.errors import EmbedderUnavailable
from perdure.model import Worked
from perdure.store.port import Store

# Long enough that sorting by length pays, short enough that a kill loses little.
_BATCH: Final = 1024


def embed_pending(
    store: Store,
    embedder: Embedder,
    limit: int | None = None,
    progress: Progress | None = None,
) -> Worked:
    generation = embedder.generation
    total = store.pending_count(generation)
    goal = total if limit is None else min(limit, total)
    done = 0
    notes: tuple[str, ...] = ()
    while done < goal:
        batch = store.pending(generation, min(_BATCH, goal - done))
        if not batch:
            break
        try:
            vectors = checked_passages(
                embedder, [row.passage for row in batch], _shifted(progress, done, goal) if progress else None
            )
        except EmbedderUnavailable as error:
            notes = (f"{error.sentence} {error.remedy}",)
            break
        stored = store.put_vectors(
            generation,
            [(row.namespace, row.passage_hash, vector.tobytes()) for row, vector in zip(batch, vectors, strict=True)],
        )
        done += len(batch)
        if stored == 0:
            # Another process was faster with the whole batch, or its memories are gone; look again.
            goal = min(goal, done + store.pending_count(generation))
    return Worked(done, store.pending_count(generation), notes)


def _shifted(progress: Progress, done: int, goal: int) -> Progress:
    return lambda within, _total: progress(min(done + within, goal), goal)
