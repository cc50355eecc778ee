"""`perdure restore`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import Target, command
from perdure.cli.record_view import confirmation_line, evictions
from perdure.cli.render import View
from perdure.clock import system_clock
from perdure.errors import Conflict, NotFound
from perdure.jsonable import restore_document
from perdure.model import Record

_MOST_EVICTED: Final = 100


@command("restore", examples=("perdure restore 7", "perdure restore 7 8 person:alice"))
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
def main(target: Target, *, refs: tuple[str, ...]) -> View:
    """Bring forgotten memories back.

    REF is a number, id, content hash or key; `perdure list --state deleted` shows what can come back, and so do the
    states expired and evicted. If one of them cannot come back, none is restored.
    """
    evicted: list[Record] = []
    with target.memory() as memory:
        # `get` does not show what is forgotten; its history does.
        last_entries = {entry.number: entry for entry in (memory.history(ref)[-1] for ref in refs)}
        for number, last in last_entries.items():
            if last.record is None:
                raise NotFound(
                    f"Memory #{number} was erased; nothing of it is left to restore.",
                    remedy=f"What is left is when it changed: perdure history {number}",
                )
            ends, state = last.record.expires_at, last.record.state
            if state in {"active", "superseded", "merged"} and not (ends and ends <= system_clock()):
                raise Conflict(
                    f"Memory #{number} is {state}, so there is nothing to restore.",
                    remedy=f"See what happened to it: perdure history {number}",
                )
        records = [memory.restore(number) for number in last_entries]
        for record in records:
            batch = memory.history(record.number)[-1].change.batch
            entries = memory.log(batch=batch, operation="evict", limit=_MOST_EVICTED)
            evicted += [entry.record for entry in reversed(entries) if entry.record]
    return View(
        json=restore_document(records, evicted),
        lines=[confirmation_line("Restored", "", record) for record in records],
        after=evictions(evicted),
    )
