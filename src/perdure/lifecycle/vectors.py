"""Missing vectors: they are made in batches, by any number of processes, each of which may die at any time.

What is missing is what the store does not have, so nothing remembers how far a run came. The generation of the settings
serves as soon as none of its vectors is missing; until then the one that served before goes on.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import timedelta
from itertools import accumulate
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.clock import format_local
from perdure.embed.calibration import TEXTS, unrelated_cosine
from perdure.embed.choice import Chosen
from perdure.embed.port import (
    Embedder,
    Generation,
    checked_vectors,
    distinct_names,
    passage_vectors,
    window_of,
)
from perdure.errors import EmbedderUnavailable, PerdureError, StoreError
from perdure.model import Finding, MaintenanceResult
from perdure.store.capabilities import index_folder_of
from perdure.store.port import Pending, Progress, Store
from perdure.store.stats import GenerationStats
from perdure.text.windows import MAX_WINDOWS, takes_long

if TYPE_CHECKING:
    from perdure.embed.port import Vectors
    from perdure.services import Services

# Of the packaged model: long enough that sorting by length pays, short enough that a kill loses little. Of others: what
# every provider takes in one request.
_LOCAL_BATCH: Final = 1024
_BATCH: Final = 50
# A recall makes missing vectors itself, in batches of 64, for one second.
_RECALL_BATCH_SIZE: Final = 64
_RECALL_SECONDS: Final = 1.0
# A provider that asks for a pause of up to 5 seconds is waited for, at most 3 times in a row.
_MAX_PAUSE_SECONDS: Final = 5.0
_MAX_PAUSES: Final = 3
# While somebody writes, there may be something to embed again and again.
_ROUNDS: Final = 20
# A generation may serve while its model refuses at most one passage in a hundred.
_REFUSED_SHARE: Final = 100
# The statuses by which a server refuses a text; none where a vector was no good.
_ABOUT_TEXTS: Final = frozenset({None, 400, 413, 422})
_NOT_TAKEN: Final = "Memories without a vector, because the embedder did not take their texts: {}."
_DROPPED_AT_ONCE: Final = 1000
_START_BYTES: Final = 4
_MEBIBYTE: Final = 1 << 20
# Tests do not wait.
wait: Callable[[float], None] = time.sleep


class _Portion(NamedTuple):
    """Vectors by the place of their passage, and why the others have none."""

    vectors: Mapping[int, Vectors]
    failure: EmbedderUnavailable | None = None


def measure(store: Store, embedder: Embedder) -> bool:
    """Measure how near unrelated texts are to each other with this model: once for each store, in a request of its own.
    False when it could not be done.
    """
    try:
        vectors = checked_vectors(embedder, TEXTS)
        store.put_calibration(embedder.generation, unrelated_cosine(vectors))
    except PerdureError:
        return False
    return True


def make_vectors(services: Services, target: Chosen, limit: int | None, progress: Progress | None) -> MaintenanceResult:
    """Embed what has no vector of the target, and let it serve when nothing is missing any more."""
    store, generation = services.store, target.generation
    if target.embedder is None or generation is None:
        return MaintenanceResult(0, 0)
    run = _EmbeddingRun(store, target.embedder, generation, limit, progress)
    for _ in range(_ROUNDS):
        before = run.done
        run.embed_all()
        # Writers meanwhile wrote vectors of the serving generation, so there may be more to embed.
        if run.failure is not None or store.serving_generation() == generation or store.serve(generation, run.spared()):
            break
        if run.is_full or run.done == before:
            break
    if run.failure is None and generation.provider != "local" and store.calibration(generation) is None:
        measure(store, target.embedder)
    notes: list[str] = []
    if run.failure is not None:
        again = ""
        if run.failure.retry_after is not None:
            later = services.context.clock() + timedelta(seconds=run.failure.retry_after)
            again = f" It can be asked again from {format_local(later, '%H:%M:%S')} on."
        notes.append(f"{run.failure.sentence}{again} {run.failure.cli_remedy}")
    elif run.refusal is not None:
        notes.append(f"{_NOT_TAKEN.format(len(run.refused))} {run.refusal.sentence} {run.refusal.cli_remedy}")
    return MaintenanceResult(run.done, store.pending_count(generation), tuple(notes))


def make_few_vectors(services: Services) -> int:
    """Make the few vectors that a recall would miss, so that `work` is needed only when there are many. Only
    with the model that runs here, for about a second, and without waiting for another writer.
    """
    chosen, done = services.embedders.current(), 0
    if chosen.embedder is None or chosen.generation is None or chosen.generation.provider != "local":
        return 0
    end = time.monotonic() + _RECALL_SECONDS
    while time.monotonic() < end:
        run = _EmbeddingRun(
            services.store, chosen.embedder, chosen.generation, _RECALL_BATCH_SIZE, None, patience=0.0, end=end
        )
        try:
            run.embed_all()
        except StoreError:
            break
        done += run.done
        if run.done < _RECALL_BATCH_SIZE:
            break
    return done


class _EmbeddingRun:
    """One run over all that is missing, batch by batch."""

    def __init__(
        self,
        store: Store,
        embedder: Embedder,
        generation: Generation,
        limit: int | None,
        progress: Progress | None,
        *,
        patience: float | None = None,
        end: float | None = None,
    ) -> None:
        self._patience = patience
        self._end = end
        self.done = 0
        self.failure: EmbedderUnavailable | None = None
        self.refusal: EmbedderUnavailable | None = None
        self._store = store
        self._embedder = embedder
        self._generation = generation
        self._limit = limit
        self._progress = progress
        self._size = _LOCAL_BATCH if generation.provider == "local" else _BATCH
        self.refused: set[bytes] = set()
        # Several processes begin at different places.
        self._start = os.urandom(_START_BYTES)

    @property
    def is_full(self) -> bool:
        late = self._end is not None and time.monotonic() >= self._end
        return late or (self._limit is not None and self.done >= self._limit)

    def spared(self) -> Collection[bytes]:
        """Passages without which the generation may serve: a text that its model refuses must not stop it for ever."""
        made = next((each.vectors for each in self._store.generations() if each.generation == self._generation), 0)
        return self.refused if len(self.refused) * _REFUSED_SHARE <= made else ()

    def embed_all(self) -> None:
        pauses, goal = 0, self._goal()
        while not self.is_full:
            batch = self._next_batch()
            if not batch:
                return
            vectors, failure = self._embed(batch, goal)
            stored = self._put(batch, vectors)
            self.done += stored
            if failure is None or (vectors and _is_about_texts(failure)):
                # One of these texts is not wanted, and the others are.
                self.refused |= {row.passage_hash for place, row in enumerate(batch) if place not in vectors}
                self.refusal, pauses = failure or self.refusal, 0
            elif pauses < _MAX_PAUSES and failure.retry_after is not None and failure.retry_after <= _MAX_PAUSE_SECONDS:
                pauses += 1
                wait(failure.retry_after)
                continue
            else:
                self.failure = failure
                return
            self._start = batch[-1].passage_hash
            if stored < len(vectors):
                # Another process was here as well, or the memories are gone.
                self._start, goal = os.urandom(_START_BYTES), self._goal()

    def _goal(self) -> int:
        total = self.done + self._store.pending_count(self._generation)
        return total if self._limit is None else min(self._limit, total)

    def _next_batch(self) -> list[Pending]:
        size = self._size if self._limit is None else min(self._size, self._limit - self.done)
        rows = self._store.pending(self._generation, size + len(self.refused), self._start)
        rows = [row for row in rows if row.passage_hash not in self.refused][:size]
        window = window_of(self._embedder)
        if window is None:
            return rows
        if self._end is not None and (long := {row.passage_hash for row in rows if takes_long(row.passage, window)}):
            self.refused |= long
            return self._next_batch()
        # A long memory counts once for each of its windows, by estimate.
        totals = accumulate(min(1 + len(row.passage.text) // window, MAX_WINDOWS) for row in rows)
        return rows[: max(1, sum(total <= size for total in totals))]

    def _embed(self, batch: Sequence[Pending], goal: int) -> _Portion:
        def report(embedded: int, _: int) -> None:
            if self._progress:
                self._progress(min(self.done + embedded, goal), goal)

        try:
            vectors = passage_vectors(self._embedder, [row.passage for row in batch], report, self._generation)
        except EmbedderUnavailable as error:
            return _Portion(error.good or {}, error)
        report(len(batch), len(batch))
        return _Portion(dict(enumerate(vectors)))

    def _put(self, batch: Sequence[Pending], vectors: Mapping[int, Vectors]) -> int:
        by_namespace: dict[str, list[tuple[bytes, bytes]]] = {}
        for place, vector in vectors.items():
            pair = (batch[place].passage_hash, vector.tobytes())
            by_namespace.setdefault(batch[place].namespace, []).append(pair)
        stored = 0
        for namespace, pairs in sorted(by_namespace.items()):
            with self._store.write_together([namespace], patience=self._patience) as (writer,):
                stored += writer.put_vectors(self._generation, pairs)
        return stored


def _is_about_texts(failure: EmbedderUnavailable) -> bool:
    """Whether it is the texts that got no vector, and not the budget or a server that cannot answer now."""
    return failure.retry_after is None and failure.status in _ABOUT_TEXTS


def delete_old_vectors(store: Store, target: Generation | None) -> list[str]:
    """Delete the vectors of all generations that neither serve nor are being made, also in index files."""
    notes: list[str] = []
    folder = index_folder_of(store)
    for stats in store.generations():
        if stats.serving or stats.generation == target:
            continue
        while store.drop_vectors(stats.generation, _DROPPED_AT_ONCE) == _DROPPED_AT_ONCE:
            pass
        files = [folder.file(name, stats.generation) for name in store.namespaces()] if folder is not None else []
        for file in files:
            file.unlink(missing_ok=True)
        notes.append(f"Deleted {_described(stats)}, which was no longer in use.")
    return notes


def generation_findings(store: Store, target: Generation | None) -> list[Finding]:
    """How far a change of the model is, and what the vectors of earlier models take."""
    stats = store.generations()
    found: list[Finding] = []
    serving = next((each.generation for each in stats if each.serving), None)
    if serving is not None and target is not None and target != serving:
        missing = store.pending_count(target)
        total = missing + next((each.vectors for each in stats if each.generation == target), 0)
        made, answering = distinct_names(target, serving)
        sentence = f"Re-embedding for {made}: {total - missing:,} of {total:,} memories done."
        remedy = f"`perdure work` goes on; until it is done the vectors of {answering} answer."
        found.append(Finding("generation", "warning", sentence, remedy))
    old = [each for each in stats if not each.serving and each.generation != target and each.vectors]
    if old:
        listed = ", ".join(map(_described, old))
        found.append(
            Finding(
                "old_vectors", "ok", f"Kept, but not used: {listed}. `perdure work --drop-old-vectors` deletes them."
            )
        )
    return found


def _described(stats: GenerationStats) -> str:
    return f"{stats.vectors:,} vectors of {stats.generation.label} ({stats.bytes / _MEBIBYTE:.1f} MiB)"
