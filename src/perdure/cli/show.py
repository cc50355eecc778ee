"""`perdure show`."""

from __future__ import annotations

import click

from perdure.cli.command import command
from perdure.cli.sheet import present
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable


@command("show", examples=("perdure show 7", "perdure show person:alice", "perdure show 7 --json | jq .tags"))
@click.argument("ref")
@with_target()
def main(target: Target, *, ref: str) -> None:
    """Show everything about one memory.

    REF is its number, id, content hash or key. In a pipe each field is one line: name, tab, value.
    """
    with target.memory() as memory:
        record = memory.get(ref)
    if target.json:
        target.answer(to_jsonable(record))
    else:
        present(record)
