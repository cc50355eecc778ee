"""`perdure history`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from perdure.cli import stored_names
from perdure.cli.change_view import (
    author_and_age,
    change_lines,
    describe_changes,
    operation_label,
    provenance_line,
    readable,
)
from perdure.cli.command import Target, command
from perdure.cli.render import View
from perdure.cli.terminal import dim
from perdure.clock import format_local, format_time
from perdure.jsonable import list_document
from perdure.model import Record, Revision
from perdure.text.diff import changed_fields, word_diff


@command("history", examples=("perdure history 7", "perdure history person:alice --json"))
@click.argument("ref", shell_complete=stored_names.keys)
def main(target: Target, *, ref: str) -> View:
    """Show how a memory became what it is.

    REF is its number, id, content hash or key. Forgotten memories have a history too; erased ones have one by number
    or id, without their words. In a pipe each revision is one line: seq, version, operation, actor, surface, session,
    time, and what changed, where [-old-] became {+new+}.
    """
    with target.memory() as memory:
        revisions = memory.history(ref)
    gone = "(erased)" if revisions[-1].change.operation == "erase" else "(not kept)"

    def described() -> Iterator[tuple[Revision, list[str]]]:
        """Each revision, and what it changed in words."""
        before: Record | None = None
        for revision in revisions:
            after = revision.record
            provenance = [line] if (line := provenance_line(revision.change)) else []
            if after is None:
                yield revision, [gone]
            elif before is None:
                facts = {"title": after.title, "key": after.key, "category": after.category, "tags": after.tags}
                facts["keywords"] = after.keywords
                named = (f"{name}: {readable(value)}" for name, value in facts.items() if value)
                yield revision, [after.text, *named, *provenance]
            else:
                text_diff, field_changes = word_diff(before.text, after.text), changed_fields(before, after)
                yield revision, [*describe_changes(text_diff, field_changes), *provenance]
            before = after or before

    def page() -> Iterator[str]:
        for revision, changes in described():
            change, version = revision.change, f"v{revision.version:<3}"
            who, when = author_and_age(change, change.surface), dim(format_local(change.at))
            yield f"{dim(f'{revision.seq:>4}')}  {version} {operation_label(change.operation)}  {who}  {when}"
            yield from change_lines(changes, 11)

    return View(
        json=list_document("revisions", revisions),
        lines=page(),
        rows=(
            (
                revision.seq, revision.version, revision.change.operation, revision.change.actor,
                revision.change.surface, revision.change.session, format_time(revision.change.at), "; ".join(changes),
            )
            for revision, changes in described()
        ),
    )  # fmt: skip
