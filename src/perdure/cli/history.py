"""`perdure history`."""

from __future__ import annotations

from collections.abc import Sequence

import click

from perdure.cli.change_view import author_and_age, change_lines, describe_changes, operation_label, readable
from perdure.cli.command import Target, command
from perdure.cli.render import View
from perdure.cli.terminal import dim
from perdure.clock import format_time
from perdure.jsonable import list_document
from perdure.model import Record
from perdure.text.diff import changed_fields, word_diff


@command("history", examples=("perdure history 7", "perdure history person:alice --json"))
@click.argument("ref")
def main(target: Target, *, ref: str) -> View:
    """Show how a memory became what it is.

    REF is its number, id, content hash or key. Forgotten memories have a history too; erased ones have one by number
    or id, without their words. In a pipe each revision is one line: seq, version, operation, actor, surface, session,
    time, and what changed, where [-old-] became {+new+}.
    """
    with target.memory() as memory:
        revisions = memory.history(ref)
    gone = "(erased)" if revisions[-1].change.operation == "erase" else "(not kept)"
    before: Record | None = None
    lines: list[str] = []
    rows: list[Sequence[object]] = []
    for revision in revisions:
        change, after = revision.change, revision.record
        if after is None:
            changes = [gone]
        elif before is None:
            facts = {"title": after.title, "key": after.key, "category": after.category, "tags": after.tags}
            changes = [after.text, *(f"{name}: {readable(value)}" for name, value in facts.items() if value)]
        else:
            changes = list(describe_changes(word_diff(before.text, after.text), changed_fields(before, after)))
        before = after or before
        who, when = author_and_age(change, change.surface), dim(f"{change.at:%Y-%m-%d %H:%M:%S}")
        version = f"v{revision.version:<3}"
        lines.append(f"{dim(f'{revision.seq:>4}')}  {version} {operation_label(change.operation)}  {who}  {when}")
        lines += change_lines(changes, 11)
        who_and_when = (change.actor, change.surface, change.session, format_time(change.at))
        rows.append((revision.seq, revision.version, change.operation, *who_and_when, "; ".join(changes)))
    return View(json=list_document("revisions", revisions), lines=lines, rows=rows)
