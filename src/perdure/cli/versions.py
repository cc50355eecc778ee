"""`perdure versions`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli import stored_names
from perdure.cli.command import Target, command
from perdure.cli.render import Column, Table, View
from perdure.cli.terminal import dim
from perdure.cli.time_options import age
from perdure.clock import format_time
from perdure.jsonable import list_document
from perdure.model import Version


def _text(version: Version) -> str:
    return version.record.text if version.record else "(gone)"


def _lineage(version: Version) -> str:
    return ", ".join(map(str, version.lineage))


def _standing(version: Version) -> str:
    return "current" if version.current else "taken back" if version.taken_back else ""


_COLUMNS: Final[tuple[Column[Version], ...]] = (
    Column("version", lambda version: str(version.version), "bold cyan", number=True),
    Column("memory", _text, share=True),
    Column("made from", _lineage),
    Column("by", lambda version: version.change.actor),
    Column("age", lambda version: age(version.change.at), "dim"),
    Column("", _standing, "yellow"),
)


@command("versions", examples=("perdure versions 7", "perdure versions person:alice --json"))
@click.argument("ref", shell_complete=stored_names.keys)
def main(target: Target, *, ref: str) -> View:
    """List the versions of a memory.

    REF is its number, id, content hash or key; forgotten memories have versions too. A new text makes a new version;
    any other change is a revision of the same one, which `perdure history` shows. In a pipe each version is one line:
    version, `current` or `taken back`, the versions it was made from, actor, time, text.
    """
    with target.memory() as memory:
        versions = memory.versions(ref)
    readable = sum(version.record is not None for version in versions)
    return View(
        json=list_document("versions", versions),
        lines=[Table(_COLUMNS, versions)],
        rows=[
            (each.version, _standing(each), _lineage(each), each.change.actor, format_time(each.change.at), _text(each))
            for each in versions
        ],
        after=[dim(f"what changed: {target.hint('diff', ref)}")] if readable > 1 else [],
    )
