"""`perdure work`."""

from __future__ import annotations

from perdure.cli.command import command, option
from perdure.cli.progress import Bar
from perdure.cli.screen import notes, say
from perdure.cli.target import Target, with_target
from perdure.plain import plain


@command("work", examples=("perdure work", "perdure work --limit 1000"))
@option("--limit", "-l", type=int, metavar="COUNT", help="Do at most so much.")
@with_target()
def main(target: Target, *, limit: int | None) -> None:
    """Do outstanding work, such as missing vectors.

    Memories that were stored without a model, or imported, are found by words at once and by meaning after this. It
    may be interrupted and run again at any time, by any process.
    """
    with target.memory() as memory, Bar("Embedding") as bar:
        worked = memory.work(limit=limit, progress=bar)
    if target.json:
        target.answer(plain(worked))
        return
    if worked.embedded or worked.remaining:
        say(f"Embedded {worked.embedded:,}; {worked.remaining:,} left.")
    elif not worked.notes:
        say("Nothing to do.")
    notes(worked.notes)
