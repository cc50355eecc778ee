"""`perdure restore`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import command
from perdure.cli.common_options import Target
from perdure.cli.record_view import evictions, receipt
from perdure.cli.render import View
from perdure.clock import system_clock
from perdure.errors import Conflict, NotFound
from perdure.jsonable import restore_document
from perdure.model import Record, Revision

_MOST_EVICTED: Final = 100


@command("restore", examples=("perdure restore 7", "perdure restore 7 8 person:alice"))
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
def main(target: Target, *, refs: tuple[str, ...]) -> View:
    """Bring forgotten memories back.

    REF is a number, id, content hash or key; `perdure list --state deleted` shows what can come back, and so do the
    states expired and evicted. If one of them cannot, none does.
    """
    evicted: list[Record] = []
    with target.memory() as memory:
        # `get` does not show what is forgotten; its history does.
        numbers = dict.fromkeys(_require_restorable(memory.history(ref)[-1]) for ref in refs)
        records = [memory.restore(number) for number in numbers]
        for record in records:
            batch = memory.history(record.number)[-1].change.batch
            entries = memory.log(batch=batch, operation="evict", limit=_MOST_EVICTED)
            evicted += [entry.record for entry in reversed(entries) if entry.record]
    return View(
        json=restore_document(records, evicted),
        lines=[receipt("Restored", "", record) for record in records],
        after=evictions(evicted),
    )


def _require_restorable(last: Revision) -> int:
    if last.record is None:
        raise NotFound(
            f"Memory #{last.number} was erased; nothing of it is left to restore.",
            remedy=f"What is left is when it changed: perdure history {last.number}",
        )
    ends = last.record.expires_at
    if last.record.state in {"active", "superseded", "merged"} and not (ends and ends <= system_clock()):
        raise Conflict(
            f"Memory #{last.number} is {last.record.state}, so there is nothing to restore.",
            remedy=f"See what happened to it: perdure history {last.number}",
        )
    return last.number
