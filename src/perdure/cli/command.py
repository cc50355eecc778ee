"""What every command shares: its options and its help (options in sections, then examples), and how it runs: parse the
options, call the façade, render what it returns.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from perdure.cli import stored_names
from perdure.cli.exit_codes import OK
from perdure.cli.terminal import dim, err, safe
from perdure.clock import format_time

if TYPE_CHECKING:
    from perdure.cli.render import View
    from perdure.memory import Memory
    from perdure.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])

HELP_OPTIONS = ("-h", "--help")
CONTEXT: dict[str, Any] = {"help_option_names": list(HELP_OPTIONS), "max_content_width": 100}
GENERAL = "Options"


@dataclass(frozen=True, slots=True)
class Target:
    """Which memory a command works on, and in which form it answers: the options that every command has."""

    store: str | None
    namespaces: tuple[str, ...]
    json: bool
    creates: bool = False

    @property
    def several(self) -> tuple[str, ...] | None:
        """The namespaces, when there is more than one to search."""
        return self.namespaces if len(self.namespaces) > 1 else None

    @contextmanager
    def memory(self, *, dry_run: bool = False, **more: Any) -> Generator[Memory]:
        """Only a command that `creates` may make a store, and then it says so. Where there is none, its dry run looks
        at an empty one that is gone afterwards. `more` is what else the memory is opened with.
        """
        from perdure.memory import Memory

        settings = self._settings()
        missing = (
            self.creates and not settings.server and settings.store.name != ":memory:" and not settings.store.exists()
        )
        store, new = self.store, settings.store if missing else None
        if dry_run and new is not None:
            store, new = ":memory:", None
        chosen: dict[str, Any] = {
            "settings": settings,
            "namespace": self.namespaces[0] if self.namespaces else None,
        } | more
        with Memory(store, surface="cli", create=self.creates, **chosen) as memory:
            yield memory
        if new is not None and not self.json:
            err(dim(f"new store: {safe(str(new))}"))

    @property
    def embeds(self) -> bool:
        """Whether memories get vectors here."""
        return self._settings().embedder != "none"

    @property
    def project(self) -> Path | None:
        """The directory of the project that the command is called in."""
        from perdure.project import project_directory

        return project_directory(os.environ)

    def _settings(self) -> Settings:
        from perdure.settings import load

        return load(project=self.project, store=self.store)

    def hint(self, *words: object, **options: object) -> str:
        """A command to paste that works on the same memory. Options that were not given are left out."""
        line = ["perdure", *map(str, words)]
        for name, value in options.items():
            if value is None or value is False:
                continue
            values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
            for item in values:
                line.append(f"--{name.replace('_', '-')}")
                if item is not True:
                    line.append(format_time(item) if isinstance(item, datetime) else str(item))
        for name in self.namespaces:
            line += ["--namespace", name]
        return shlex.join([*line, *(["--store", self.store] if self.store else [])])

    @property
    def first_memory(self) -> str:
        """What to do where there is no memory yet."""
        return f"Store one: {self.hint('remember', 'Alice prefers dark mode')}"


class Option(click.Option):
    """An option that names the section of the help it stands in."""

    def __init__(self, *args: Any, section: str = GENERAL, **attributes: Any) -> None:
        super().__init__(*args, **attributes)
        self.section = section


class WithHelp(click.Command):
    """Click makes a command's help option once, from the names of the first context that asks: ours are always the
    same, whoever asks first.
    """

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(HELP_OPTIONS)


class Command(WithHelp):
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


class Group(WithHelp, click.Group):
    """A command that is several. Its examples are those of its parts."""

    def __init__(self, *args: Any, **attributes: Any) -> None:
        super().__init__(*args, context_settings=CONTEXT, invoke_without_command=True, **attributes)

    @property
    def examples(self) -> tuple[str, ...]:
        return tuple(part.examples[0] for part in self.commands.values() if isinstance(part, Command))

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(self.commands)

    def part(
        self, name: str, *, examples: Sequence[str], several: bool = False, creates: bool = False
    ) -> Callable[[Callable[..., View]], Command]:
        def decorate(function: Callable[..., View]) -> Command:
            made = command(name, examples=examples, several=several, creates=creates)(function)
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


def command(
    name: str, *, examples: Sequence[str], several: bool = False, creates: bool = False
) -> Callable[[Callable[..., View]], Command]:
    """A command is a function from a `Target` and its options to a `View`. --namespace, --store and --json are added
    here; `several`: more than one namespace may be named; `creates`: it makes a store where there is none.
    """
    names = "Namespace to use. Repeat it to search several at once." if several else "Namespace to use."
    shared = (
        Option(
            ["--namespace", "-n", "namespaces"],
            multiple=True,
            metavar="NAME",
            shell_complete=stored_names.namespaces,
            help=f"{names}  [default: default]",
        ),
        Option(["--store", "-s"], metavar="FILE", help="The store's file, or a server's URL.  [default: in your data]"),
        Option(["--json", "as_json"], is_flag=True, help="Answer with one JSON document."),
    )

    def decorate(function: Callable[..., View]) -> Command:
        @wraps(function)
        def run(*, namespaces: tuple[str, ...], store: str | None, as_json: bool, **options: Any) -> None:
            from perdure.cli.render import render

            if len(namespaces) > 1 and not several:
                raise click.UsageError("This command works on one namespace; name it once.")
            code = render(function(Target(store, namespaces, as_json, creates), **options), as_json=as_json)
            if code != OK:
                raise click.exceptions.Exit(code)

        made = click.command(name, cls=Command, examples=examples)(run)
        made.params += shared
        return made

    return decorate


def option(*names: str, section: str = GENERAL, **attributes: Any) -> Callable[[Function], Function]:
    return click.option(*names, cls=Option, section=section, **attributes)
