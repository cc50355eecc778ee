"""`perdure completion`."""

from __future__ import annotations

from typing import Final

import click

from perdure.cli.command import Command
from perdure.cli.terminal import out

_SHELLS: Final = ("bash", "zsh", "fish")
_EXAMPLES: Final = (
    "perdure completion bash > ~/.local/share/bash-completion/completions/perdure",
    'perdure completion zsh > "${fpath[1]}/_perdure"',
    "perdure completion fish > ~/.config/fish/completions/perdure.fish",
)


@click.command("completion", cls=Command, examples=_EXAMPLES)
@click.argument("shell", type=click.Choice(_SHELLS))
@click.pass_context
def main(ctx: click.Context, shell: str) -> None:
    """Print the completion script for your shell.

    The script calls `perdure`, so completions are always up to date.
    """
    from click.shell_completion import get_completion_class

    complete = get_completion_class(shell)
    if complete is None:
        raise click.UsageError(f"There is no completion for {shell}.")
    out(complete(ctx.find_root().command, {}, "perdure", "_PERDURE_COMPLETE").source())
