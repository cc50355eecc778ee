"""`perdure bank`: import, list, promote, validate."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from perdure.cli.command import Group, Target, option
from perdure.cli.confirm import DRY_RUN
from perdure.cli.imported_view import MOST_SHOWN, by_meaning_later
from perdure.cli.progress import Bar
from perdure.cli.project_options import PROJECT, find_project, open_retro
from perdure.cli.record_view import evictions
from perdure.cli.render import Column, Table, View, empty_answer
from perdure.cli.retro_view import retro_view
from perdure.cli.terminal import count_memories, dim, note, safe
from perdure.errors import NotAllowed
from perdure.jsonable import list_document

if TYPE_CHECKING:
    from perdure.bank.entries import BankEntry, SkippedEntry


_COLUMNS: Final[tuple[Column[BankEntry], ...]] = (
    Column("category", lambda entry: entry.category),
    Column("entry", lambda entry: entry.name, "bold cyan", share=True),
    Column("count", lambda entry: f"{entry.observation_count:,}", number=True),
    Column("confidence", lambda entry: entry.confidence),
    Column("last observed", lambda entry: entry.last_observed or "", "dim"),
    Column("bank", lambda entry: "global" if entry.is_global else "project", "dim"),
)


@click.group("bank", cls=Group)
@click.pass_context
def main(ctx: click.Context) -> None:
    """Import, list and promote the learnings of a Markdown knowledge bank.

    A project keeps its learnings in docs/knowledge-bank, as anti-patterns.md, patterns.md and heuristics.md; those of
    all projects are in ~/.claude/iflow/memory. `perdure retro` adds to them.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


@main.part("import", examples=("perdure bank import --dry-run", "perdure bank import --trusted"), creates=True)
@option("--trusted", is_flag=True, help="You know who wrote the project's bank: its memories are of normal trust.")
@option("--revive", is_flag=True, help="Also import what was forgotten or corrected here.")
@PROJECT
@DRY_RUN
def import_(target: Target, *, trusted: bool, revive: bool, project: Path | None, dry_run: bool) -> View:
    """Make memories of the project's bank and of the global one.

    What is stored already, by its content, stays as it is. The first session of a project does this by itself; after
    that, and after the store was lost, you say when.
    """
    from perdure.bank.importing import import_bank

    found = find_project(target, project)
    with found.memory(target, dry_run=dry_run) as memory, Bar("Importing") as bar:
        done = import_bank(
            memory, found.folder, private=found.place.private, trusted=trusted, revive=revive, dry_run=dry_run,
            progress=bar, name=found.name,
        )  # fmt: skip
    verb = "Would import" if dry_run else "Imported"
    after = [*evictions(done.evicted), *map(note, done.notes)]
    if not done.folders:
        after += empty_answer("There is no knowledge bank here.", f"Begin one: {target.hint('retro', '--name', '…')}")
    if done.low_trust:
        trusting = target.hint("session", "trust")
        low = count_memories(done.low_trust)
        after.append(dim(f"told in this project alone: {low}; everywhere, once you trust it: {trusting}"))
    if done.batch:
        after.append(dim(f"take it back: {target.hint('undo', done.batch)}"))
        after += by_meaning_later(target, done.inserted)
    return View(
        json=done,
        lines=[f"{verb} {done.inserted:,} new, {done.present:,} known.", *_skipped_lines(done.skipped)],
        after=after,
    )


def _skipped_lines(skipped: Sequence[SkippedEntry]) -> list[str]:
    lines: list[str] = []
    for path, some in groupby(skipped[:MOST_SHOWN], key=lambda each: each.path):
        lines.append(safe(path))
        lines += [
            safe(f"  {f'line {each.line_number}, ' if each.line_number else ''}{each.name}: {each.reason}")
            for each in some
        ]
    return lines + ([f"… and {len(skipped) - MOST_SHOWN:,} more"] if len(skipped) > MOST_SHOWN else [])


def _document(entry: BankEntry) -> dict[str, Any]:
    """An entry in the words that a memory has for it."""
    from perdure.bank.importing import metadata_of
    from perdure.model import CONFIDENCE_LABELS

    same = ("name", "description", "category", "observation_count", "last_observed", "is_global", "path", "line_number")
    shown: dict[str, Any] = {name: getattr(entry, name) for name in same}
    return shown | {
        "content_hash": entry.content_hash,
        "confidence": CONFIDENCE_LABELS[entry.confidence],
        "metadata": metadata_of(entry),
    }


@main.part("list", examples=("perdure bank list", "perdure bank list --stale --json"))
@option("--stale", is_flag=True, help="Only entries that were not observed for ten features.")
@PROJECT
def list_(target: Target, *, stale: bool, project: Path | None) -> View:
    """List the entries of the project's bank and of the global one, in the order in which a session is shown them.

    It reads the Markdown alone. In a pipe each is one line: content hash, category, name, count, confidence, last
    observed, file, line.
    """
    from perdure.bank.entries import CATEGORIES, global_bank, local_bank, read_bank
    from perdure.bank.plain import prominence, without_duplicates
    from perdure.bank.staleness import feature_numbers, stale_entries
    from perdure.session.branch import checkout

    folder = checkout(project or target.project or Path.cwd())
    banks = [read_bank(local_bank(folder)), read_bank(global_bank(), is_global=True)]
    entries = without_duplicates([entry for bank in banks for entry in bank.entries])
    entries.sort(key=prominence, reverse=True)
    entries.sort(key=lambda entry: CATEGORIES.index(entry.category))
    if stale:
        features = feature_numbers(folder)
        entries = [entry for entry in entries if not entry.is_global and stale_entries([entry], features)]
    nothing = "Nothing is stale." if stale else "There is no entry in a knowledge bank here."
    return View(
        json=list_document("bank_entries", map(_document, entries)),
        lines=[Table(_COLUMNS, entries)] if entries else [],
        rows=[
            (each.content_hash, each.category, each.name, each.observation_count, each.confidence, each.last_observed,
             each.path, each.line_number)
            for each in entries
        ],
        after=[
            *(() if entries else empty_answer(nothing)),
            *(note(f"{each.path}: {each.name}: {each.reason}") for bank in banks for each in bank.skipped),
        ],
    )  # fmt: skip


@main.part(
    "promote", examples=("perdure bank promote 'Read real samples'", "perdure bank promote --universal --dry-run")
)
@click.argument("entries", nargs=-1, metavar="[ENTRY]...")
@option("--universal", is_flag=True, help="All entries that a retro called universal.")
@PROJECT
@DRY_RUN
def promote(target: Target, *, entries: tuple[str, ...], universal: bool, project: Path | None, dry_run: bool) -> View:
    """Copy learnings that hold everywhere into the global bank.

    An ENTRY is named by its name or its content hash. What is there already keeps the higher count. A private project
    promotes nothing.
    """
    from perdure.bank.entries import global_bank
    from perdure.bank.promotion import promote_entries
    from perdure.clock import system_clock

    found = find_project(target, project)
    if found.place.private:
        raise NotAllowed(
            f"{found.name} is private, so nothing of it goes where other projects see it.",
            remedy="perdure session shared changes that.",
        )
    if not entries and not universal:
        raise click.UsageError("Name an entry, or say --universal.")
    day = system_clock().astimezone().date()
    done = promote_entries(
        found.folder, entries, global_bank(), name=found.name, day=day, universal=universal, dry_run=dry_run
    )
    verb = "Promoted" if done.done else "Would promote"
    return View(
        json={**list_document("bank_entries", map(_document, done.entries)), "files": done.files, "done": done.done},
        lines=[
            *(safe(f"{verb}: {entry.name} ({entry.category})") for entry in done.entries),
            *(safe(line) for change in done.files for line in ([] if done.done else change.diff.splitlines())),
            *(dim(safe(f"written: {change.path}")) for change in done.files if done.done),
        ],
        after=() if done.entries else empty_answer("No entry is called universal here."),
    )


@main.part(
    "validate", examples=("perdure bank validate", "perdure bank validate --confirm 'Read real samples'"), creates=True
)
@option("--confirm", "confirmed", multiple=True, metavar="ENTRY", help="It held. Repeatable.")
@option(
    "--challenge", "challenged", multiple=True, nargs=2, metavar="ENTRY REASON",
    help="It did not hold, and why. Repeatable.",
)  # fmt: skip
@option("--feature", metavar="NUMBER", help="The feature in which.  [default: the active one, or the branch's]")
@PROJECT
@DRY_RUN
def validate(
    target: Target,
    *,
    confirmed: tuple[str, ...],
    challenged: tuple[tuple[str, str], ...],
    feature: str | None,
    project: Path | None,
    dry_run: bool,
) -> View:
    """Say which entries held and which did not, and see which are stale.

    A confirmed entry counts one observation more; what speaks against a challenged one stands beside it from then on.
    An entry is stale when ten or more features are newer than the one it was last observed in.
    """
    from perdure.session.retro_request import RetroRequest

    with open_retro(target, project, feature=feature, dry_run=dry_run) as retro:
        result = retro.run(RetroRequest((), confirmed, challenged), dry_run=dry_run)
    return retro_view(target, result)
