"""`perdure validate`."""

from __future__ import annotations

import click

from perdure.cli import stored_names
from perdure.cli.command import Target, command, option
from perdure.cli.record_view import remembered_view
from perdure.cli.render import View


@command("validate", examples=("perdure validate 7 --useful", "perdure validate person:alice --not-useful"))
@click.argument("ref", shell_complete=stored_names.keys)
@option("--useful/--not-useful", default=None, help="How it turned out. One of the two must be said.")
def main(target: Target, *, ref: str, useful: bool | None) -> View:
    """Say whether a memory was useful.

    REF is its number, id, content hash or key. Each judgement moves its confidence towards 1 or 0. A memory that was
    judged five times and has a confidence of 0.9 or more is offered the tier `critical`: `promote` accepts.
    """
    if useful is None:
        raise click.UsageError("Say --useful or --not-useful.")
    with target.memory() as memory:
        return remembered_view(memory.validate(ref, useful))
