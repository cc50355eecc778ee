"""What every command shares: its options and its help (options in sections, then examples), and how it runs: parse the
options, call the façade, render what it returns.
"""

from __future__ import annotations

import os
import re
import shlex
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from perdure.cli import stored_names
from perdure.cli.exit_codes import OK
from perdure.cli.terminal import dim, err, safe
from perdure.clock import format_time
from perdure.errors import shown

if TYPE_CHECKING:
    from perdure.cli.render import View
    from perdure.memory import Memory
    from perdure.settings import Settings

Function = TypeVar("Function", bound=Callable[..., Any])

HELP_OPTIONS = ("-h", "--help")
CONTEXT: dict[str, Any] = {"help_option_names": list(HELP_OPTIONS), "max_content_width": 100}
GENERAL = "Options"
# What no option has: white space, or a dash before something else than a letter.
_TEXT: Final = re.compile(r"^-+[^-a-zA-Z]|\s")
# In the meta of a context: the help has every option; it is for the reference, where nobody's settings count.
EVERY_OPTION: Final = "perdure.every_option"
REFERENCE: Final = "perdure.reference"
# Commands about all namespaces have no --namespace, and those about no store have no --store either.
WHOLE_STORE: Final = frozenset({
    "backup", "doctor", "egress", "migrate", "namespaces", "restore-backup", "session forget", "session list",
    "token list", "token revoke", "work",
})  # fmt: skip
NO_STORE: Final = frozenset({
    "copy", "install", "session off", "session on", "session private", "session shared", "uninstall",
})  # fmt: skip


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
    def memory(self, *, dry_run: bool = False, settings: Settings | None = None, **more: Any) -> Generator[Memory]:
        """Only a command that `creates` may make a store, and then it says so; if it fails and has stored nothing, the
        store is gone again. Where there is none, its dry run looks at an empty one that is gone afterwards. `more` is
        what else the memory is opened with.
        """
        from perdure.memory import Memory

        settings = settings or self.settings()
        store, new = self.store, settings.store if self.creates and settings.store.is_missing else None
        if dry_run and new is not None:
            store, new = ":memory:", None
        chosen: dict[str, Any] = {
            "settings": settings,
            "namespace": self.namespaces[0] if self.namespaces else None,
        } | more
        try:
            with Memory(store, surface="cli", create=self.creates, **chosen) as memory:
                yield memory
        except BaseException:
            if new is not None:
                from perdure.services import remove_unused_store

                new = None if remove_unused_store(settings) else new
            raise
        finally:
            if new is not None and not new.is_missing and not self.json:
                err(dim(f"new store: {safe(new.shown)}"))

    @property
    def is_missing(self) -> bool:
        """Whether there is no store yet."""
        return self.settings().store.is_missing

    @property
    def embeds(self) -> bool:
        """Whether memories get vectors here."""
        return self.settings().embedder != "none"

    @property
    def project(self) -> Path | None:
        """The directory of the project that the command is called in."""
        from perdure.project import project_directory

        return project_directory(os.environ)

    @property
    def own_settings(self) -> Settings:
        """The settings of the user, without those of the project."""
        from perdure.settings import load

        return load(store=self.store)

    def settings(self) -> Settings:
        from perdure.settings import load

        return load(project=self.project, store=self.store)

    def hint(self, *words: object, **options: object) -> str:
        """A command to paste that works on the same memory. Options that were not given are left out."""
        line = [*program(), *map(str, words)]
        for name, value in options.items():
            if value is None or value is False:
                continue
            values = cast("tuple[Any, ...]", value) if isinstance(value, tuple) else (value,)
            for item in values:
                line.append(f"--{name.replace('_', '-')}")
                if item is not True:
                    line.append(format_time(item) if isinstance(item, datetime) else str(item))
        if WHOLE_STORE.isdisjoint((str(words[0]), " ".join(map(str, words[:2])))):
            for name in self.namespaces:
                line += ["--namespace", name]
        if self.store:
            from perdure.location import locate

            # Not with the password that an address may hold.
            location = locate(self.store)
            line += ["--store", self.store if location.kind == "file" else location.shown]
        return shlex.join(line)

    @property
    def first_memory(self) -> str:
        """What to do where there is no memory yet."""
        return f"Store one: {self.hint('remember', 'Alice prefers dark mode')}"


def program() -> list[str]:
    """How this program is called: by its name where a shell finds it, else as it was called now."""
    from shutil import which

    called = Path(sys.argv[0])
    if which("perdure") is None:
        if called.name == "perdure":
            return [str(called)]
        if called.parts[-2:] == ("perdure", "__main__.py"):
            return [sys.executable, "-m", "perdure"]
    return ["perdure"]


class Option(click.Option):
    """An option that names the section of the help it stands in. `rare`: only `--help-all` shows it. `setting`: its
    default is what that setting says, and the help shows the value in force. `also`: other names that it answers to,
    which the help leaves out.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        section: str = GENERAL,
        rare: bool = False,
        setting: str = "",
        also: Sequence[str] = (),
        **attributes: Any,
    ) -> None:
        super().__init__([*names, *also], **attributes)
        self.also = tuple(also)
        self.section = section
        self.rare = rare
        self.setting = setting

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        record = super().get_help_record(ctx)
        if record is None:
            return None
        names, sentence = record
        for name in self.also:
            names = re.sub(rf", {re.escape(name)}(?= |$)", "", names)
        if self.setting:
            value = f"the setting `{self.setting}`" if ctx.meta.get(REFERENCE) else value_in_force(self.setting)
            sentence = f"{sentence}  [default: {value}]"
        return names, sentence


def value_in_force(setting: str) -> str:
    """The value of a setting as a person would type it. A help is no place to complain about the settings."""
    from perdure.location import from_home
    from perdure.project import project_directory
    from perdure.settings import in_force

    try:
        settings = in_force(os.environ, project=project_directory(os.environ))
        return from_home(next(str(each.value) for each in settings if each.name == setting))
    except Exception:  # noqa: BLE001 - whatever is wrong with them, the next command says it
        return f"the setting {setting}"


class FilePath(click.Path):
    """The path of a file or a folder. An address is refused before a sentence could show it."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        from perdure.validation import refuse_address

        refuse_address(value, "The path")
        return super().convert(value, param, ctx)


class WithHelp(click.Command):
    """Click makes a command's help option once, from the names of the first context that asks: ours are always the
    same, whoever asks first.
    """

    def get_help_option_names(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(HELP_OPTIONS)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Click does not say of every wrong use which command it was, nor what to do with a text that begins with a
        dash.
        """
        words = list(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            text = next((word for word in words if word.startswith(error.option_name) and _TEXT.search(word)), None)
            if text is not None and any(isinstance(parameter, click.Argument) for parameter in self.params):
                sentence = f"{shown(text)} begins with a dash, as options do. Put `--` before it: "
                raise click.UsageError(f"{sentence}{ctx.command_path} -- {shlex.quote(text)}", ctx) from error
            error.ctx = error.ctx or ctx
            raise
        except click.UsageError as error:
            error.ctx = error.ctx or ctx
            raise


class Command(WithHelp):
    """`examples` are command lines that work as they stand."""

    def __init__(self, *args: Any, examples: Sequence[str] = (), **attributes: Any) -> None:
        super().__init__(*args, context_settings=CONTEXT, **attributes)
        self.examples = tuple(examples)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        sections: dict[str, list[tuple[str, str]]] = {}
        for parameter in self.get_params(ctx):
            line = parameter.get_help_record(ctx) if isinstance(parameter, click.Option) else None
            if line is not None and (not getattr(parameter, "rare", False) or ctx.meta.get(EVERY_OPTION)):
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
            made = command(f"{self.name} {name}", examples=examples, several=several, creates=creates)(function)
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
    here, as far as they mean something; `several`: more than one namespace may be named; `creates`: it makes a store
    where there is none. The `name` of a part begins with that of its group.
    """

    def decorate(function: Callable[..., View]) -> Command:
        @wraps(function)
        def run(*, as_json: bool, namespaces: tuple[str, ...] = (), store: str | None = None, **options: Any) -> None:
            from perdure.cli.render import render

            if len(namespaces) > 1 and not several:
                raise click.UsageError("This command works on one namespace; name it once.")
            code = render(function(Target(store, namespaces, as_json, creates), **options), as_json=as_json)
            if code != OK:
                raise click.exceptions.Exit(code)

        made = click.command(name.rsplit(maxsplit=1)[-1], cls=Command, examples=examples)(run)
        has_rare = any(getattr(each, "rare", False) for each in made.params)
        made.params += [*shared_options(name, several=several), *([help_all_option()] if has_rare else [])]
        return made

    return decorate


def shared_options(name: str, *, several: bool) -> Iterator[Option]:
    """--namespace, --store and --json, as far as they mean something for the command of this name."""
    if name not in WHOLE_STORE | NO_STORE:
        about = "Namespace to use. Repeat it to search several at once." if several else "Namespace to use."
        counts_all = name == "stats"
        yield Option(
            ["--namespace", "-n", "namespaces"],
            multiple=True,
            metavar="NAME",
            setting="" if counts_all else "namespace",
            shell_complete=stored_names.namespaces,
            help="Namespace to count.  [default: all]" if counts_all else about,
        )
    if name not in NO_STORE:
        yield Option(["--store", "-s"], metavar="FILE", setting="store", help="The store's file, or a server's URL.")
    yield Option(["--json", "as_json"], is_flag=True, help="Answer with one JSON document.")


def help_all_option(shows: str = "Show more options, which few people need.") -> Option:
    def show(ctx: click.Context, _parameter: click.Parameter, value: object) -> None:
        if value and not ctx.resilient_parsing:
            ctx.meta[EVERY_OPTION] = True
            click.echo(ctx.get_help())
            ctx.exit()

    return Option(["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=show, help=shows)


def option(*names: str, section: str = GENERAL, **attributes: Any) -> Callable[[Function], Function]:
    return click.option(*names, cls=Option, section=section, **attributes)
