"""`perdure restore-backup`."""

from __future__ import annotations

import sys

import click

from perdure.cli.command import command, option
from perdure.cli.consent import YES
from perdure.cli.progress import Bar
from perdure.cli.rewound import counted
from perdure.cli.screen import dim, fancy, is_terminal, notes, row, safe, say, tell
from perdure.cli.target import Target, with_target
from perdure.errors import NeedsConfirmation
from perdure.jsonable import to_jsonable

_EXAMPLES = ("perdure restore-backup memories.backup", "perdure restore-backup memories.backup --yes",
             "perdure restore-backup memories.backup --store somewhere-new.db --yes")  # fmt: skip


@command("restore-backup", examples=_EXAMPLES)
@click.argument("file", type=click.Path(dir_okay=False))
@option("--no-keep", is_flag=True, help="Keep no copy of what the store holds now.")
@option("--erased", type=click.Path(dir_okay=False), help="Erase what another store's list names: OLD.db-erased.")
@YES
@with_target()
def main(target: Target, *, file: str, no_keep: bool, erased: str | None, yes: bool) -> None:
    """Make the store what a backup was.

    All namespaces, all or nothing. Close every other program that uses the store first: Perdure refuses while one has
    it open. What was erased here since the backup was made is erased again. A copy of what the store holds now is kept
    beside it. In a pipe: file, memories, erased, kept copy, with tabs.
    """
    options = (*(("--no-keep",) if no_keep else ()), *(("--erased", erased) if erased else ()))
    if not yes and not _agreed(target, file, *options):
        tell("Nothing was changed.")
        return
    with target.memory() as memory, Bar("Restoring") as bar:
        done = memory.restore_backup(file, keep=not no_keep, erased=erased, progress=bar)
    if target.json:
        target.answer(to_jsonable(done))
        return
    if fancy():
        say(f"Restored {counted(done.memory_count)} from {safe(done.path)}")
        if done.erased:
            say(f"Erased {done.erased:,} of them again, as since the backup.")
    else:
        row(done.path, done.memory_count, done.erased, done.kept)
    notes(done.notes)
    if done.kept:
        tell(dim(f"take it back: {target.hint('restore-backup', safe(done.kept))}"))


def _agreed(target: Target, file: str, *options: str) -> bool:
    if target.json or not is_terminal(sys.stdin):
        raise NeedsConfirmation(
            "This would replace everything the store holds.",
            remedy=f"Go ahead: {target.hint('restore-backup', file, *options, '--yes')}",
        )
    return click.confirm(f"Replace everything the store holds by {safe(file)}?", default=False, err=True)
