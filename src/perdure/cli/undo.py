"""`perdure undo`."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.confirm import DRY_RUN, YES, require_agreement
from perdure.cli.render import View
from perdure.cli.revert_view import revert_view
from perdure.cli.terminal import count_memories, dim
from perdure.cli.time_options import age, time_option

if TYPE_CHECKING:
    from perdure.memory import Memory

_EXAMPLES: Final = (
    "perdure undo",
    "perdure undo 01930f7e-6d2a-7c31-9f6e-2b7f0a4c9d11",
    "perdure undo --session monday --dry-run",
    "perdure undo --actor agent --since 2h --yes",
)
_MAX_LINES: Final = 1000


@command("undo", examples=_EXAMPLES)
@click.argument("batch", required=False)
@option("--session", metavar="NAME", help="Everything that this session wrote.")
@option("--actor", metavar="NAME", help="Everything that this actor wrote.")
@option("--since", **time_option("since"), help="Of a session or an actor, only from this time on, such as 2h.")
@option("--force", is_flag=True, help="Also undo changes that others have built on; skip erased memories.")
@option("--all-namespaces", is_flag=True, help="In all namespaces.")
@DRY_RUN
@YES
def main(target: Target, *, batch: str | None, dry_run: bool, yes: bool, **options: Any) -> View:
    """Take back what one call, one session or one actor did.

    BATCH is what one call did: `perdure log` shows its id; the first or last 8 characters will do. Every memory becomes
    what it was before, by a new log entry, so that an undo can be undone: running undo twice changes nothing. Without
    BATCH, --session and --actor it is your own last change. In a pipe each memory is one line: reverted, removed or
    skipped, its number, and why it was skipped.
    """
    named = [value for value in (batch, options["session"], options["actor"]) if value is not None]
    if len(named) > 1:
        raise click.UsageError("Name one batch, one session or one actor.")
    if options["since"] is not None and (batch is not None or not named):
        raise click.UsageError("--since narrows --session or --actor; name one of them.")
    sure, last_change = yes or dry_run or batch is not None, ""
    with target.memory() as memory:
        if not named:
            batch, last_change = _last_change(memory)
        undo = partial(memory.undo, batch, **options)
        if not sure:
            preview = undo(dry_run=True)
            if not preview.reverted and not preview.removed:
                return revert_view(target, preview, dry_run=True)
            these = count_memories(len(preview.reverted) + len(preview.removed))
            undone = "It would be taken back." if last_change else f"What was done to {these} would be taken back."
            require_agreement(
                target,
                preview,
                f"{last_change} {undone}".strip(),
                f"{last_change} Take it back?" if last_change else f"Take back what was done to {these}?",
                target.hint("undo", batch or "--yes", **options),
            )
        before = [dim(last_change)] if sure and last_change else []
        return revert_view(target, undo(dry_run=dry_run), dry_run=dry_run, before=before)


def _last_change(memory: Memory) -> tuple[str, str]:
    """The batch of the user's own last change, and a sentence about it."""
    entries = memory.log(actor=memory.actor, limit=1)
    if not entries:
        raise click.UsageError("You changed nothing here yet; name a batch, a session or an actor.")
    change = entries[0].change
    entries = memory.log(batch=change.batch, limit=_MAX_LINES)
    operations = " and ".join(dict.fromkeys(entry.change.operation for entry in reversed(entries)))
    numbers = {entry.number for entry in entries}
    if len(numbers) == 1:
        which = f"#{min(numbers)}"
    else:
        which = f"{'at least ' if len(entries) == _MAX_LINES else ''}{len(numbers)} memories"
    return change.batch, f"Your last change was to {operations} {which}, {age(change.at)}."
