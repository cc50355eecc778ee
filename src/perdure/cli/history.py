"""`perdure history`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from perdure.cli.command import command
from perdure.cli.difference import changed, introduced, operation_name, show_changes
from perdure.cli.moments import age
from perdure.cli.screen import dim, fancy, glyphs, row, safe, say
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.jsonable import to_jsonable
from perdure.model import Record, Revision
from perdure.text.diff import changed_fields, word_diff


@command("history", examples=("perdure history 7", "perdure history person:alice --json"))
@click.argument("ref")
@with_target()
def main(target: Target, *, ref: str) -> None:
    """Show how a memory became what it is.

    REF is its number, id, content hash or key. Forgotten memories have a history too; erased ones have one by number
    or id, without their words. In a pipe each revision is one line: seq, version, operation, actor, surface, session,
    time, and what changed, where [-old-] became {+new+}.
    """
    with target.memory() as memory:
        revisions = memory.history(ref)
    if target.json:
        target.answer({"revisions": [to_jsonable(revision) for revision in revisions]})
        return
    gone = "(erased)" if revisions[-1].change.operation == "erase" else "(not kept)"
    before: Record | None = None
    for revision in revisions:
        changes = _changes(before, revision.record, gone)
        if fancy():
            _entry(revision, changes)
        else:
            change = revision.change
            row(revision.seq, revision.version, change.operation, change.actor, change.surface, change.session,
                format_time(change.at), "; ".join(changes))  # fmt: skip
        before = revision.record or before


def _entry(revision: Revision, changes: Sequence[str]) -> None:
    change = revision.change
    who = f" {glyphs().dot} ".join(
        safe(word) for word in (change.actor, change.surface, change.session or "", age(change.at)) if word
    )
    seq, when = dim(f"{revision.seq:>4}"), dim(f"{change.at:%Y-%m-%d %H:%M:%S}")
    say(f"{seq}  v{revision.version:<3} {operation_name(change.operation)}  {who}  {when}")
    show_changes(changes, 11)


def _changes(before: Record | None, after: Record | None, gone: str) -> list[str]:
    if after is None:
        return [gone]
    if before is None:
        return list(introduced(after))
    return list(changed(word_diff(before.text, after.text), changed_fields(before, after)))
