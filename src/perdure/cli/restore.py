"""`perdure restore`."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from perdure.cli.command import command
from perdure.cli.receipt import made_room, receipt
from perdure.cli.target import Target, with_target
from perdure.clock import system_clock
from perdure.errors import Conflict, NotFound
from perdure.jsonable import to_jsonable
from perdure.model import Record

if TYPE_CHECKING:
    from perdure.memory import Memory

_MOST_EVICTED = 100


@command("restore", examples=("perdure restore 7", "perdure restore 7 8 person:alice"))
@click.argument("refs", nargs=-1, required=True, metavar="REF...")
@with_target()
def main(target: Target, *, refs: tuple[str, ...]) -> None:
    """Bring forgotten memories back.

    REF is a number, id, content hash or key; `perdure list --state deleted` shows what can come back, and so do the
    states expired and evicted. If one of them cannot, none does.
    """
    with target.memory() as memory:
        numbers = list(dict.fromkeys(_restorable(memory, ref) for ref in refs))
        records = [memory.restore(number) for number in numbers]
        evicted = [gone for record in records for gone in _evicted(memory, record)]
    if target.json:
        target.answer(
            {
                "restored": [to_jsonable(record) for record in records],
                "evicted": [to_jsonable(gone) for gone in evicted],
            }
        )
        return
    for record in records:
        receipt("Restored", "", record)
    made_room(evicted)


def _restorable(memory: Memory, ref: str) -> int:
    # `get` does not show what is forgotten; its history does.
    last = memory.history(ref)[-1]
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


def _evicted(memory: Memory, restored: Record) -> list[Record]:
    """What had to go for it, as the log tells."""
    batch = memory.history(restored.number)[-1].change.batch
    lines = memory.log(batch=batch, operation="evict", limit=_MOST_EVICTED)
    return [line.record for line in reversed(lines) if line.record]
