"""Outstanding work: expiring, purging, keywords, embedding, scrubbing. It follows from the state of the store, so
nothing is lost when a process dies, and any process may do it.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from perdure.embed.port import Embedder, checked_vectors
from perdure.errors import EmbedderUnavailable, NotAllowed, StoreReadOnly
from perdure.ids import MAX_NUMBER
from perdure.lifecycle.expiry import expire_and_purge
from perdure.lifecycle.keyword_work import add_keywords
from perdure.maintenance_results import Backup, BackupRestored, MaintenanceResult
from perdure.providers.budget import background
from perdure.store.port import Progress, Store
from perdure.validation import check_bool, check_int, optional

if TYPE_CHECKING:
    from perdure.services import Services

# Long enough that sorting by length pays, short enough that a kill loses little.
_BATCH: Final = 1024
# How long it waits for others to let go of the log in which erased bytes may still be.
_PATIENCE: Final = 2.0
_PASSING: Final = 0.25
_UNSCRUBBED: Final = (
    "Erased text may still be in the write-ahead log, because another process uses it; the next run tries again."
)


@background()
def work(
    services: Services, *, limit: int | None = None, purge: bool | None = None, progress: Progress | None = None
) -> MaintenanceResult:
    """`purge` says that the clock is right (True), or that nothing is to be purged now (False)."""
    optional(check_bool, purge, "purge")
    if limit is not None:
        check_int(limit, "limit", 0, MAX_NUMBER)
    if purge and not services.context.is_person:
        raise NotAllowed("Only a person may confirm that the clock is right after it jumped.")
    services.store.flush_use(patience=_PASSING)
    expiry = expire_and_purge(services, purge=purge)
    # Keywords are part of what is embedded.
    keywords = add_keywords(services, limit, progress)
    store, embedder = services.store, services.embedder
    if embedder is None and services.settings.embedder == "none":
        embedded = MaintenanceResult(0, 0)
    elif embedder is None:
        waiting = sum(space.vectors_pending for space in store.stats(None).namespaces)
        finding = services.embedder_finding()
        embedded = MaintenanceResult(0, waiting, (" ".join(filter(None, (finding.sentence, finding.remedy))),))
    else:
        embedded = embed_pending(store, embedder, limit, progress)
    notes = [*expiry.notes, *keywords.notes, *embedded.notes]
    # An earlier erasure may have had to leave bytes behind, so this is done when nothing was purged, too.
    with suppress(StoreReadOnly):
        if not store.scrub(patience=_PATIENCE if expiry.purged else _PASSING) and expiry.purged:
            notes.append(_UNSCRUBBED)
    return replace(
        embedded,
        notes=tuple(notes),
        expired=expiry.expired,
        purged=expiry.purged,
        held=expiry.held,
        keywords_added=keywords.memories,
    )


def backup(services: Services, path: str, *, overwrite: bool, progress: Progress | None) -> Backup:
    """A copy of the whole store, with the use that was counted until now."""
    services.store.flush_use(patience=_PASSING)
    return services.store.backup(path, progress, overwrite=overwrite)


def restore_backup(
    services: Services, path: str, *, keep: bool, erased: str | None, progress: Progress | None
) -> BackupRestored:
    """Put a backup in the place of the store. The copy that is kept has the use that was counted until now."""
    if not services.context.is_person:
        raise NotAllowed("Only a person may put a backup in the place of the store.")
    services.store.flush_use(patience=_PASSING)
    return services.store.restore_backup(path, keep=keep, erased=erased, progress=progress)


def embed_pending(
    store: Store,
    embedder: Embedder,
    limit: int | None = None,
    progress: Progress | None = None,
) -> MaintenanceResult:
    generation = embedder.generation
    total = store.pending_count(generation)
    goal = total if limit is None else min(limit, total)
    done = 0
    notes: tuple[str, ...] = ()

    def report(embedded: int, _: int) -> None:
        if progress:
            progress(min(done + embedded, goal), goal)

    while done < goal:
        batch = store.pending(generation, min(_BATCH, goal - done))
        if not batch:
            break
        try:
            vectors = checked_vectors(embedder, [row.passage for row in batch], report)
        except EmbedderUnavailable as error:
            notes = (f"{error.sentence} {error.remedy}",)
            break
        names = sorted({row.namespace for row in batch})
        with store.write_together(names) as writers:
            writer_of = dict(zip(names, writers, strict=True))
            stored = sum(
                writer_of[row.namespace].put_vector(generation, row.passage_hash, vector.tobytes())
                for row, vector in zip(batch, vectors, strict=True)
            )
        done += len(batch)
        if stored == 0:
            # Another process was faster with the whole batch, or its memories are gone; look again.
            goal = min(goal, done + store.pending_count(generation))
    return MaintenanceResult(done, store.pending_count(generation), notes)
