"""`perdure checkpoint`: create, list, restore, delete."""

from __future__ import annotations

from typing import Any, Final

import click

from perdure.cli.command import group, option
from perdure.cli.consent import DRY_RUN
from perdure.cli.fields import given
from perdure.cli.moments import age
from perdure.cli.rewound import counted, show_rewound
from perdure.cli.screen import dim, fancy, row, safe, say, tell
from perdure.cli.table import Column, show_table
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.jsonable import to_jsonable
from perdure.model import Checkpoint

_COLUMNS: Final = (
    Column("checkpoint", "bold cyan"),
    Column("of"),
    Column("memories", number=True),
    Column("by"),
    Column("age", "dim"),
    Column("description", share=True),
)


@group("checkpoint")
@click.pass_context
def main(ctx: click.Context) -> None:
    """Name the present state, and go back to it.

    A checkpoint is a name for a position in the log: making one copies nothing, and restoring it appends what makes
    everything as it was then, so that it can be undone.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.part(
    "create",
    examples=(
        'perdure checkpoint create before-refactor --description "Before the auth refactor"',
        "perdure checkpoint create auth-1 --spec-folder specs/auth",
        "perdure checkpoint create everything-1 --everything",
    ),
)
@click.argument("name")
@option("--description", help="What it is for.")
@option("--spec-folder", metavar="NAME", help="Only the memories of this folder.")
@option("--metadata", multiple=True, metavar="NAME=VALUE", help="An entry of your own; JSON, or else text. Repeatable.")
@option("--everything", is_flag=True, help="All namespaces.")
@with_target()
def create(target: Target, *, name: str, everything: bool, **options: Any) -> None:
    """Give the present state a name.

    NAME is 1 to 200 characters on one line, and not taken.
    """
    with target.memory() as memory:
        made = memory.checkpoint(name, everything=everything, **given(options))
    if target.json:
        target.answer(to_jsonable(made))
        return
    say(f"Checkpoint {safe(made.name)} of {_scope(made)}: {counted(made.memory_count)}")
    tell(dim(f"come back to it: {target.hint('checkpoint', 'restore', made.name)}"))


@main.part("list", examples=("perdure checkpoint list", "perdure checkpoint list --spec-folder specs/auth --json"))
@option("--spec-folder", metavar="NAME", help="Only those of this folder.")
@option("--limit", "-l", type=int, default=50, show_default=True, help="How many at most.")
@with_target()
def list_(target: Target, *, spec_folder: str | None, limit: int) -> None:
    """List the checkpoints, newest first.

    Those of the namespace, of its spec folders, and of everything. In a pipe each is one line: name, time, what it is
    of, memories, actor, description.
    """
    with target.memory() as memory:
        found = memory.checkpoints(spec_folder=spec_folder, limit=limit)
    if target.json:
        target.answer({"checkpoints": [to_jsonable(one) for one in found]})
    elif not fancy():
        for one in found:
            row(one.name, format_time(one.created_at), _scope(one), one.memory_count, one.actor, one.description)
    elif found:
        show_table(
            _COLUMNS,
            (
                (one.name, _scope(one), f"{one.memory_count:,}", one.actor, age(one.created_at), one.description or "")
                for one in found
            ),
        )
    if not found and not target.json:
        tell("There is no checkpoint here yet.")
        tell(f"  Make one: {target.hint('checkpoint', 'create', 'before-refactor')}")


@main.part(
    "restore",
    examples=(
        "perdure checkpoint restore before-refactor --dry-run",
        "perdure checkpoint restore before-refactor --clear-existing",
    ),
)
@click.argument("name")
@option("--clear-existing", is_flag=True, help="Also remove the memories that came later.")
@DRY_RUN
@with_target()
def restore(target: Target, *, name: str, clear_existing: bool, dry_run: bool) -> None:
    """Make everything as it was at a checkpoint.

    What was erased since does not come back. In a pipe each memory is one line: reverted, removed or skipped, its
    number, and why it was skipped.
    """
    with target.memory() as memory:
        rewound = memory.restore_checkpoint(name, clear_existing=clear_existing, dry_run=dry_run)
    show_rewound(target, rewound, dry_run=dry_run)


@main.part("delete", examples=("perdure checkpoint delete before-refactor",))
@click.argument("name")
@with_target()
def delete(target: Target, *, name: str) -> None:
    """Forget the name of a state; the memories stay."""
    with target.memory() as memory:
        gone = memory.delete_checkpoint(name)
    if target.json:
        target.answer({"deleted": to_jsonable(gone)})
    else:
        say(f"Deleted the checkpoint {safe(gone.name)}; no memory was touched")


def _scope(one: Checkpoint) -> str:
    if one.namespace is None:
        return "everything"
    return safe(one.namespace if one.spec_folder is None else f"{one.namespace}, {one.spec_folder}")
