"""`perdure forget`."""

from __future__ import annotations

import click

from perdure.cli.command import command
from perdure.cli.receipt import receipt
from perdure.cli.screen import dim, tell
from perdure.cli.target import Target, with_target
from perdure.plain import plain


@command("forget", examples=("perdure forget 7", "perdure forget 7 8 person:alice"))
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@with_target()
def main(target: Target, *, refs: tuple[str, ...]) -> None:
    """Forget memories; `restore` takes it back.

    REF is a number, id, content hash or key. A forgotten memory is found no more, by anyone, but its history stays.
    When one of several references is wrong, nothing is forgotten.
    """
    with target.memory() as memory:
        wanted = [refs[0]] if len(refs) == 1 else list(dict.fromkeys(memory.get(ref).number for ref in refs))
        records = [memory.forget(ref) for ref in wanted]
    if target.json:
        target.answer({"forgotten": [plain(record) for record in records]})
        return
    for record in records:
        receipt("Forgot", "", record)
    tell(dim(f"take it back: {target.hint('restore', *(record.number for record in records))}"))
