"""What `perdure install` and `perdure uninstall` answer."""

from __future__ import annotations

from perdure.cli.command import Target
from perdure.cli.render import View
from perdure.cli.terminal import dim, note, safe
from perdure.hosts.host import HOSTS
from perdure.hosts.install import Installation
from perdure.jsonable import to_jsonable


def installation_view(done: Installation, target: Target, *, dry_run: bool, has_come: bool = True) -> View:
    """`has_come`: it was put in, not taken out."""
    lines: list[str] = []
    for change in done.changes:
        lines.append(f"{change.outcome:<9}  {safe(change.path)}  {dim(change.holds)}")
        if dry_run:
            # Without the two lines that name the file.
            lines += [dim(f"    {safe(line)}") for line in change.diff.splitlines()[2:]]
    after: list[str] = []
    if dry_run:
        after.append(dim("Nothing was written: this was a dry run."))
    elif has_come and done.pending is None and any(change.outcome != "unchanged" for change in done.changes):
        after.append(
            dim(f"Start a new session of {HOSTS[done.agent].title}. To check: {target.hint('doctor', done.agent)}")
        )
    if done.pending and not dry_run:
        after += [note(done.pending), dim(f"To check: {target.hint('doctor', done.agent)}")]
    return View(
        json=to_jsonable(done),
        lines=lines,
        rows=[(change.outcome, change.path, change.holds) for change in done.changes],
        after=after,
    )
