"""`perdure log`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, get_args

from perdure.cli.change_view import author_and_age, change_lines, operation_label, provenance_line
from perdure.cli.command import Target, command, option
from perdure.cli.field_options import completing
from perdure.cli.filter_options import FILTERS, SINCE, UNTIL
from perdure.cli.render import View
from perdure.cli.terminal import dim, glyphs, is_terminal_layout, number_label, safe, width
from perdure.cli.text_layout import clip
from perdure.clock import format_time
from perdure.jsonable import log_document
from perdure.model import Operation

_EXAMPLES: Final = (
    "perdure log",
    "perdure log --actor ana --since yesterday",
    "perdure log --operation forget --limit 5",
)
_PER_PAGE: Final = 20
_FETCHED: Final = 1000
_INDENT: Final = 7
# The end of a batch's id is random, and `undo` takes it.
_ID_CHARACTERS: Final = 8
_OPERATIONS: Final = get_args(Operation)


@command("log", examples=_EXAMPLES)
@option("--limit", "-l", type=int, help="Results per page.  [default: 20; in a pipe, all]")
@option("--before", type=int, metavar="SEQ", help="Start before this log entry, with older ones.")
@option(
    "--batch",
    section=FILTERS,
    metavar="ID",
    help="made by this one call; the first or last 8 characters of its id will do.",
)
@option("--session", section=FILTERS, help="made in this session.")
@option("--actor", section=FILTERS, help="made by this actor.")
@option("--operation", section=FILTERS, metavar="NAME", shell_complete=completing(_OPERATIONS),
        help=f"of this kind: {', '.join(_OPERATIONS)}.")  # fmt: skip
@SINCE
@UNTIL
def main(target: Target, *, limit: int | None, before: int | None, **filters: Any) -> View:
    """Show who did what, newest first.

    What one call did has one batch id; `perdure undo` takes it back. On a terminal the lines of one call stand below
    the last characters of its id, which `undo` understands. In a pipe all changes are listed, each on one line: seq,
    batch, operation, number, version, actor, surface, session, time, text.
    """
    everything = limit is None and not target.json and not is_terminal_layout()
    limit = _FETCHED if everything else _PER_PAGE if limit is None else limit
    with target.memory() as memory:
        revisions = page = memory.log(before=before, limit=limit, **filters)
        while everything and len(page) == limit:
            page = memory.log(before=page[-1].seq, limit=limit, **filters)
            revisions = [*revisions, *page]
    document = log_document(revisions, len(revisions) + 1 if everything else limit)
    after = [] if revisions else ["Nothing of that kind has happened here."]
    if document["next"] is not None:
        after.append(dim(f"more: {target.hint('log', before=document['next'], limit=limit, **filters)}"))
    lines: list[str] = []
    rows: list[Sequence[object]] = []
    batch = None
    for revision in revisions:
        change, record = revision.change, revision.record
        # What one call did: who and when once, above its lines.
        if change.batch != batch:
            batch = change.batch
            lines.append(f"{dim(batch[-_ID_CHARACTERS:])}  {author_and_age(change)}")
        text = safe(record.title or record.text) if record else "(gone)"
        room = width() - len(f"{revision.seq:>5}  {change.operation:<8}  #{revision.number}  ")
        named = f"{operation_label(change.operation)}  {number_label(revision.number)}"
        lines.append(f"{dim(f'{revision.seq:>5}')}  {named}  {dim(clip(text, room, glyphs().more))}")
        if said_again := provenance_line(change):
            lines += change_lines([said_again], _INDENT)
        who_and_when = (change.actor, change.surface, change.session, format_time(change.at))
        what = (revision.seq, change.batch, change.operation, revision.number, revision.version)
        rows.append((*what, *who_and_when, record.text if record else None))
    return View(json=document, lines=lines, rows=rows, after=after)
