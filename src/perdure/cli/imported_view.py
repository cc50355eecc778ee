"""What the commands share that read a file into the memory."""

from __future__ import annotations

from itertools import islice
from pathlib import Path
from typing import Final, TextIO

from perdure.cli.command import Target
from perdure.cli.record_view import evictions
from perdure.cli.render import View
from perdure.cli.stdin import utf8_input
from perdure.cli.terminal import dim, note
from perdure.embed.port import FEW_VECTORS
from perdure.errors import ImportFailed
from perdure.model import Imported

MOST_SHOWN: Final = 20


def source_file(file: str) -> str | TextIO:
    """A path, or `-` for standard input."""
    if file != "-" and not Path(file).exists():
        raise ImportFailed(f"There is no file {file}.", remedy="Check its name; nothing was stored.")
    return utf8_input() if file == "-" else file


def imported_view(target: Target, imported: Imported, line: str) -> View:
    after = list(islice(evictions(imported.evicted), MOST_SHOWN))
    if len(imported.evicted) > MOST_SHOWN:
        after.append(f"Evicted to make room, in all: {len(imported.evicted):,}.")
    after += map(note, imported.notes)
    after += by_meaning_later(target, imported.inserted + imported.updated)
    return View(json=imported, lines=[line], after=after)


def by_meaning_later(target: Target, stored: int) -> list[str]:
    """The next recall makes few vectors by itself; of more than that it is said how they are made."""
    if not target.embeds or stored <= FEW_VECTORS:
        return []
    return [dim(f"found by words now; by meaning after: {target.hint('work')}")]
