"""`perdure doctor`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import click

from perdure.cli.command import command, option
from perdure.cli.exits import OK, PROBLEM_FOUND
from perdure.cli.layout import wrap
from perdure.cli.screen import dim, fancy, glyphs, row, safe, say, width
from perdure.cli.target import Target, with_target
from perdure.errors import StoreBusy, StoreError
from perdure.jsonable import to_jsonable
from perdure.model import Finding

_COLOURS: Final = {"ok": "green", "warning": "yellow", "problem": "red"}


@command("doctor", examples=("perdure doctor", "perdure doctor --repair", "perdure doctor --json | jq .ok"))
@option("--repair", is_flag=True, help="First rebuild the index, and bring damaged records back from their history.")
@with_target()
@click.pass_context
def main(ctx: click.Context, target: Target, *, repair: bool) -> None:
    """Check the store, and repair it.

    Each line is ok, a warning or a problem, with what to do about it. Exit code 0: no problem; 7: a problem was
    found. A repair never touches a sound record or any history. In a pipe: level, check, sentence, remedy, with tabs.
    """
    found: list[Finding] = []
    for finding in _examine(target, repair=repair):
        found.append(finding)
        if not target.json:
            _line(finding)
    problems = sum(finding.level == "problem" for finding in found)
    if target.json:
        target.answer({"ok": not problems, "findings": [to_jsonable(finding) for finding in found]})
    elif fancy():
        say()
        say(_verdict(problems, sum(finding.level == "warning" for finding in found)))
    ctx.exit(PROBLEM_FOUND if problems else OK)


def _examine(target: Target, *, repair: bool) -> Iterator[Finding]:
    """A store that cannot even be opened is a finding too; one that is only busy has to be asked again."""
    try:
        with target.memory() as memory:
            yield from memory.doctor(repair=repair)
    except StoreBusy:
        raise
    except StoreError as error:
        yield Finding(error.code, "problem", error.sentence, error.remedy)


def _line(finding: Finding) -> None:
    if not fancy():
        row(finding.level, finding.check, finding.sentence, finding.remedy)
        return
    marks = glyphs()
    mark = click.style({"ok": marks.ok, "warning": marks.warning, "problem": marks.problem}[finding.level],
                       fg=_COLOURS[finding.level], bold=True)  # fmt: skip
    first, *rest = wrap(safe(finding.sentence), width() - 22)
    say(f"{mark} {dim(f'{safe(finding.check):<18}')}  {first}")
    for line in rest:
        say(f"{'':<22}{line}")
    for line in wrap(safe(finding.remedy), width() - 24) if finding.remedy else ():
        say(f"{'':<22}{click.style(line, fg='yellow')}")


def _verdict(problems: int, warnings: int) -> str:
    if problems:
        return click.style(f"{problems} problem{'' if problems == 1 else 's'} found.", fg="red", bold=True)
    if warnings:
        return f"No problem, {warnings} warning{'' if warnings == 1 else 's'}."
    return click.style("Everything is in order.", fg="green")
