"""`perdure version`."""

from __future__ import annotations

import click

from perdure.cli.command import command
from perdure.cli.moments import stamp
from perdure.cli.screen import dim, fancy, safe, say
from perdure.cli.sheet import present
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable
from perdure.model import Version


@command("version", examples=("perdure version 7 1", "perdure version person:alice 2 --json"))
@click.argument("ref")
@click.argument("number", type=int)
@with_target()
def main(target: Target, *, ref: str, number: int) -> None:
    """Show one version of a memory.

    REF is its number, id, content hash or key; `perdure versions` lists the version numbers. In a pipe each field is
    one line: name, tab, value.
    """
    with target.memory() as memory:
        version = memory.version(ref, number)
    if target.json:
        target.answer(to_jsonable(version))
    elif version.record:
        if fancy():
            say(dim(_title(version)))
            say()
        present(version.record)


def _title(version: Version) -> str:
    made_from = f", made from {', '.join(map(str, version.lineage))}" if version.lineage else ""
    standing = ", the current one" if version.current else ", taken back" if version.taken_back else ""
    by = f"by {safe(version.change.actor)}, {stamp(version.change.at)}"
    return f"#{version.number} version {version.version}{standing}{made_from}; {by}"
