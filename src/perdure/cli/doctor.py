"""`perdure doctor`."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import click

from perdure.cli.command import FilePath, Target, command, option
from perdure.cli.exit_codes import OK, PROBLEM_FOUND
from perdure.cli.progress import Bar
from perdure.cli.render import View
from perdure.cli.terminal import dim, glyphs, safe, width
from perdure.cli.text_layout import wrap
from perdure.errors import SettingsInvalid, StoreBusy, StoreError
from perdure.hosts.check import check_host
from perdure.hosts.host import HOSTS, host_named
from perdure.jsonable import doctor_document
from perdure.model import Finding
from perdure.project_settings import read_project_settings
from perdure.session.configuration import read_configuration
from perdure.session.spool import Spool

_PROJECT: Final = "project settings"
_COLOURS: Final = {"ok": "green", "warning": "yellow", "problem": "red"}


@command(
    "doctor",
    examples=(
        "perdure doctor",
        "perdure doctor --repair",
        "perdure doctor --secrets",
        "perdure doctor claude-code",
        "perdure doctor --json | jq .ok",
    ),
)
@click.argument("host", metavar="[HOST]", required=False, type=click.Choice(tuple(HOSTS)))
@option("--repair", is_flag=True, help="First rebuild the index, and bring damaged records back from their history.")
@option("--online", is_flag=True, help="Also ask the embedder and the language model whether they answer.")
@option("--secrets", is_flag=True, help="Look for secrets instead, in all namespaces; with --repair, take them out.")
@option("--erased", type=FilePath(dir_okay=False), help="First erase again what a list names: STORE-erased.")
def main(target: Target, *, host: str | None, repair: bool, online: bool, secrets: bool, erased: str | None) -> View:
    """Check the store, its settings or a coding agent; repair the store.

    With HOST, such as claude-code, codex, copilot or gemini, the store is left alone: whether the host is configured,
    whether what a server stores reaches the next session, and what the host itself says about it.

    Each line is ok, a warning or a problem, with what to do about it. Exit code 0: no problem; 7: a problem was
    found. A repair never touches a sound record or any history; only with --secrets it does: each secret is replaced
    by [REDACTED:kind], and what the history said with it is dropped for good. --erased is for a database that was
    restored to an earlier moment. In a pipe: level, check, sentence, remedy, with tabs.
    """
    if host is not None and (repair or online or secrets or erased):
        raise click.UsageError("--repair, --online, --secrets and --erased are about the store, not about a host.")
    if secrets and erased:
        raise click.UsageError("Use --secrets or --erased, not both.")
    levels: list[str] = []

    def examine() -> Iterator[Finding]:
        found = findings_of_store(target, repair=repair, online=online, secrets=secrets, erased=erased)
        for finding in found if host is None else check_host(host_named(host), Path.cwd(), os.environ):
            levels.append(finding.level)
            yield finding

    def page() -> Iterator[str]:
        marks = glyphs()
        for finding in examine():
            glyph = {"ok": marks.ok, "warning": marks.warning, "problem": marks.problem}[finding.level]
            mark = click.style(glyph, fg=_COLOURS[finding.level], bold=True)
            first, *rest = wrap(safe(finding.sentence), width() - 22)
            yield f"{mark} {dim(f'{safe(finding.check):<18}')}  {first}"
            yield from (f"{'':<22}{line}" for line in rest)
            for line in wrap(safe(finding.remedy), width() - 24) if finding.remedy else ():
                yield f"{'':<22}{click.style(line, fg='yellow')}"
        problems, warnings = levels.count("problem"), levels.count("warning")
        yield ""
        if problems:
            yield click.style(f"{problems} problem{'' if problems == 1 else 's'} found.", fg="red", bold=True)
        elif warnings:
            yield f"No problem, {warnings} warning{'' if warnings == 1 else 's'}."
        else:
            yield click.style("Everything is in order.", fg="green")

    return View(
        json=lambda: doctor_document(list(examine())),
        lines=page(),
        rows=((finding.level, finding.check, finding.sentence, finding.remedy) for finding in examine()),
        exit_code=lambda: PROBLEM_FOUND if "problem" in levels else OK,
    )


def findings_of_store(
    target: Target, *, repair: bool, online: bool, secrets: bool, erased: str | None = None
) -> Iterator[Finding]:
    """Findings as they come. A store that cannot even be opened is one too; one that is only busy is not. Settings of
    the project that cannot be read are one, and the store is opened without them.
    """
    wrong = [] if secrets else list(findings_of_project(target.project))
    yield from wrong
    settings = target.own_settings if any(finding.check == _PROJECT for finding in wrong) else None
    try:
        with target.memory(settings=settings) as memory, Bar("Looking for secrets") as bar:
            yield from memory.doctor(repair=repair, online=online, secrets=secrets, erased=erased, progress=bar)
        if not secrets:
            yield from Spool(target.own_settings.store).findings()
    except StoreBusy:
        raise
    except StoreError as error:
        yield Finding(error.code, "problem", error.sentence, error.cli_remedy)


def findings_of_project(project: Path | None) -> Iterator[Finding]:
    """What is wrong in the files that configure sessions in this project. Sessions go on with the defaults."""
    if project is None:
        return
    configuration = read_configuration(project)
    for problem in configuration.problems:
        remedy = "Correct the file, or remove the line. Sessions use the default in its place."
        yield Finding("configuration", "problem", f"{configuration.file}: {problem}", remedy)
    for warning in configuration.warnings:
        remedy = "Set it, or correct the line or remove it. Sessions use the default in its place."
        yield Finding("configuration", "warning", f"{configuration.file}: {warning}", remedy)
    try:
        refused = (*configuration.refused, *read_project_settings(project).refused)
        yield from (Finding("configuration", "warning", each.detail, each.remedy) for each in refused)
    except SettingsInvalid as error:
        yield Finding(_PROJECT, "problem", error.sentence, error.cli_remedy)
