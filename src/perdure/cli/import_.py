"""`perdure import`."""

from __future__ import annotations

import os
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.command import FilePath, Target, command, option
from perdure.cli.confirm import DRY_RUN
from perdure.cli.imported_view import by_meaning_later, imported_view, source_file
from perdure.cli.progress import Bar
from perdure.cli.render import View
from perdure.cli.terminal import dim, err, note, safe
from perdure.jsonable import list_document
from perdure.vocabulary import IMPORT_TOOLS

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from perdure.bank.sections import ImportOptions, ImportReport
    from perdure.bank.sources import Source
    from perdure.bank.tables import TableRecords
    from perdure.memory import Memory

_EXAMPLES: Final = (
    "perdure import memories.jsonl --trusted",
    "perdure import notes-from-a-colleague.jsonl -n team",
    "perdure import notes.csv",
    "perdure import notes.json --text-field content",
    "perdure import notes.md",
    "perdure import ~/vault --trusted",
    "perdure import chatgpt-export.zip --dry-run",
    "perdure import everything.jsonl --all-namespaces --trusted",
    "perdure import --from claude-code --dry-run",
    "perdure import specs",
    """echo '{"text": "Alice prefers dark mode", "tags": ["ui"]}' | perdure import -""",
)
_MOST_UNREAD: Final = 20


@command("import", examples=_EXAMPLES, creates=True)
@click.argument("path", required=False, type=FilePath(allow_dash=True))
@option("--from", "tool", type=click.Choice(IMPORT_TOOLS), help="Import what this tool keeps, from where it keeps it.")
@option(
    "--trusted",
    is_flag=True,
    help="The file is your own: keep the sources, trust, tiers, importance, times and counts it names.",
)
@option("--revive", is_flag=True, help="Also import what was deleted or changed here later; messages stay forgotten.")
@option("--all-namespaces", is_flag=True, help="Restore each memory of an export into its original namespace.")
@option(
    "--text-field",
    metavar="NAME",
    default="text",
    show_default=True,
    help="Which column of a table, or field of JSON objects, holds the text; other fields go into the metadata.",
)
@DRY_RUN
def main(
    target: Target, *, path: str | None, tool: str | None, text_field: str, dry_run: bool, **options: bool
) -> View:
    """Read memories from a file of `export`, or of another tool.

    Perdure recognises what PATH is: an export (one JSON object per line, of which only `text` is needed; or an array of
    them), a table (CSV, with a column `text` or one that --text-field names), a Markdown file or a folder of them, the
    rules of an editor (`.cursorrules`, `.mdc`), memory files of a project (`specs`), transcripts of Claude Code or
    Codex, a database of another memory tool, the file of the reference memory server; an export of ChatGPT, Claude,
    Gemini (Takeout), OpenMemory or Letta, as a zip file or as the folder or file in it; what mem0, claude-mem, Chroma
    or a store of LangGraph keep; a `.txt` file into which you pasted what a chat remembers of you. `-` is an export on
    standard input. Plain lines are what `perdure remember --lines` reads.
    docs/import.md tells what becomes of each.

    Perdure checks an export first: if one line is bad, nothing is stored. Memories that are stored already stay as they
    are; of two texts with one key, the newer one is kept. Records that were deleted or changed here later are skipped,
    unless you say --revive. Importing the same thing again adds only what is new.
    """
    from perdure.bank.sections import ImportOptions
    from perdure.bank.sources import can_revive, recognise, sources_of
    from perdure.bank.tables import read_table

    if (path is None) == (tool is None):
        raise click.UsageError("Name a PATH, or a tool with --from.")
    if path == "-":
        sources = []
    elif path is not None:
        source_file(path)
        sources = [recognise(Path(path))]
    else:
        home = Path(os.environ.get("HOME") or Path.home())
        sources = sources_of(str(tool), target.project, home, os.environ)
    if path is not None and (not sources or sources[0].kind in {"records", "table", "Markdown export"}):
        kind = sources[0].kind if sources else "records"
        table = read_table(Path(path), text_field) if kind == "table" else None
        objects = objects_of(path, text_field) if kind == "records" and text_field != "text" else None
        is_folder = kind == "Markdown export"
        return import_records(target, path, table, objects, is_folder=is_folder, dry_run=dry_run, **options)
    if text_field != "text":
        raise click.UsageError("--text-field is for tables and for JSON objects that are memories.")
    if options["revive"] and (unsuitable := [each.kind for each in sources if not can_revive(each)]):
        raise click.UsageError(f"--revive is for memories; of {unsuitable[0]} nothing that was forgotten comes back.")
    if options["all_namespaces"]:
        raise click.UsageError("--all-namespaces is for exports; nothing else says a namespace.")
    given = ImportOptions(trusted=options["trusted"], revive=options["revive"], dry_run=dry_run)
    return import_sources(target, sources, given)


def objects_of(path: str, text_field: str) -> list[Mapping[str, Any]]:
    from perdure.bank.tables import records_of_objects
    from perdure.lifecycle.import_export import placed_objects
    from perdure.text_files import rereadable

    with rereadable(source_file(path)) as stream:
        return list(records_of_objects(placed_objects(stream), text_field))


def import_records(
    target: Target,
    path: str,
    table: TableRecords | None,
    objects: Iterable[Mapping[str, Any]] | None,
    *,
    is_folder: bool,
    dry_run: bool,
    all_namespaces: bool,
    **options: bool,
) -> View:
    from perdure.bank.markdown_folder import folder_records, import_folder

    if all_namespaces and target.namespaces:
        raise click.UsageError("Use --namespace or --all-namespaces, not both.")
    source = table.records if table else objects
    if source is None:
        source = folder_records(Path(path)) if is_folder else source_file(path)
    with target.memory(dry_run=dry_run) as memory, Bar("Importing") as bar:
        if is_folder and not all_namespaces:
            imported = import_folder(memory, Path(path), dry_run=dry_run, progress=bar, **options)
        else:
            imported = memory.import_(source, all_namespaces=all_namespaces, dry_run=dry_run, progress=bar, **options)
    total = imported.inserted + imported.updated + imported.present
    counts = f"{imported.inserted:,} new, {imported.updated:,} updated, {imported.present:,} known"
    if table:
        kept = f" Kept as metadata: {', '.join(table.metadata)}." if table.metadata else ""
        columns = f"Columns that are fields of a memory: {', '.join(table.fields)}.{kept}"
        imported = replace(imported, notes=(columns, *imported.notes))
    view = imported_view(target, imported, f"{'Would import' if dry_run else 'Imported'} {total:,}: {counts}.")
    take_back = target.hint("undo", imported.batch, all_namespaces=all_namespaces)
    return replace(view, after=[*view.after, *([dim(f"take it back: {take_back}")] if imported.batch else [])])


def import_sources(target: Target, sources: Sequence[Source], given: ImportOptions) -> View:
    """Each source is a batch of its own; what is wrong with one does not keep the others out."""
    from perdure.bank.sections import ImportReport, Unread
    from perdure.bank.sources import can_revive, import_source
    from perdure.errors import PerdureError

    reports: list[ImportReport] = []
    with target.memory(dry_run=given.dry_run) as memory:
        for source in sources:
            with Bar(f"Importing {source.kind}") as bar:
                options = replace(given, progress=bar, begun=partial(begun, target))
                try:
                    own = place_of(memory, source, options)
                    reports.append(import_source(own[0], source, own[1]))
                except PerdureError as error:
                    if len(sources) == 1:
                        raise
                    unread = (Unread(source.label, error.sentence),)
                    reports.append(ImportReport(source.kind, source.label, unread=unread))
    lines = [line_of(report, dry_run=given.dry_run) for report in reports] or ["There is nothing to import."]
    after = [note(f"{safe(each.what)}: {each.reason}") for report in reports for each in report.unread[:_MOST_UNREAD]]
    after += [
        note(f"{len(report.unread) - _MOST_UNREAD:,} more were left out; --json names each with its reason.")
        for report in reports
        if len(report.unread) > _MOST_UNREAD
    ]
    after += [note(safe(text)) for report in reports for text in report.notes]
    if any(report.kept_forgotten and can_revive(source) for report, source in zip(reports, sources, strict=True)):
        after.append(note("What was forgotten here stays so; --revive brings it back."))
    after += [dim(f"take it back: {target.hint('undo', report.batch)}") for report in reports if report.batch]
    after += by_meaning_later(target, sum(report.inserted + report.updated for report in reports if report.batch))
    return View(json=list_document("imports", reports), lines=lines, after=after)


def begun(target: Target, batch: str) -> None:
    """A database may be large: say how to take back what is stored, in case the import is ended in the middle."""
    err(dim(f"as one batch; if it is interrupted, take it back: {target.hint('undo', batch)}"))


def place_of(memory: Memory, source: Source, options: ImportOptions) -> tuple[Memory, ImportOptions]:
    """What belongs to a private project goes into its own namespace, whoever imports it."""
    from perdure.session.origin import find_origin
    from perdure.session.privacy import where

    common = memory.capacity().namespace

    def place(directory: str | None, session: str) -> Memory | None:
        found = where(directory, session, namespace=common)
        return memory.namespace(found.namespace) if found.recording else None

    if source.root is None:
        return memory, replace(options, place=place)
    # The keys of documents begin with the name of the folder, whatever its repository is called.
    name = find_origin({"PERDURE_PROJECT": source.root.name}).project
    own = where(source.root, None, namespace=common).namespace
    return memory.namespace(own), replace(options, place=place, project_name=name)


def _singular(kind: str) -> str:
    return kind.removesuffix("ies") + "y" if kind.endswith("ies") else kind.removesuffix("s")


def line_of(report: ImportReport, *, dry_run: bool) -> str:
    counts = [
        (report.inserted, "new"), (report.updated, "changed"), (report.present, "known"), (report.gone, "gone"),
        (report.kept_forgotten, "forgotten before"), (len(report.unread), "left out"),
    ]  # fmt: skip
    told = ", ".join(f"{count:,} {word}" for count, word in counts if count or word == "new")
    kinds = ", ".join(f"{count:,} {kind if count > 1 else _singular(kind)}" for kind, count in report.kinds.items())
    holds = f" It holds {kinds}." if kinds else ""
    return f"{'Would import' if dry_run else 'Imported'} {report.kind} {safe(report.path)}: {told}.{holds}"
