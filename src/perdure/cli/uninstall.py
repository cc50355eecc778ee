"""`perdure uninstall`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import cast

import click

from perdure.cli.command import Target, command, option
from perdure.cli.installation_view import installation_view
from perdure.cli.render import View
from perdure.hosts.host import HOSTS, SCOPES, Scope, host_named


@command("uninstall", examples=("perdure uninstall claude-code", "perdure uninstall codex --scope project --dry-run"))
@click.argument("host", metavar="HOST", type=click.Choice(tuple(HOSTS)))
@option("--scope", type=click.Choice(SCOPES), default="user", show_default=True,
        help="Where it was installed: for all your projects, or for the one you are in.")  # fmt: skip
@option("--dry-run", is_flag=True, help="Show what would change, and change nothing.")
def main(target: Target, *, host: str, scope: str, dry_run: bool) -> View:
    """Take this memory out of a coding agent or an editor.

    Only what `perdure install` wrote is removed; the memories stay where they are.
    """
    from perdure.hosts.install import install

    done = install(host_named(host), cast("Scope", scope), Path.cwd(), os.environ, keep=False, dry_run=dry_run)
    return installation_view(done, target, dry_run=dry_run, has_come=False)
