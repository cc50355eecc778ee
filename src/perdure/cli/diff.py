"""`perdure diff`."""

from __future__ import annotations

from collections.abc import Iterator

import click

from perdure.cli.command import command
from perdure.cli.difference import changed, readable, show_changes
from perdure.cli.moments import age
from perdure.cli.screen import dim, fancy, glyphs, row, safe, say, tell
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable
from perdure.model import Diff, Version


@command("diff", examples=("perdure diff 7", "perdure diff 7 1 3", "perdure diff person:alice 2 --json"))
@click.argument("ref")
@click.argument("before", type=int, required=False)
@click.argument("after", type=int, required=False)
@with_target()
def main(target: Target, *, ref: str, before: int | None, after: int | None) -> None:
    """Show what changed between two versions of a memory.

    REF is its number, id, content hash or key. Without BEFORE and AFTER: what the newest version changed; with BEFORE
    alone: what changed since. In a pipe each difference is one line: field, old value, new value.
    """
    with target.memory() as memory:
        diff = memory.diff(ref, before, after)
    if target.json:
        target.answer(to_jsonable(diff))
    elif fancy():
        _show(diff)
    else:
        for line in _rows(diff):
            row(*line)
    if not target.json and not any(_rows(diff)):
        tell("The two versions say the same.")


def _show(diff: Diff) -> None:
    number = click.style(f"#{diff.after.number}", fg="cyan", bold=True)
    say(f"{number}  {_named(diff.before)} {glyphs().arrow} {_named(diff.after)}")
    show_changes(changed(diff.text_diff, diff.field_changes), 2, most=None)


def _named(version: Version) -> str:
    change = version.change
    return f"version {version.version} {dim(f'({safe(change.actor)}, {age(change.at)})')}"


def _rows(diff: Diff) -> Iterator[tuple[str, str, str]]:
    old = "".join(piece.text for piece in diff.text_diff if piece.kind != "added")
    new = "".join(piece.text for piece in diff.text_diff if piece.kind != "removed")
    if old != new:
        yield "text", old, new
    yield from ((each.field, readable(each.old), readable(each.new)) for each in diff.field_changes)
