"""`perdure log`."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import groupby
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
from perdure.jsonable import to_jsonable
from perdure.model import Operation, Revision

_EXAMPLES = (
    "perdure log",
    "perdure log --actor ana --since yesterday",
    "perdure log --operation forget --limit 5",
)
_ONLY = "Only those"
_OPERATIONS = get_args(Operation)


@command("log", examples=_EXAMPLES)
@option("--limit", "-l", type=int, default=20, show_default=True, help="So many lines.")
@option("--before", type=int, metavar="SEQ", help="Go on behind this line, to older ones.")
@option("--batch", section=_ONLY, metavar="ID", help="that one call made.")
@option("--session", section=_ONLY, help="made in this session.")
@option("--actor", section=_ONLY, help="made by this writer.")
@option("--operation", section=_ONLY, metavar="NAME", shell_complete=completing(_OPERATIONS),
        help=f"of this kind: {', '.join(_OPERATIONS)}.")  # fmt: skip
@option("--since", section=_ONLY, **moment("since"), help="from this time on: 2026-03-14, 3d, 2w, yesterday.")
@option(
    "--until", section=_ONLY, **moment("until", whole_day=True), help="up to this time; a date includes the whole day."
)
@with_target()
def main(target: Target, *, limit: int, before: int | None, **wanted: Any) -> None:
    """Show who did what, newest first.

    What one call did has one batch id; `perdure undo` takes it back. On a terminal the lines of one call stand below
    its id. In a pipe each change is one line: seq, batch, operation, number, version, actor, surface, session, time,
    text.
    """
    with target.memory() as memory:
        lines = memory.log(before=before, limit=limit, **wanted)
    following = lines[-1].seq if len(lines) == limit and lines[-1].seq > 1 else None
    if target.json:
        target.answer({"revisions": [to_jsonable(line) for line in lines], "next": following})
        return
    if not lines:
        tell("Nothing of that kind has happened here.")
    elif fancy():
        for _, made in groupby(lines, key=lambda line: line.change.batch):
            _paragraph(list(made))
    else:
        for line in lines:
            change = line.change
            row(line.seq, change.batch, change.operation, line.number, line.version, change.actor, change.surface,
                change.session, format_time(change.at), line.record.text if line.record else None)  # fmt: skip
    if following is not None:
        tell(dim(f"more: {target.hint('log', '--before', following, '--limit', limit, *_again(wanted))}"))


def _paragraph(made: Sequence[Revision]) -> None:
    """What one call did: who and when once, above its lines."""
    change, marks = made[0].change, glyphs()
    who = f" {marks.dot} ".join(safe(word) for word in (change.actor, change.session or "", age(change.at)) if word)
    say(f"{dim(change.batch)}  {who}")
    for line in made:
        number = click.style(f"#{line.number}", fg="cyan", bold=True)
        text = safe(line.record.title or line.record.text) if line.record else "(gone)"
        room = width() - len(f"{line.seq:>5}  {line.change.operation:<8}  #{line.number}  ")
        said = dim(clip(text, room, marks.more))
        say(f"{dim(f'{line.seq:>5}')}  {operation_name(line.change.operation)}  {number}  {said}")


def _again(wanted: dict[str, Any]) -> list[str]:
    return [
        word
        for name, value in wanted.items()
        if value is not None
        for word in (f"--{name}", format_time(value) if isinstance(value, datetime) else str(value))
    ]
