"""`perdure log`."""

from __future__ import annotations

from datetime import datetime
from typing import Any, get_args

import click

from perdure.cli.command import command, option
from perdure.cli.difference import operation_name
from perdure.cli.fields import completing
from perdure.cli.layout import clip
from perdure.cli.moments import age, moment
from perdure.cli.screen import dim, fancy, glyphs, row, safe, say, tell, width
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.model import Operation, Revision
from perdure.plain import plain

_EXAMPLES = (
    "perdure log",
    "perdure log --actor ana --since yesterday",
    "perdure log --operation forget --limit 5",
)
_ONLY = "Only those"
_OPERATIONS = get_args(Operation)


@command("log", examples=_EXAMPLES)
@option("--limit", "-l", type=int, default=20, show_default=True, help="So many lines.")
@option("--before", type=int, metavar="SEQ", help="Go on behind this line.")
@option("--batch", section=_ONLY, metavar="ID", help="that one call made.")
@option("--session", section=_ONLY, help="made in this session.")
@option("--actor", section=_ONLY, help="made by this writer.")
@option("--operation", section=_ONLY, metavar="NAME", shell_complete=completing(_OPERATIONS),
        help=f"of this kind: {', '.join(_OPERATIONS)}.")  # fmt: skip
@option("--since", section=_ONLY, **moment("since"), help="from this time on: 2026-03-14, 3d, 2w, yesterday.")
@option("--until", section=_ONLY, **moment("until", whole_day=True), help="up to this time.")
@with_target()
def main(target: Target, *, limit: int, before: int | None, **wanted: Any) -> None:
    """Show who did what, newest first.

    What one call did has one batch id; `perdure undo` takes it back. In a pipe each change is one line: seq, batch,
    operation, number, version, actor, surface, session, time, text.
    """
    with target.memory() as memory:
        lines = memory.log(before=before, limit=limit, **wanted)
    if target.json:
        target.answer({"revisions": [plain(line) for line in lines]})
        return
    if not lines:
        tell("Nothing of that kind has happened here.")
    for line in lines:
        if fancy():
            _show(line)
        else:
            change = line.change
            row(line.seq, change.batch, change.operation, line.number, line.version, change.actor, change.surface,
                change.session, format_time(change.at), line.record.text if line.record else None)  # fmt: skip
    if len(lines) == limit and lines[-1].seq > 1:
        tell(dim(f"more: {target.hint('log', '--before', lines[-1].seq, '--limit', limit, *_again(wanted))}"))


def _show(line: Revision) -> None:
    change, marks = line.change, glyphs()
    number = click.style(f"#{line.number}", fg="cyan", bold=True)
    who = f" {marks.dot} ".join(safe(word) for word in (change.actor, change.session or "", age(change.at)) if word)
    head = f"{line.seq:>5}  {change.batch}  {change.operation:<8}  #{line.number}  {who}  "
    text = safe(line.record.title or line.record.text) if line.record else "(gone)"
    room = width() - len(head)
    said = dim(clip(text, room, marks.more)) if room >= 8 else ""  # noqa: PLR2004 - less says nothing
    say(
        f"{dim(f'{line.seq:>5}')}  {change.batch}  {operation_name(change.operation)}  {number}  {who}  {said}".rstrip()
    )


def _again(wanted: dict[str, Any]) -> list[str]:
    return [
        word
        for name, value in wanted.items()
        if value is not None
        for word in (f"--{name}", format_time(value) if isinstance(value, datetime) else str(value))
    ]
