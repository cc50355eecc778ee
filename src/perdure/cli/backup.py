"""`perdure backup`."""

from __future__ import annotations

import click

from perdure.cli.command import command, option
from perdure.cli.progress import Bar
from perdure.cli.screen import dim, fancy, row, safe, say, tell
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable

_EXAMPLES = ("perdure backup memories.backup", "perdure backup /media/disk/memories.backup --overwrite")


@command("backup", examples=_EXAMPLES)
@click.argument("file", type=click.Path(dir_okay=False))
@option("--overwrite", "--force", "-f", "overwrite", is_flag=True, help="Replace FILE if it exists.")
@with_target()
def main(target: Target, *, file: str, overwrite: bool) -> None:
    """Copy the whole store to a file, and check the copy.

    All namespaces, while other programs go on working. FILE gets its name once the copy was read again and found in
    order; its checksum is in FILE.sha256. In a pipe: file, bytes, sha256, memories, changes, with tabs.
    """
    with target.memory() as memory, Bar("Copying") as bar:
        made = memory.backup(file, bar, overwrite=overwrite)
    if target.json:
        target.answer(to_jsonable(made))
        return
    if not fancy():
        row(made.path, made.bytes, made.sha256, made.memory_count, made.revision_count)
        return
    count = f"{made.memory_count:,} {'memory' if made.memory_count == 1 else 'memories'}"
    say(f"Copied {count} to {safe(made.path)}  {dim(f'{made.bytes / (1 << 20):,.1f} MiB, checked')}")
    tell(dim(f"go back to it: {target.hint('restore-backup', safe(made.path))}"))
