"""`perdure install`."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final, cast

import click

from perdure.cli.command import Target, command, option
from perdure.cli.installation_view import installation_view
from perdure.cli.render import View
from perdure.hosts.host import HOSTS, SCOPES, Scope, host_named

_EXAMPLES: Final = (
    "perdure install claude-code",
    "perdure install codex --dry-run",
    "perdure install gemini --scope project",
)


@command("install", examples=_EXAMPLES)
@click.argument("host", metavar="[HOST]", required=False, type=click.Choice(tuple(HOSTS)))
@option(
    "--plugin-path", is_flag=True, help="Print the folder of the plugin for Claude Code, Codex and Copilot instead."
)
@option("--scope", type=click.Choice(SCOPES), default="user", show_default=True,
        help="For all your projects, or for the one you are in.")  # fmt: skip
@option("--dry-run", is_flag=True, help="Show what would be written, and write nothing.")
def main(target: Target, *, host: str | None, scope: str, dry_run: bool, plugin_path: bool) -> View:
    """Give a coding agent or an editor this memory.

    HOST is claude-code, codex, copilot, gemini, opencode, continue, cursor, vscode, windsurf or claude-desktop. The
    server `perdure mcp` is put into its configuration, and where it has hooks `perdure hook`, so that every session
    starts with what earlier ones learned. Whatever else stands in these files stays; `perdure uninstall` takes ours
    out again. In a pipe each file is one line: outcome, path, what of Perdure is in it.
    """
    from perdure.hosts.install import install, plugin_folder

    if plugin_path:
        return View(json={"path": str(plugin_folder())}, lines=[str(plugin_folder())], rows=[(plugin_folder(),)])
    if host is None:
        raise click.UsageError(f"Which host? One of: {', '.join(HOSTS)}.")
    done = install(host_named(host), cast("Scope", scope), Path.cwd(), os.environ, dry_run=dry_run)
    return installation_view(done, target, dry_run=dry_run)
