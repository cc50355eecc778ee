"""How a command that changes much asks first: on a terminal with a question, in a pipe with a command to paste."""

from __future__ import annotations

import sys
from typing import Final

import click

from perdure.cli.command import Target, option
from perdure.cli.terminal import err, is_terminal, safe
from perdure.errors import NeedsConfirmation
from perdure.model import RevertResult

_YES: Final = ("y", "yes")
_NO: Final = ("", "n", "no")
DRY_RUN: Final = option("--dry-run", is_flag=True, help="Only show what would happen.")
YES: Final = option("--yes", "-y", is_flag=True, help="Go ahead without asking.")
CONFIRM: Final = option(
    "--confirm", "token", metavar="TOKEN", help="Go ahead if it is exactly what that preview showed."
)


def can_ask(target: Target) -> bool:
    """Whether somebody sits there who can answer."""
    return not target.json and is_terminal(sys.stdin)


def require_agreement(target: Target, preview: RevertResult, needed: str, question: str, go_ahead: str) -> None:
    """Ask before much becomes what it was; where nobody can answer, `needed` and the command that goes ahead."""
    if not can_ask(target):
        refusal = NeedsConfirmation(needed, remedy=f"Go ahead: {go_ahead}")
        refusal.preview = preview
        raise refusal
    require_yes(question)


def require_yes(question: str) -> None:
    """Ask; a no ends the command."""
    while (
        answer := click.prompt(f"{safe(question)} [y/N]", "", show_default=False, err=True).strip().lower()
    ) not in _YES:
        if answer in _NO:
            err("Nothing was changed.")
            raise click.exceptions.Exit(0)
        err("Answer y for yes or n for no.")
