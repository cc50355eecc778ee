"""How a command presents itself: options in sections, then examples."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import click

Function = TypeVar("Function", bound=Callable[..., Any])

CONTEXT: dict[str, Any] = {"help_option_names": ["-h", "--help"], "max_content_width": 100}
GENERAL = "Options"


class Option(click.Option):
    """An option that names the section of the help it stands in."""

    def __init__(self, *args: Any, section: str = GENERAL, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


class Command(click.Command):
    """`examples` are command lines that work as they stand."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **attributes: Any) -> None:
        super().__init__(*args, context_settings=CONTEXT, **attributes)
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if line is not None:
                sections.setdefault(getattr(parameter, "section", GENERAL), []).append(line)
        general = sections.pop(GENERAL, [])
        for title, lines in [*sections.items(), (GENERAL, general)]:
            if lines:
                with formatter.section(title):
                    formatter.write_dl(lines)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """A command that is several. Its examples are those of its parts."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, context_settings=CONTEXT, invoke_without_command=True, **attributes)

    @property
    def examples(self) -> tuple[str, ...]:
        return tuple(part.examples[0] for part in self.commands.values() if isinstance(part, Command))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def part(self, name: str, *, examples: Sequence[str]) -> Callable[[Callable[..., Any]], Command]:
        def decorate(function: Callable[..., Any]) -> Command:
            made = command(name, examples=examples)(function)
            self.add_command(made)
            return made

        return decorate

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, self.examples)
        super().format_epilog(ctx, formatter)


def write_examples(formatter: click.HelpFormatter, lines: Sequence[str]) -> None:
    with formatter.section("Examples"):
        for line in lines:
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def command(name: str, *, examples: Sequence[str]) -> Callable[[Callable[..., Any]], Command]:
    return click.command(name, cls=Command, examples=examples)


def group(name: str) -> Callable[[Callable[..., Any]], Group]:
    return click.group(name, cls=Group)


def option(*names: str, section: str = GENERAL, **attributes: Any) -> Callable[[Function], Function]:
    return click.option(*names, cls=Option, section=section, **attributes)
