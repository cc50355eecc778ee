"""`perdure work`."""

from __future__ import annotations

from perdure.cli.command import Target, command, option
from perdure.cli.exit_codes import NO_ANSWER, OK
from perdure.cli.progress import Bar
from perdure.cli.render import View
from perdure.cli.terminal import note


@command("work", examples=("perdure work", "perdure work --limit 1000", "perdure work --drop-old-vectors"))
@option(
    "--limit", "-l", type=int, metavar="COUNT", help="Maximum number of memories to embed, or to find keywords for."
)
@option("--purge/--no-purge", default=None,
        help="Expire and purge even though the system clock jumped; or purge nothing.")  # fmt: skip
@option("--drop-old-vectors", is_flag=True, help="Delete the vectors of models that were in use before.")
def main(target: Target, *, limit: int | None, purge: bool | None, drop_old_vectors: bool) -> View:
    """Do outstanding work, such as missing vectors.

    Stores messages that were queued while the store was locked. Memories that were stored without a model, or imported,
    are found by words at once and by meaning after this. Splits conversations into episodes, extracts facts once enough
    episodes are waiting, and reviews the episodes that were retrieved. Compares memories with those near them, and
    `perdure conflicts` lists what contradicts. Learnings without keywords get some, from the
    language model of the settings if there is one. Memories whose time is over become expired, and evicted ones are
    removed when their grace period is over. After the setting `embedder` was changed, the old model answers until this
    has made every vector anew. It may be interrupted and run again at any time, by any process. Exit code 8 when
    vectors are missing and none could be made.
    """
    from perdure.session.spool import Spool

    with target.memory() as memory, Bar("Working") as bar:
        stored = Spool(target.own_settings.store).drain(memory)
        result = memory.work(limit=limit, purge=purge, drop_old_vectors=drop_old_vectors, progress=bar)
    done = [f"Stored {stored:,} {'message' if stored == 1 else 'messages'} that waited."] if stored else []
    if result.expired:
        done.append(f"Expired {result.expired:,}.")
    if result.purged:
        done.append(f"Removed {result.purged:,} that were evicted.")
    if result.episodes_made:
        done.append(f"Made {result.episodes_made:,} {'episode' if result.episodes_made == 1 else 'episodes'}.")
    if result.episodes_reviewed:
        done.append(f"Reviewed {result.episodes_reviewed:,}.")
    if result.episodes_consolidated:
        done.append(f"Consolidated {result.episodes_consolidated:,}: {result.facts_changed:,} facts changed.")
    if result.keywords_added:
        done.append(f"Found keywords for {result.keywords_added:,}.")
    if result.embedded or result.vectors_pending:
        done.append(f"Embedded {result.embedded:,}; {result.vectors_pending:,} left.")
    if result.memories_compared:
        found = result.contradictions_found
        done.append(
            f"Compared {result.memories_compared:,}"
            + (f"; {found:,} contradictions: perdure review." if found else ".")
        )
    if not done and not result.notes:
        done.append("Nothing to do.")
    stuck = result.vectors_pending and not result.embedded and limit != 0
    lines = [" ".join(done)] if done else []
    return View(json=result, lines=lines, after=map(note, result.notes), exit_code=NO_ANSWER if stuck else OK)
