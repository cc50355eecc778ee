"""Outstanding work: expiring, purging, episodes, facts, keywords, vectors, comparing, scrubbing. It follows from the
state of the store, so nothing is lost when a process dies, and any process may do it.
"""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from perdure.episodes.work import work_on_episodes
from perdure.errors import NotAllowed, StoreReadOnly
from perdure.ids import MAX_NUMBER
from perdure.learn.compare_work import compare_waiting
from perdure.learn.consolidate import work_on_consolidation
from perdure.lifecycle.expiry import expire_and_purge
from perdure.lifecycle.keyword_work import add_keywords
from perdure.lifecycle.vectors import delete_old_vectors, make_vectors
from perdure.model import MaintenanceResult
from perdure.providers.budget import background
from perdure.store.capabilities import listed, scrub
from perdure.store.port import Progress
from perdure.validation import check_bool, check_int, optional

if TYPE_CHECKING:
    from perdure.services import Services

# How long it waits for others to let go of the log in which erased bytes may still be.
_PATIENCE: Final = 2.0
_PASSING: Final = 0.25
# The surfaces of programs that do outstanding work by themselves.
_SERVERS: Final = frozenset({"http", "mcp"})
_LEASE_SECONDS: Final = 60.0
_ELSEWHERE: Final = "Another server does the outstanding work of this store now."
_UNSCRUBBED: Final = (
    "Erased text may still be in the write-ahead log, because another process uses it; the next run tries again."
)


@background()
def work(
    services: Services,
    *,
    limit: int | None = None,
    purge: bool | None = None,
    drop_old_vectors: bool = False,
    progress: Progress | None = None,
) -> MaintenanceResult:
    """`purge` says that the clock is right (True), or that nothing is to be purged now (False)."""
    optional(check_bool, purge, "purge")
    check_bool(drop_old_vectors, "drop_old_vectors")
    if limit is not None:
        check_int(limit, "limit", 0, MAX_NUMBER)
    if purge and not services.context.is_person:
        raise NotAllowed("Only a person may confirm that the clock is right after it jumped.")
    if services.settings.store.kind == "database" and services.context.surface in _SERVERS:
        from platform import node

        # Servers on several machines would ask a model the same. Each portion of the work takes the lease again.
        owner = f"{node()}-{os.getpid()}-{id(services.store)}"
        if not services.store.lease("work", owner, _LEASE_SECONDS):
            return MaintenanceResult(0, 0, (_ELSEWHERE,))
    services.store.flush_use(patience=_PASSING)
    expiry = expire_and_purge(services, purge=purge)
    episodes = work_on_episodes(services, progress)
    store, target = services.store, services.embedders.target()
    # By the vectors of what was said it is found what ends by it.
    is_compared = services.judge is not None and target.generation is not None
    ahead = make_vectors(services, target, limit, progress) if is_compared else MaintenanceResult(0, 0)
    facts = work_on_consolidation(services, limit, progress)
    # Keywords are part of what is embedded.
    keywords = add_keywords(services, limit, progress)
    if ahead.notes:
        embedded = ahead
    elif target.generation is not None:
        embedded = make_vectors(services, target, limit and max(limit - ahead.embedded, 0), progress)
        embedded = replace(embedded, embedded=embedded.embedded + ahead.embedded)
    elif services.wants_vectors:
        waiting = sum(space.vectors_pending for space in store.stats(None).namespaces)
        finding = services.embedder_finding(target)
        embedded = MaintenanceResult(0, waiting, (" ".join(filter(None, (finding.sentence, finding.remedy))),))
    else:
        embedded = MaintenanceResult(0, 0)
    # By their vectors memories are found that may contradict each other.
    comparisons = compare_waiting(services, limit, progress)
    notes = [*expiry.notes, *episodes.notes, *facts.notes, *keywords.notes, *embedded.notes, *comparisons.notes]
    if drop_old_vectors:
        notes += delete_old_vectors(store, target.generation)
    # An earlier erasure may have had to leave bytes behind, so this is done when nothing was purged, too.
    with suppress(StoreReadOnly):
        scrubbed = scrub(store, patience=_PATIENCE if expiry.purged else _PASSING)
        if expiry.purged:
            notes += filter(None, ["" if scrubbed.done else _UNSCRUBBED, listed(scrubbed.left)])
    # Last, when the namespaces are what they will be.
    services.write_index_files(every=services.context.surface not in _SERVERS)
    return replace(
        embedded,
        notes=tuple(notes),
        expired=expiry.expired,
        purged=expiry.purged,
        held=expiry.held,
        keywords_added=keywords.memories,
        episodes_made=episodes.made,
        episodes_reviewed=episodes.reviewed,
        episodes_consolidated=facts.episodes,
        facts_changed=len(facts.changes),
        memories_compared=comparisons.compared,
        contradictions_found=comparisons.proposed,
    )
