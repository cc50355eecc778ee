"""`perdure restore-backup`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import FilePath, Target, command, option
from perdure.cli.confirm import YES, can_ask, require_yes
from perdure.cli.progress import Bar
from perdure.cli.render import View
from perdure.cli.terminal import count_memories, dim, note, safe
from perdure.errors import NeedsConfirmation

_EXAMPLES: Final = (
    "perdure restore-backup memories.backup",
    "perdure restore-backup memories.backup --yes",
    "perdure restore-backup memories.backup --store somewhere-new.db --yes",
)


@command("restore-backup", examples=_EXAMPLES, creates=True)
@click.argument("file", type=FilePath(exists=True, dir_okay=False))
@option("--no-keep", is_flag=True, help="Keep no copy of what the store holds now.")
@option("--erased", type=FilePath(dir_okay=False), help="Erase what another store's list names: OLD.db-erased.")
@YES
def main(target: Target, *, file: str, no_keep: bool, erased: str | None, yes: bool) -> View:
    """Make the store what a backup was.

    It replaces all namespaces, or nothing if it fails; where there is no store yet, it makes one. Close every other
    program that uses the store first: Perdure refuses while one has it open. Memories that were erased here since the
    backup was made are erased again. A copy of what the store holds now is kept beside it. In a pipe: file, memories,
    erased, kept copy, with tabs.
    """
    is_new = target.is_missing
    if not (yes or is_new) and not can_ask(target):
        go_ahead = target.hint("restore-backup", file, no_keep=no_keep, erased=erased, yes=True)
        raise NeedsConfirmation("This would replace everything the store holds.", remedy=f"Go ahead: {go_ahead}")
    if not (yes or is_new):
        require_yes(f"Replace everything the store holds by {file}?")
    with target.memory() as memory, Bar("Restoring") as bar:
        result = memory.restore_backup(file, keep=not (no_keep or is_new), erased=erased, progress=bar)
    again = [f"Erased {result.erased:,} of them again, as since the backup."] if result.erased else []
    back = [dim(f"take it back: {target.hint('restore-backup', safe(result.kept))}")] if result.kept else []
    return View(
        json=result,
        lines=[f"Restored {count_memories(result.memory_count)} from {safe(result.path)}", *again],
        rows=[(result.path, result.memory_count, result.erased, result.kept)],
        after=[*map(note, result.notes), *back],
    )
