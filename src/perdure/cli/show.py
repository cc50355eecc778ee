"""`perdure show`."""

from __future__ import annotations

import click

from perdure.cli import stored_names
from perdure.cli.command import Target, command
from perdure.cli.record_view import record_page, record_rows
from perdure.cli.render import View


@command("show", examples=("perdure show 7", "perdure show person:alice", "perdure show 7 --json | jq .tags"))
@click.argument("ref", shell_complete=stored_names.keys)
def main(target: Target, *, ref: str) -> View:
    """Show everything about one memory.

    REF is its number, id, content hash or key. In a pipe each field is one line: name, tab, value.
    """
    with target.memory() as memory:
        record = memory.get(ref)
    return View(json=record, lines=record_page(record), rows=record_rows(record))
