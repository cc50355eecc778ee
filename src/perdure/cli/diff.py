"""`perdure diff`."""

from __future__ import annotations

import click

from perdure.cli import stored_names
from perdure.cli.change_view import change_lines, describe_changes, readable
from perdure.cli.command import Target, command
from perdure.cli.render import View
from perdure.cli.terminal import dim, glyphs, number_label, safe
from perdure.cli.time_options import age
from perdure.model import Version


@command("diff", examples=("perdure diff 7", "perdure diff 7 1 3", "perdure diff person:alice 2 --json"))
@click.argument("ref", shell_complete=stored_names.keys)
@click.argument("before", type=int, required=False)
@click.argument("after", type=int, required=False)
def main(target: Target, *, ref: str, before: int | None, after: int | None) -> View:
    """Show what changed between two versions of a memory.

    REF is its number, id, content hash or key. Without BEFORE and AFTER: what the newest version changed; with BEFORE
    alone: what changed since. In a pipe each difference is one line: field, old value, new value.
    """
    with target.memory() as memory:
        diff = memory.diff(ref, before, after)
    old = "".join(part.text for part in diff.text_diff if part.kind != "added")
    new = "".join(part.text for part in diff.text_diff if part.kind != "removed")
    rows = [("text", old, new)] if old != new else []
    rows += [(change.field, readable(change.old), readable(change.new)) for change in diff.field_changes]
    versions = f"{_version_label(diff.before)} {glyphs().arrow} {_version_label(diff.after)}"
    changes = describe_changes(diff.text_diff, diff.field_changes)
    return View(
        json=diff,
        lines=[f"{number_label(diff.after.number)}  {versions}", *change_lines(changes, 2, most=None)],
        rows=rows,
        after=[] if rows else ["The two versions say the same."],
    )


def _version_label(version: Version) -> str:
    change = version.change
    return f"version {version.version} {dim(f'({safe(change.actor)}, {age(change.at)})')}"
