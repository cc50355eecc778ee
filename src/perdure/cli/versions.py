"""`perdure versions`."""

from __future__ import annotations

import click

from perdure.cli.command import command
from perdure.cli.layout import clip
from perdure.cli.moments import age
from perdure.cli.screen import dim, fancy, glyphs, row, tell, width
from perdure.cli.table import Column, show_table
from perdure.cli.target import Target, with_target
from perdure.clock import format_time
from perdure.jsonable import to_jsonable
from perdure.model import Version

_COLUMNS = (
    Column("version", "bold cyan", number=True),
    Column("memory", share=True),
    Column("made from"),
    Column("by"),
    Column("age", "dim"),
    Column("", "yellow"),
)


@command("versions", examples=("perdure versions 7", "perdure versions person:alice --json"))
@click.argument("ref")
@with_target()
def main(target: Target, *, ref: str) -> None:
    """List the versions of a memory.

    REF is its number, id, content hash or key; forgotten memories have versions too. Other words make a new version,
    everything else a revision of the same one, which `perdure history` shows. In a pipe each version is one line:
    version, `current` or `taken back`, the versions it was made from, actor, time, text.
    """
    with target.memory() as memory:
        found = memory.versions(ref)
    if target.json:
        target.answer({"versions": [to_jsonable(version) for version in found]})
        return
    if fancy():
        show_table(
            _COLUMNS,
            [
                [
                    str(version.version),
                    clip(_words(version), width(), glyphs().more),
                    _sources(version),
                    version.change.actor,
                    age(version.change.at),
                    _standing(version),
                ]
                for version in found
            ],
        )
    else:
        for version in found:
            row(version.version, _standing(version), _sources(version), version.change.actor,
                format_time(version.change.at), _words(version))  # fmt: skip
    if sum(version.record is not None for version in found) > 1:
        tell(dim(f"what changed: {target.hint('diff', ref)}"))


def _words(version: Version) -> str:
    return version.record.text if version.record else "(gone)"


def _sources(version: Version) -> str:
    return ", ".join(map(str, version.lineage))


def _standing(version: Version) -> str:
    return "current" if version.current else "taken back" if version.taken_back else ""
