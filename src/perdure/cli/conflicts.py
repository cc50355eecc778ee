"""`perdure conflicts`."""

from __future__ import annotations

from typing import Final

from perdure.cli.command import Target, command, option
from perdure.cli.proposal_view import proposal_lines, proposal_rows
from perdure.cli.render import View, empty_answer
from perdure.cli.terminal import dim
from perdure.cli.waiting import what_waits
from perdure.jsonable import list_document

_EXAMPLES: Final = ("perdure conflicts", "perdure conflicts --json")


@command("conflicts", examples=_EXAMPLES)
@option("--limit", "-l", type=int, default=20, show_default=True, help="Maximum number of results.")
def main(target: Target, *, limit: int) -> View:
    """List memories that cannot both be true.

    Nobody has decided about them yet: both stay until you do. What is learned from conversations is compared when it is
    learned, and what `save_memory` saves when it is saved; nothing else is. In a pipe each pair is one line, as in
    `perdure review`.
    """
    with target.memory() as memory:
        conflicts = memory.conflicts(limit=limit)
        waiting = "" if conflicts else what_waits(target, memory)
    after = empty_answer("Of what was learned from conversations, nothing contradicts anything else.")
    if waiting:
        after = empty_answer("No contradiction is known, and not everything has been compared.", waiting)
    if conflicts:
        number = conflicts[0].number
        after = (
            dim(f"the newer one is true: {target.hint('review', 'accept', number)}"),
            dim(f"the older one is: {target.hint('review', 'accept', number, keep=conflicts[0].first.number)}"),
            dim(f"both are: {target.hint('review', 'reject', number)}"),
        )
    return View(
        json=list_document("proposals", conflicts),
        lines=proposal_lines(conflicts),
        rows=proposal_rows(conflicts),
        after=after,
    )
