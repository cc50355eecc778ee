"""`perdure log`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any, Final, get_args

from perdure.cli.change_view import author_and_age, operation_label
from perdure.cli.command import command, option
from perdure.cli.common_options import Target
from perdure.cli.field_options import completing
from perdure.cli.filter_options import FILTERS, SINCE, UNTIL
from perdure.cli.render import View
from perdure.cli.terminal import dim, glyphs, number_label, safe, width
from perdure.cli.text_layout import clip
from perdure.clock import format_time
from perdure.jsonable import log_document
from perdure.model import Operation, Revision

_EXAMPLES: Final = (
    "perdure log",
    "perdure log --actor ana --since yesterday",
    "perdure log --operation forget --limit 5",
)
_OPERATIONS: Final = get_args(Operation)


@command("log", examples=_EXAMPLES)
@option("--limit", "-l", type=int, default=20, show_default=True, help="Results per page.")
@option("--before", type=int, metavar="SEQ", help="Start before this log entry, with older ones.")
@option("--batch", section=FILTERS, metavar="ID", help="made by this one call.")
@option("--session", section=FILTERS, help="made in this session.")
@option("--actor", section=FILTERS, help="made by this actor.")
@option("--operation", section=FILTERS, metavar="NAME", shell_complete=completing(_OPERATIONS),
        help=f"of this kind: {', '.join(_OPERATIONS)}.")  # fmt: skip
@SINCE
@UNTIL
def main(target: Target, *, limit: int, before: int | None, **filters: Any) -> View:
    """Show who did what, newest first.

    What one call did has one batch id; `perdure undo` takes it back. On a terminal the lines of one call stand below
    its id. In a pipe each change is one line: seq, batch, operation, number, version, actor, surface, session, time,
    text.
    """
    with target.memory() as memory:
        revisions = memory.log(before=before, limit=limit, **filters)
    document = log_document(revisions, limit)
    after = [] if revisions else ["Nothing of that kind has happened here."]
    if document["next"] is not None:
        after.append(dim(f"more: {target.hint('log', before=document['next'], limit=limit, **filters)}"))
    return View(
        json=document,
        lines=_page(revisions),
        rows=(
            (
                each.seq, each.change.batch, each.change.operation, each.number, each.version, each.change.actor,
                each.change.surface, each.change.session, format_time(each.change.at),
                each.record.text if each.record else None,
            )
            for each in revisions
        ),
        after=after,
    )  # fmt: skip


def _page(revisions: Sequence[Revision]) -> Iterator[str]:
    """What one call did: who and when once, above its lines."""
    for batch, group in groupby(revisions, key=lambda revision: revision.change.batch):
        for position, revision in enumerate(group):
            operation = revision.change.operation
            if not position:
                yield f"{dim(batch)}  {author_and_age(revision.change)}"
            text = safe(revision.record.title or revision.record.text) if revision.record else "(gone)"
            room = width() - len(f"{revision.seq:>5}  {operation:<8}  #{revision.number}  ")
            shown = dim(clip(text, room, glyphs().more))
            number = number_label(revision.number)
            yield f"{dim(f'{revision.seq:>5}')}  {operation_label(operation)}  {number}  {shown}"
