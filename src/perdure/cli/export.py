"""`perdure export`."""

from __future__ import annotations

from pathlib import Path
from typing import Final, cast

import click

from perdure.cli.command import FilePath, Target, command, option
from perdure.cli.field_options import completing
from perdure.cli.progress import Bar
from perdure.cli.render import View
from perdure.cli.terminal import count_memories, note, safe, utf8_output
from perdure.errors import Conflict, ExportFailed
from perdure.jsonable import export_document
from perdure.model import STATES, State

_EXAMPLES: Final = (
    "perdure export memories.jsonl",
    "perdure export - | gzip > memories.jsonl.gz",
    "perdure export all.jsonl --state active --state deleted",
    "perdure export everything.jsonl --all-namespaces",
    "perdure export memory --format markdown",
    "perdure export notes.csv --format csv",
)
FORMATS: Final = ("jsonl", "markdown", "csv")
_REPLACED: Final[tuple[State, ...]] = ("superseded", "merged")
_LEFT_OUT: Final = "What other memories took the place of is not in the file; with it: {}."
# Endings of a name that promise another kind of file.
_OTHER_KINDS: Final = {".md", ".txt", ".zip"}
_TABLES: Final = {".csv", ".tsv", ".xlsx"}
_TABLE: Final = "`--format csv` writes a table"


@command("export", examples=_EXAMPLES)
@click.argument("file", type=FilePath(dir_okay=False, allow_dash=True))
@option("--state", multiple=True, metavar="NAME", shell_complete=completing(STATES),
        help=f"Memories in this state: {', '.join(STATES)}. Repeatable.  [default: active]")  # fmt: skip
@option("--all-namespaces", is_flag=True, help="All namespaces, in one file; every line says which is its own.")
@option("--overwrite", "-f", is_flag=True, help="Replace FILE if it exists.")
@option(
    "--format",
    type=click.Choice(FORMATS),
    default=FORMATS[0],
    help="A file of JSON Lines, a folder of Markdown, or a table.",
)
def main(
    target: Target, *, file: str, state: tuple[str, ...], all_namespaces: bool, overwrite: bool, format: str
) -> View:
    """Write memories to a file of JSON Lines, to a folder of Markdown, or to a table.

    FILE is written whole or not at all; `-` is standard output. `perdure import` reads it back, and
    with --all-namespaces each memory into its own namespace.

    With --format markdown, FILE is a folder in the layout of the Open Memory Protocol: constitutional and critical
    memories at the top, the others in folders, each memory a file with its fields above its text.

    With --format csv, FILE is a table for a spreadsheet: a row for each memory, a column for each of the fields that
    people look at. A text that a spreadsheet would compute, such as one that begins with `=`, gets an apostrophe.
    """
    to_stdout = file == "-"
    if format == "markdown":
        return export_markdown(target, file, state, all_namespaces=all_namespaces, overwrite=overwrite)
    if format == "csv" and (to_stdout or all_namespaces):
        raise click.UsageError("A table holds one namespace, and is not written to standard output.")
    if all_namespaces and target.namespaces:
        raise click.UsageError("Use --namespace or --all-namespaces, not both.")
    if to_stdout and target.json:
        raise click.UsageError("`export -` writes JSON Lines to standard output; leave out --json.")
    if not to_stdout and not overwrite and Path(file).exists():
        raise Conflict(f"{file} exists.", remedy="Choose another name, or replace it with --overwrite.")
    if not to_stdout and not Path(file).parent.exists():
        raise ExportFailed(f"There is no directory {Path(file).parent}.", remedy="Make it, or choose another place.")
    states = cast("tuple[State, ...]", state or ("active",))
    if format == "csv":
        return export_table(target, file, states)
    with target.memory() as memory, Bar("Exporting") as bar:
        where = utf8_output() if to_stdout else file
        exported = memory.export(where, states=states, all_namespaces=all_namespaces, progress=bar)
        if all_namespaces:
            spaces = memory.stats().namespaces
            held = {one for each in spaces for one, number in each.states.items() if number}
            of = f" of {len(spaces):,} {'namespace' if len(spaces) == 1 else 'namespaces'}"
        else:
            held, of = {one for one in _REPLACED if memory.list(states=(one,), limit=1)}, ""
    replaced = [one for one in _REPLACED if one not in states and one in held]
    done, damaged = (
        f"Exported {count_memories(exported.written)}{of}",
        ", ".join(f"#{each}" for each in exported.damaged),
    )
    skipped = f"Skipped, because they are damaged: {damaged}. `perdure doctor --repair` may bring them back."
    return View(
        json=export_document(exported, file),
        lines=[] if to_stdout else [f"{done} to {safe(file)}"],
        after=[
            *([f"{done}."] if to_stdout else []),
            *([note(skipped)] if damaged else []),
            *([note(f"{safe(file)} holds JSON Lines; {_TABLE}.")] if Path(file).suffix in _TABLES else []),
            *([note(f"{safe(file)} holds JSON Lines.")] if Path(file).suffix in _OTHER_KINDS else []),
            *([note(_LEFT_OUT.format(" ".join(f"--state {one}" for one in (*states, *replaced))))] if replaced else []),
        ],
    )


def export_markdown(
    target: Target, folder: str, states: tuple[str, ...], *, all_namespaces: bool, overwrite: bool
) -> View:
    from perdure.bank.markdown_folder import export_folder

    if folder == "-" or all_namespaces:
        raise click.UsageError("A folder of Markdown holds one namespace, and is not written to standard output.")
    wanted = cast("tuple[State, ...]", states or ("active",))
    with target.memory() as memory, Bar("Exporting") as bar:
        exported = export_folder(memory, folder, states=wanted, overwrite=overwrite, progress=bar)
    return View(
        json=export_document(exported, folder),
        lines=[f"Exported {count_memories(exported.written)} to {safe(folder)}/"],
    )


def export_table(target: Target, file: str, states: tuple[State, ...]) -> View:
    from perdure.bank.tables import write_table

    with target.memory() as memory:
        exported = write_table(memory, Path(file), states=states)
    return View(
        json=export_document(exported, file),
        lines=[f"Exported {count_memories(exported.written)} to {safe(file)}"],
    )
