"""`perdure conflicts`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from perdure.cli.command import Target, command, option
from perdure.cli.proposal_view import proposal_lines, proposal_rows
from perdure.cli.render import View, empty_answer
from perdure.cli.terminal import dim
from perdure.cli.waiting import what_waits
from perdure.ids import MESSAGE
from perdure.jsonable import list_document

if TYPE_CHECKING:
    from perdure.memory import Memory

_EXAMPLES: Final = ("perdure conflicts", "perdure conflicts --json")


@command("conflicts", examples=_EXAMPLES)
@option("--limit", "-l", type=int, default=20, show_default=True, help="Maximum number of results.")
def main(target: Target, *, limit: int) -> View:
    """List memories that cannot both be true.

    They are undecided: both stay until you decide, and recall marks them. What you remember is compared with
    what is near it when it is written, or by `perdure work` if many are written at once; what is learned from
    conversations when it is learned. In a pipe each pair is one line, as in `perdure review`.
    """
    with target.memory() as memory:
        conflicts, uncompared = memory.conflicts(limit=limit), memory.uncompared()
        waiting = not_compared(target, memory, uncompared)
    after = empty_answer("No contradiction is known.")
    if waiting:
        after = empty_answer("No contradiction is known, and not everything has been compared.", *waiting)
    if conflicts:
        number = conflicts[0].number
        after = (
            dim(f"the newer one is true: {target.hint('review', 'accept', number)}"),
            dim(f"the older one is: {target.hint('review', 'accept', number, keep=conflicts[0].first.number)}"),
            dim(f"both are: {target.hint('review', 'reject', number)}"),
            *map(dim, waiting),
        )
    return View(
        json={**list_document("proposals", conflicts), "uncompared": uncompared},
        lines=proposal_lines(conflicts),
        rows=proposal_rows(conflicts),
        after=after,
    )


def not_compared(target: Target, memory: Memory, uncompared: int | None) -> list[str]:
    """What was not compared yet, and what to do about it."""
    steps: list[str] = []
    if uncompared is None:
        missing = "What you remember is compared by the local model, which is not in use here"
        steps.append(f"{missing}: {target.hint('doctor')}")
    elif uncompared:
        several = f"{uncompared:,} memories were" if uncompared > 1 else "1 memory was"
        steps.append(f"{several} not compared yet: {target.hint('work')}")
    if len(memory.list(key_type=MESSAGE, limit=1)) and (waiting := what_waits(target, memory)):
        steps.append(waiting)
    return steps
