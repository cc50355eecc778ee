"""`perdure restore`."""

from __future__ import annotations

import click

from perdure.cli.command import command
from perdure.cli.receipt import receipt
from perdure.cli.target import Target, with_target
from perdure.plain import plain


@command("restore", examples=("perdure restore 7", "perdure restore 7 8 person:alice"))
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@with_target()
def main(target: Target, *, refs: tuple[str, ...]) -> None:
    """Bring forgotten memories back.

    REF is a number, id, content hash or key; `perdure list --state deleted` shows what can come back.
    """
    with target.memory() as memory:
        # `get` does not show what is forgotten; its history does.
        numbers = list(dict.fromkeys(memory.history(ref)[-1].number for ref in refs))
        records = [memory.restore(number) for number in numbers]
    if target.json:
        target.answer({"restored": [plain(record) for record in records]})
        return
    for record in records:
        receipt("Restored", "", record)
