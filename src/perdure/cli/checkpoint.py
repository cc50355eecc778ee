"""`perdure checkpoint`: create, list, restore, delete."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import click

from perdure.cli import stored_names
from perdure.cli.command import Group, Target, option
from perdure.cli.confirm import DRY_RUN, YES, require_agreement
from perdure.cli.field_options import given_fields
from perdure.cli.render import Column, Table, View, empty_answer
from perdure.cli.revert_view import revert_view
from perdure.cli.terminal import count_memories, dim, safe
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.jsonable import list_document
from perdure.model import Checkpoint


def _scope(checkpoint: Checkpoint) -> str:
    if checkpoint.namespace is None:
        return "everything"
    return checkpoint.namespace + (f", {checkpoint.spec_folder}" if checkpoint.spec_folder is not None else "")


_COLUMNS: Final[tuple[Column[Checkpoint], ...]] = (
    Column("checkpoint", lambda checkpoint: checkpoint.name, "bold cyan"),
    Column("of", _scope),
    Column("memories", lambda checkpoint: f"{checkpoint.memory_count:,}", number=True),
    Column("by", lambda checkpoint: checkpoint.actor),
    Column("age", lambda checkpoint: age(checkpoint.created_at), "dim"),
    Column("description", lambda checkpoint: checkpoint.description or "", share=True),
)


@click.group("checkpoint", cls=Group)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Name the present state, and go back to it.

    A checkpoint is a name for a position in the log: making one copies nothing, and restoring adds new versions that
    bring the old state back, so it can be undone.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.part(
    "create",
    examples=(
        'perdure checkpoint create before-refactor --description "Before the auth refactor"',
        "perdure checkpoint create auth-1 --spec-folder specs/auth",
        "perdure checkpoint create everything-1 --all-namespaces",
    ),
)
@click.argument("name")
@option("--description", help="What it is for.")
@option("--spec-folder", metavar="NAME", help="Only the memories of this folder.")
@option("--metadata", multiple=True, metavar="NAME=VALUE", help="An entry of your own; JSON, or else text. Repeatable.")
@option("--all-namespaces", is_flag=True, help="All namespaces.")
def create(target: Target, *, name: str, all_namespaces: bool, **options: Any) -> View:
    """Give the present state a name.

    NAME is 1 to 200 characters on one line, and not taken.
    """
    with target.memory() as memory:
        made = memory.checkpoint(name, all_namespaces=all_namespaces, **given_fields(options))
    return View(
        json=made,
        lines=[f"Checkpoint {safe(made.name)} of {safe(_scope(made))}: {count_memories(made.memory_count)}"],
        after=[dim(f"come back to it: {target.hint('checkpoint', 'restore', made.name)}")],
    )


@main.part("list", examples=("perdure checkpoint list", "perdure checkpoint list --spec-folder specs/auth --json"))
@option("--spec-folder", metavar="NAME", help="Only checkpoints of this folder.")
@option("--limit", "-l", type=int, default=50, show_default=True, help="Maximum number of results.")
def list_(target: Target, *, spec_folder: str | None, limit: int) -> View:
    """List the checkpoints, newest first.

    These are the checkpoints of the namespace, of its spec folders, and of all namespaces. In a pipe each is one line:
    name, time, what it is of, memories, actor, description.
    """
    with target.memory() as memory:
        checkpoints = memory.checkpoints(spec_folder=spec_folder, limit=limit)
    make_one = f"Make one: {target.hint('checkpoint', 'create', 'before-refactor')}"
    return View(
        json=list_document("checkpoints", checkpoints),
        lines=[Table(_COLUMNS, checkpoints)] if checkpoints else [],
        rows=[
            (each.name, format_time(each.created_at), _scope(each), each.memory_count, each.actor, each.description)
            for each in checkpoints
        ],
        after=() if checkpoints else empty_answer("There is no checkpoint here yet.", make_one),
    )


@main.part(
    "restore",
    examples=(
        "perdure checkpoint restore before-refactor --dry-run",
        "perdure checkpoint restore before-refactor --clear-existing --yes",
    ),
)
@click.argument("name", shell_complete=stored_names.checkpoints)
@option("--clear-existing", is_flag=True, help="Also remove the memories that came later.")
@DRY_RUN
@YES
def restore(target: Target, *, name: str, clear_existing: bool, dry_run: bool, yes: bool) -> View:
    """Make everything as it was at a checkpoint.

    On a terminal you are asked first; a script needs --yes. What was erased since does not come back. In a pipe each
    memory is one line: reverted, removed or skipped, its number, and why it was skipped.
    """
    with target.memory() as memory:
        restore = partial(memory.restore_checkpoint, name, clear_existing=clear_existing)
        if not yes and not dry_run:
            preview = restore(dry_run=True)
            if count := len(preview.reverted) + len(preview.removed):
                these, was = count_memories(count), "it was" if count == 1 else "they were"
                require_agreement(
                    target,
                    preview,
                    f"{these} would become what {was} at the checkpoint.",
                    f"Make {these} what {was} at the checkpoint?",
                    target.hint("checkpoint", "restore", name, clear_existing=clear_existing, yes=True),
                )
        result = restore(dry_run=dry_run)
    return revert_view(target, result, dry_run=dry_run)


@main.part("delete", examples=("perdure checkpoint delete before-refactor",))
@click.argument("name", shell_complete=stored_names.checkpoints)
def delete(target: Target, *, name: str) -> View:
    """Delete the name of a state; the memories stay."""
    with target.memory() as memory:
        deleted = memory.delete_checkpoint(name)
    return View(json=deleted, lines=[f"Deleted the checkpoint {safe(deleted.name)}; no memory was touched"])
