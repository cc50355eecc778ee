"""`perdure backup`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import FilePath, Target, command, option
from perdure.cli.progress import Bar
from perdure.cli.render import View
from perdure.cli.terminal import count_memories, dim, safe

_EXAMPLES: Final = ("perdure backup memories.backup", "perdure backup /media/disk/memories.backup --overwrite")


@command("backup", examples=_EXAMPLES)
@click.argument("file", type=FilePath(dir_okay=False))
@option("--overwrite", "-f", is_flag=True, help="Replace FILE if it exists.")
def main(target: Target, *, file: str, overwrite: bool) -> View:
    """Copy the whole store to a file, and check the copy.

    It copies all namespaces, while other programs go on working. FILE gets its name once the copy was read again and
    found in order; its checksum is in FILE.sha256. In a pipe: file, bytes, sha256, memories, changes, with tabs.
    """
    with target.memory() as memory, Bar("Copying") as bar:
        made = memory.backup(file, bar, overwrite=overwrite)
    size = dim(f"{made.bytes / (1 << 20):,.1f} MiB, checked")
    return View(
        json=made,
        lines=[f"Copied {count_memories(made.memory_count)} to {safe(made.path)}  {size}"],
        rows=[(made.path, made.bytes, made.sha256, made.memory_count, made.revision_count)],
        after=[dim(f"go back to it: {target.hint('restore-backup', safe(made.path))}")],
    )
