"""`perdure consolidate`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.confirm import DRY_RUN
from perdure.cli.progress import Bar
from perdure.cli.render import View, empty_answer
from perdure.cli.terminal import dim, note, number_label, safe
from perdure.cli.waiting import next_step
from perdure.text.preview import one_line

if TYPE_CHECKING:
    from perdure.learn.results import Consolidation, FactChange

_EXAMPLES: Final = (
    "perdure consolidate",
    "perdure consolidate --dry-run",
    "perdure consolidate --conversation-id support-42 --json",
)


@command("consolidate", examples=_EXAMPLES)
@option(
    "--conversation-id",
    "conversation",
    also=("--conversation",),
    metavar="ID",
    help="Only the episodes of this conversation.",
)
@DRY_RUN
def main(target: Target, *, conversation: str | None, dry_run: bool) -> View:
    """Make facts of the episodes that wait.

    The language model of the settings is asked; without one, rules find what people say of themselves and of others.
    Facts are added, get more evidence, or end and are superseded; none is deleted, and `undo` takes all of it back. In
    a pipe each change is one line: action, number of the fact (empty while it is not stored), category, fact, number of
    what it replaces.
    """
    with target.memory() as memory, Bar("Consolidating") as bar:
        result = memory.consolidate(conversation, dry_run=dry_run, progress=bar)
        is_idle = not result.episodes and not result.notes
        missing = next_step(target, memory, conversation) if is_idle else ""
    after = [*map(note, result.notes)]
    if missing:
        after += empty_answer("No episode waits.", missing)
    elif result.batch:
        after.append(dim(f"take it back: {target.hint('undo', result.batch)}"))
    elif dry_run:
        after.append(dim("nothing was changed"))
    return View(
        json=result,
        lines=summary_lines(result),
        rows=(
            (
                each.action, each.record.number or "", each.record.category, each.record.text,
                each.replaced.number if each.replaced else "",
            )
            for each in result.changes
        ),
        after=after,
    )  # fmt: skip


def summary_lines(result: Consolidation) -> Iterator[str]:
    if not result.episodes:
        return
    counts = {
        "new": result.learned, "reinforced": result.reinforced, "updated": result.updated,
        "invalidated": result.invalidated, "proposed": result.proposed, "left out": result.left_out,
    }  # fmt: skip
    told = ", ".join(f"{count:,} {name}" for name, count in counts.items() if count) or "nothing to learn"
    verb = "Consolidated" if result.done else "Would consolidate"
    yield f"{verb} {result.episodes:,} {'episode' if result.episodes == 1 else 'episodes'}: {told}."
    yield from map(change_line, result.changes)


def change_line(change: FactChange) -> str:
    record, replaced = change.record, change.replaced
    number = f"{number_label(record.number)} " if record.number else ""
    instead = f" instead of {number_label(replaced.number)} {safe(one_line(replaced.text))}" if replaced else ""
    return f"  {click.style(f'{change.action:<10}', bold=True)}  {number}{safe(change.line)}{dim(instead)}"
