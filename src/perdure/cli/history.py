"""`perdure history`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import cast

import click

from perdure.cli.command import command
from perdure.cli.difference import Piece, changed_fields, word_diff
from perdure.cli.layout import clip, wrap
from perdure.cli.moments import age
from perdure.cli.screen import dim, fancy, glyphs, row, safe, say, width
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.model import Record, Revision
from perdure.plain import plain


@command("history", examples=("perdure history 7", "perdure history person:alice --json"))
@click.argument("ref")
@with_target()
def main(target: Target, *, ref: str) -> None:
    """Show how a memory became what it is.

    REF is its number, id, content hash or key; forgotten memories have a history too. In a pipe each revision is one
    line: seq, version, operation, actor, surface, session, time, and what changed, where [-old-] became {+new+}.
    """
    with target.memory() as memory:
        revisions = memory.history(ref)
    if target.json:
        target.answer({"revisions": [plain(revision) for revision in revisions]})
        return
    before: Record | None = None
    for revision in revisions:
        changes = list(_changes(before, revision.record, glyphs().arrow if fancy() else "->"))
        if fancy():
            _entry(revision, changes)
        else:
            change = revision.change
            row(revision.seq, revision.version, change.operation, change.actor, change.surface, change.session,
                format_time(change.at), "; ".join(changes))  # fmt: skip
        before = revision.record or before


def _entry(revision: Revision, changes: Sequence[str]) -> None:
    change, marks = revision.change, glyphs()
    operation = click.style(f"{change.operation:<8}", fg=_COLOURS.get(change.operation), bold=True)
    who = f" {marks.dot} ".join(
        safe(word) for word in (change.actor, change.surface, change.session or "", age(change.at)) if word
    )
    seq, when = dim(f"{revision.seq:>4}"), dim(f"{change.at:%Y-%m-%d %H:%M:%S}")
    say(f"{seq}  v{revision.version:<3} {operation}  {who}  {when}")
    for line in changes:
        for part in wrap(safe(line), width() - 20, 8, marks.more):
            say(f"           {_painted(part)}")


def _changes(before: Record | None, after: Record | None, arrow: str) -> Iterator[str]:
    if after is None:
        yield "(erased)"
    elif before is None:
        yield after.text
        facts = {"title": after.title, "key": after.key, "category": after.category, "tags": after.tags}
        yield from (f"{name}: {_value(value)}" for name, value in facts.items() if value)
    else:
        if before.text != after.text:
            yield "".join(map(_marked, word_diff(before.text, after.text)))
        for name, old, new in changed_fields(before, after):
            yield f"{name}: {_value(old)} {arrow} {_value(new)}"


def _marked(piece: Piece) -> str:
    return {"same": "{}", "removed": "[-{}-]", "added": "{{+{}+}}"}[piece.kind].format(piece.text)


def _painted(line: str) -> str:
    """Colours for the marks; they stay, because colours may not."""
    import re

    line = re.sub(r"\[-.*?-\]", lambda match: click.style(match[0], fg="red"), line)
    return re.sub(r"\{\+.*?\+\}", lambda match: click.style(match[0], fg="green"), line)


def _value(value: object) -> str:
    if value is None or value == ():
        return "(none)"
    if isinstance(value, datetime):
        return format_time(value)
    if isinstance(value, tuple):
        return ", ".join(map(str, cast("tuple[object, ...]", value)))
    return clip(str(value), 200)


_COLOURS = {
    "insert": "green", "restore": "green", "update": "cyan", "observe": "blue", "annotate": "blue", "forget": "red",
}  # fmt: skip
