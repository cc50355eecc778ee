"""`perdure import`."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.progress import Bar
from perdure.cli.record_view import evictions
from perdure.cli.render import View
from perdure.cli.stdin import utf8_input
from perdure.cli.terminal import dim, note
from perdure.errors import ImportFailed

_EXAMPLES: Final = (
    "perdure import memories.jsonl --trusted",
    "perdure import notes-from-a-colleague.jsonl -n team",
    """echo '{"text": "Alice prefers dark mode", "tags": ["ui"]}' | perdure import -""",
)
_MOST_EVICTED: Final = 20


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
    if file != "-" and not Path(file).exists():
        raise ImportFailed(f"There is no file {file}.", remedy="Check its name; nothing was stored.")
    with target.memory() as memory, Bar("Importing") as bar:
        imported = memory.import_(utf8_input() if file == "-" else file, trusted=trusted, revive=revive, progress=bar)
    total = imported.inserted + imported.updated + imported.present
    counts = f"{imported.inserted:,} new, {imported.updated:,} updated, {imported.present:,} known"
    after = list(islice(evictions(imported.evicted), _MOST_EVICTED))
    if len(imported.evicted) > _MOST_EVICTED:
        after.append(f"Evicted to make room, in all: {len(imported.evicted):,}.")
    after += map(note, imported.notes)
    if imported.batch:
        after.append(dim(f"found by words now; by meaning after: {target.hint('work')}"))
    return View(json=imported, lines=[f"Imported {total:,}: {counts}."], after=after)
