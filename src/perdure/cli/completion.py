"""`perdure completion`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import command
from perdure.cli.screen import say

_SHELLS: Final = ("bash", "zsh", "fish")
_EXAMPLES = (
    "perdure completion bash > ~/.local/share/bash-completion/completions/perdure",
    'perdure completion zsh > "${fpath[1]}/_perdure"',
    "perdure completion fish > ~/.config/fish/completions/perdure.fish",
)


@command("completion", examples=_EXAMPLES)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def main(ctx: click.Context, shell: str) -> None:
    """Print the completion script for your shell.

    The script asks `perdure` itself, so it never falls behind.
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    say(complete(ctx.find_root().command, {}, "perdure", "_PERDURE_COMPLETE").source())
