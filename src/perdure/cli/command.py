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


def write_examples(formatter: click.HelpFormatter, lines: Sequence[str]) -> None:
    with formatter.section("Examples"):
        for line in lines:
            formatter.write(f"{'':>{formatter.current_indent}}{line}\n")


def command(name: str, *, examples: Sequence[str]) -> Callable[[Callable[..., Any]], Command]:
    return click.command(name, cls=Command, examples=examples)


def option(*names: str, section: str = GENERAL, **attributes: Any) -> Callable[[Function], Function]:
    return click.option(*names, cls=Option, section=section, **attributes)
