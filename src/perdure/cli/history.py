"""`perdure history`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import click

from perdure.cli.change_view import author_and_age, change_lines, describe_changes, operation_label, readable
from perdure.cli.command import command
from perdure.cli.common_options import Target
from perdure.cli.render import View
from perdure.cli.terminal import dim
from perdure.clock import format_time
from perdure.model import Record, Revision
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
    return View(
        json={"revisions": revisions},
        lines=_page(revisions),
        rows=(
            (
                revision.seq, revision.version, revision.change.operation, revision.change.actor,
                revision.change.surface, revision.change.session, format_time(revision.change.at), "; ".join(changes),
            )
            for revision, changes in _with_changes(revisions)
        ),
    )  # fmt: skip


def _page(revisions: Sequence[Revision]) -> Iterator[str]:
    for revision, changes in _with_changes(revisions):
        change = revision.change
        seq, when = dim(f"{revision.seq:>4}"), dim(f"{change.at:%Y-%m-%d %H:%M:%S}")
        who = author_and_age(change, change.surface)
        yield f"{seq}  v{revision.version:<3} {operation_label(change.operation)}  {who}  {when}"
        yield from change_lines(changes, 11)


def _with_changes(revisions: Sequence[Revision]) -> Iterator[tuple[Revision, list[str]]]:
    """Each revision, and in words what it changed."""
    gone = "(erased)" if revisions[-1].change.operation == "erase" else "(not kept)"
    before: Record | None = None
    for revision in revisions:
        after = revision.record
        if after is None:
            changes = [gone]
        elif before is None:
            facts = {"title": after.title, "key": after.key, "category": after.category, "tags": after.tags}
            changes = [after.text, *(f"{name}: {readable(value)}" for name, value in facts.items() if value)]
        else:
            changes = list(describe_changes(word_diff(before.text, after.text), changed_fields(before, after)))
        yield revision, changes
        before = after or before
