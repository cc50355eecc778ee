"""`perdure import`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.imported_view import imported_view, source_file
from perdure.cli.progress import Bar
from perdure.cli.render import View

_EXAMPLES: Final = (
    "perdure import memories.jsonl --trusted",
    "perdure import notes-from-a-colleague.jsonl -n team",
    """echo '{"text": "Alice prefers dark mode", "tags": ["ui"]}' | perdure import -""",
)


@command("import", examples=_EXAMPLES, creates=True)
@click.argument("file", type=click.Path(dir_okay=False, allow_dash=True))
@option("--trusted", is_flag=True, help="It is your own export: keep the sources, trust, times and counts it names.")
@option("--revive", is_flag=True, help="Also import what was deleted or changed here later.")
def main(target: Target, *, file: str, trusted: bool, revive: bool) -> View:
    """Read memories from a file that `export` wrote.

    FILE has one JSON object per line, of which only `text` is needed; `-` is standard input. All of it is checked
    first: one bad line, and nothing is stored. What is there already stays; of two texts of one key the newer one
    does. What was forgotten or corrected here after it was written down does not come back, unless you say --revive.
    """
    source = source_file(file)
    with target.memory() as memory, Bar("Importing") as bar:
        imported = memory.import_(source, trusted=trusted, revive=revive, progress=bar)
    total = imported.inserted + imported.updated + imported.present
    counts = f"{imported.inserted:,} new, {imported.updated:,} updated, {imported.present:,} known"
    return imported_view(target, imported, f"Imported {total:,}: {counts}.")
