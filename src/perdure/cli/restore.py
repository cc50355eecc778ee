"""`perdure restore`."""

from __future__ import annotations

import click

from perdure.cli import stored_names
from perdure.cli.command import Target, command
from perdure.cli.record_view import confirmation_line, evictions
from perdure.cli.render import View
from perdure.cli.terminal import note
from perdure.errors import NotFound
from perdure.jsonable import restore_document


@command("restore", examples=("perdure restore 7", "perdure restore 7 8 person:alice"))
@click.argument("refs", nargs=-1, required=True, metavar="REF...", shell_complete=stored_names.keys)
def main(target: Target, *, refs: tuple[str, ...]) -> View:
    """Bring forgotten memories back.

    REF is a number, id, content hash or key; `perdure list --state deleted` shows what can come back, and so do the
    states expired and evicted. If one of them cannot come back, none is restored. One `perdure undo` takes all of them
    back.
    """
    with target.memory() as memory:
        try:
            restored = memory.restore(refs)
        except NotFound:
            for ref in refs:
                # An erased memory cannot be found, but it has a history.
                last = memory.history(ref)[-1]
                if last.record is None:
                    raise NotFound(
                        f"Memory #{last.number} was erased; nothing of it is left to restore.",
                        remedy=f"Its history still says when it changed: perdure history {last.number}",
                    ) from None
            raise
    document = restore_document(restored)
    return View(
        json=document,
        lines=[confirmation_line("Restored", "", done.record) for done in restored],
        after=(*(line for done in restored for line in evictions(done.evicted)), *map(note, document["notes"])),
    )
