"""`perdure version`."""

from __future__ import annotations

import click

from perdure import __version__
from perdure.cli import stored_names
from perdure.cli.command import Target, command
from perdure.cli.record_view import record_page, record_rows
from perdure.cli.render import View
from perdure.cli.terminal import dim, safe
from perdure.cli.time_options import stamp


@command("version", examples=("perdure version 7 1", "perdure version person:alice 2 --json", "perdure version"))
@click.argument("ref", required=False, shell_complete=stored_names.keys)
@click.argument("number", type=int, required=False)
def main(target: Target, *, ref: str | None, number: int | None) -> View:
    """Show one version of a memory; without arguments, the program's.

    REF is its number, id, content hash or key; `perdure versions` lists the version numbers. In a pipe each field is
    one line: name, tab, value.
    """
    if ref is None:
        return View(json={"version": __version__}, lines=[f"perdure {__version__}"])
    if number is None:
        raise click.UsageError(f"Which version of {safe(ref)[:60]}? `perdure versions` lists them.")
    with target.memory() as memory:
        version = memory.version(ref, number)
    if version.record is None:
        return View(json=version)
    standing = ", the current one" if version.current else ", taken back" if version.taken_back else ""
    made_from = f", made from {', '.join(map(str, version.lineage))}" if version.lineage else ""
    by = f"by {safe(version.change.actor)}, {stamp(version.change.at)}"
    heading = dim(f"#{version.number} version {version.version}{standing}{made_from}; {by}")
    return View(json=version, lines=[heading, "", *record_page(version.record)], rows=record_rows(version.record))
