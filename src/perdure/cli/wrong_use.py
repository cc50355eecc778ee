"""What to do about a command line that click refuses: the name that was meant, the place of an option, an example."""

from __future__ import annotations

from difflib import get_close_matches
from typing import Final

import click

from perdure.cli.command import HELP_OPTIONS, WHOLE_STORE, Command

_NAMESPACE: Final = ("-n", "--namespace")
_SHARED: Final = (*_NAMESPACE, "--store", "-s", "--json")


def remedy_of_wrong_use(error: click.ClickException) -> str:
    context = error.ctx if isinstance(error, click.UsageError) else None
    if context is None:
        return "`perdure --help` shows how it is used."
    shown = f"`{context.command_path} {HELP_OPTIONS[-1]}` shows how it is used."
    command = context.command
    if isinstance(error, click.NoSuchOption):
        return place_of_option(error.option_name, context) + shown
    if isinstance(error, click.BadParameter) and error.param and isinstance(error.param.type, click.Choice):
        return meant(error.message, error.param.type) + shown
    if isinstance(command, Command) and command.examples:
        # What is too much may be the value of an option, and the simplest example comes first.
        example = max(command.examples, key=len) if "extra argument" in error.message else command.examples[0]
        return f"For example: {example}\n{shown}"
    return shown


def sentence_of_wrong_use(error: click.ClickException) -> str:
    """Click guesses what an option of the program itself may have meant, and there are few of those."""
    if isinstance(error, click.NoSuchOption) and error.ctx and isinstance(error.ctx.command, click.Group):
        return error.message
    return error.format_message()


def place_of_option(option: str, context: click.Context) -> str:
    path, command = context.command_path, context.command
    if isinstance(command, click.Group) and (owner := owner_of(option, command, context)):
        return f"It comes after the command, as in `{path} {owner} {option} …`. "
    if option in _NAMESPACE and path.removeprefix("perdure ") in WHOLE_STORE:
        return "This command is about all namespaces at once. "
    return ""


def owner_of(option: str, group: click.Group, context: click.Context) -> str | None:
    """A command of a group that has this option; of those that all have, the first."""
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if command is not None and any(option in parameter.opts for parameter in command.params):
            return name if option not in _SHARED else "COMMAND"
    return None


def meant(sentence: str, choice: click.Choice[str]) -> str:
    """The choice that is nearest to what was given, which click quotes first in its sentence."""
    given = sentence.partition("'")[2].partition("'")[0]
    close = get_close_matches(given.lower(), list(map(str, choice.choices)), n=1)
    return f"Did you mean {close[0]!r}? " if close else ""
