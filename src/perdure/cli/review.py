"""`perdure review`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.field_options import completing
from perdure.cli.proposal_view import proposal_lines, proposal_rows
from perdure.cli.render import View, empty_answer
from perdure.cli.terminal import dim, note, number_label, safe
from perdure.jsonable import list_document
from perdure.text.preview import one_line_preview

if TYPE_CHECKING:
    from perdure.learn.results import Decision

_KINDS: Final = ("merge", "conflict")
_ANSWERS: Final = ("accept", "reject")
_EXAMPLES: Final = ("perdure review", "perdure review accept 7", "perdure review reject 7", "perdure review --json")


@command("review", examples=_EXAMPLES)
@click.argument("answer", type=click.Choice(_ANSWERS), required=False)
@click.argument("number", type=int, required=False, metavar="[N]")
@option("--kind", shell_complete=completing(_KINDS), metavar="KIND", help=f"Only proposals to {' or '.join(_KINDS)}.")
@option("--keep", type=int, metavar="N", help="The memory that is true, for a conflict.  [default: the newer one]")
@option("--limit", "-l", type=int, default=20, show_default=True, help="Maximum number of proposals.")
def main(
    target: Target, *, answer: str | None, number: int | None, kind: str | None, keep: int | None, limit: int
) -> View:
    """Accept or reject what Perdure proposes about two memories.

    Without an answer it lists what waits, newest first: pairs that may say the same (merge), and pairs that cannot both
    be true (conflict). N is the number of a proposal. Accepting a conflict lets the newer memory supersede the older
    one; --keep names the one that stays instead. A rejected proposal is not made again, unless one of the two memories
    changes. In a pipe each is one line: number, kind, both memories' numbers, cosine, time, both texts.
    """
    if answer is not None and number is None:
        raise click.UsageError(f"Say which proposal: perdure review {answer} N")
    if keep is not None and answer != "accept":
        raise click.UsageError("--keep belongs to accept.")
    with target.memory() as memory:
        if number is not None:
            if answer == "accept":
                return decision_view(target, memory.accept(number, keep=keep))
            return decision_view(target, memory.reject(number))
        proposals = memory.review(kind, limit=limit)
    after: Sequence[str] = empty_answer("Nothing waits for you.")
    if proposals:
        accept, reject = (target.hint("review", word, proposals[0].number) for word in _ANSWERS)
        after = (dim(f"answer one: {accept} or {reject}"),)
    return View(
        json=list_document("proposals", proposals),
        lines=proposal_lines(proposals),
        rows=proposal_rows(proposals),
        after=after,
    )


def decision_view(target: Target, decision: Decision) -> View:
    return View(
        json=decision,
        lines=[
            f"{decision.decision.capitalize()} {number_label(decision.proposal)}.",
            *(f"  {safe(one_line_preview(record))}  {dim(record.state)}" for record in decision.records),
        ],
        after=[*map(note, decision.notes), dim(f"take it back: {target.hint('undo', decision.batch)}")],
    )
