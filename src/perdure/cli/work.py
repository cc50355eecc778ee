"""`perdure work`."""

from __future__ import annotations

from collections.abc import Iterator

from perdure.cli.command import command, option
from perdure.cli.progress import Bar
from perdure.cli.screen import notes, say
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable
from perdure.model import MaintenanceResult


@command("work", examples=("perdure work", "perdure work --limit 1000", "perdure work --expire"))
@option("--limit", "-l", type=int, metavar="COUNT", help="Embed at most so many.")
@option("--expire/--no-expire", default=None, help="Expire what is due although the clock leapt, or nothing at all.")
@with_target()
def main(target: Target, *, limit: int | None, expire: bool | None) -> None:
    """Do outstanding work, such as missing vectors.

    Memories that were stored without a model, or imported, are found by words at once and by meaning after this.
    Memories whose time is over become expired, and evicted ones are removed when their grace period is over. It may
    be interrupted and run again at any time, by any process.
    """
    with target.memory() as memory, Bar("Embedding") as bar:
        worked = memory.work(limit=limit, expire=expire, progress=bar)
    if target.json:
        target.answer(to_jsonable(worked))
        return
    done = list(_done(worked))
    if done:
        say(" ".join(done))
    elif not worked.notes:
        say("Nothing to do.")
    notes(worked.notes)


def _done(worked: MaintenanceResult) -> Iterator[str]:
    if worked.expired:
        yield f"Expired {worked.expired:,}."
    if worked.purged:
        yield f"Removed {worked.purged:,} that were evicted."
    if worked.embedded or worked.vectors_pending:
        yield f"Embedded {worked.embedded:,}; {worked.vectors_pending:,} left."
