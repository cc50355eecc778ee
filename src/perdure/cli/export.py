"""`perdure export`."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import click

from perdure.cli.command import command, option
from perdure.cli.fields import completing
from perdure.cli.progress import Bar
from perdure.cli.screen import notes, safe, say, tell, utf8_output
from perdure.cli.target import Target, with_target
from perdure.errors import Conflict, ExportFailed
from perdure.jsonable import to_jsonable
from perdure.model import STATES, State

_EXAMPLES = ("perdure export memories.jsonl", "perdure export - | gzip > memories.jsonl.gz",
             "perdure export all.jsonl --state active --state deleted")  # fmt: skip


@command("export", examples=_EXAMPLES)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@option("--state", multiple=True, metavar="NAME", shell_complete=completing(STATES),
        help=f"Memories in this state: {', '.join(STATES)}. Repeatable.  [default: active]")  # fmt: skip
@option("--force", "-f", is_flag=True, help="Replace FILE if it exists.")
@with_target()
def main(target: Target, *, file: str, state: tuple[str, ...], force: bool) -> None:
    """Write memories to a file, one JSON object per line.

    FILE is written whole or not at all; `-` is standard output. `perdure import` reads it back.
    """
    if file == "-" and target.json:
        raise click.UsageError("`export -` writes JSON Lines to standard output; leave out --json.")
    if file != "-" and not force and Path(file).exists():
        raise Conflict(f"{file} exists.", remedy="Choose another name, or replace it with --force.")
    if file != "-" and not Path(file).parent.exists():
        raise ExportFailed(f"There is no directory {Path(file).parent}.", remedy="Make it, or choose another place.")
    states = cast("tuple[State, ...]", state or ("active",))
    with target.memory() as memory, Bar("Exporting") as bar:
        exported = memory.export(utf8_output() if file == "-" else file, states=states, progress=bar)
    if target.json:
        target.answer({**to_jsonable(exported), "path": file})
        return
    count = exported.written
    done = f"Exported {count:,} {'memory' if count == 1 else 'memories'}"
    if file == "-":
        tell(f"{done}.")
    else:
        say(f"{done} to {safe(file)}")
    if exported.damaged:
        listed = ", ".join(f"#{number}" for number in exported.damaged)
        notes((f"Left out, because they are damaged: {listed}. `perdure doctor --repair` may bring them back.",))
