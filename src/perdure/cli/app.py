"""The command `perdure`: a table of commands, each imported only when it is called."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, NoReturn, cast

import click

from perdure import __version__
from perdure.cli.command import CONTEXT, EVERY_OPTION, WithHelp, help_all_option, write_examples
from perdure.cli.error_report import broken_pipe, report
from perdure.cli.exit_codes import EXIT_CODES, OK
from perdure.cli.terminal import as_text, err, harden, note

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

# name -> (module, short help); a test compares the help with the command's own.
COMMANDS: Final[dict[str, tuple[str, str]]] = {
    "remember": ("remember", "Store a memory."),
    "recall": ("recall", "Find memories by meaning and by words."),
    "context": ("context", "Pack what matters for a question into a budget of tokens."),
    "triggers": ("triggers", "Show which memories a prompt brings to mind."),
    "show": ("show", "Show everything about one memory."),
    "list": ("list", "List memories, newest first."),
    "summarize": ("summarize", "Make one short text of many memories."),
    "update": ("update", "Correct a memory; the old version stays in its history."),
    "upsert": ("upsert", "Store a memory under a key, or a new version of it."),
    "validate": ("validate", "Say whether a memory was useful."),
    "promote": ("promote", "Give a memory the tier it was offered, or another."),
    "forget": ("forget", "Forget memories; `restore` takes it back."),
    "restore": ("restore", "Bring forgotten memories back."),
    "erase": ("erase", "Remove memories for ever, from every file."),
    "history": ("history", "Show how a memory became what it is."),
    "versions": ("versions", "List the versions of a memory."),
    "version": ("version", "Show one version of a memory; without arguments, the program's."),
    "diff": ("diff", "Show what changed between two versions of a memory."),
    "log": ("log", "Show who did what, newest first."),
    "undo": ("undo", "Take back what one call, one session or one actor did."),
    "checkpoint": ("checkpoint", "Name the present state, and go back to it."),
    "conflicts": ("conflicts", "List memories that cannot both be true."),
    "review": ("review", "Accept or reject what Perdure proposes about two memories."),
    "capacity": ("capacity", "Show how full a namespace is, and set its limits."),
    "stats": ("stats", "Count what is stored, by namespace."),
    "namespaces": ("namespaces", "List the namespaces of the store."),
    "migrate": ("migrate", "Make the tables of a store in a database, or bring them up to date."),
    "doctor": ("doctor", "Check the store, its settings or a coding agent; repair the store."),
    "egress": ("egress", "List what left this machine."),
    "parked": ("parked", "List, retry or discard what a model said that could not be used."),
    "serve": ("serve", "Serve the memory over HTTP, to programs that have a token."),
    "ui": ("ui", "See what is remembered in your browser, correct it, take it back."),
    "token": ("token", "Make, list and revoke the tokens that servers ask for."),
    "config": ("config", "Show the settings in force and where they come from; change one."),
    "work": ("work", "Do outstanding work, such as missing vectors."),
    "backup": ("backup", "Copy the whole store to a file, and check the copy."),
    "restore-backup": ("restore_backup", "Make the store what a backup was."),
    "copy": ("copy", "Copy a whole store, with its history, into another one, and prove the copy."),
    "export": ("export", "Write memories to a file of JSON Lines, to a folder of Markdown, or to a table."),
    "import": ("import_", "Read memories from a file of `export`, or of another tool."),
    "bank": ("bank", "Import, list and promote the learnings of a Markdown knowledge bank."),
    "retro": ("retro", "Keep what was learned, in the store and in the project's knowledge bank."),
    "chat": ("chat", "Read conversations from a file, and list them."),
    "episodes": ("episodes", "List or search the episodes of conversations."),
    "consolidate": ("consolidate", "Make facts of the episodes that wait."),
    "facts": ("facts", "List or search what is known, and what was known before."),
    "session": ("session", "Look at what sessions of a coding agent get and write, and take it back."),
    "mcp": ("mcp", "Serve a model's host over standard input and output (Model Context Protocol)."),
    "hook": ("hook", "Answer a coding agent's host at an event of a session."),
    "install": ("install", "Give a coding agent or an editor this memory."),
    "uninstall": ("uninstall", "Take this memory out of a coding agent or an editor."),
    "demo": ("demo", "Watch a short story on a temporary store."),
    "completion": ("completion", "Print the completion script for your shell."),
}

# What the first month needs: `perdure --help` says a sentence about each of these, and names the rest by group.
FIRST: Final = "remember recall list show update forget undo ui install import backup doctor config demo"

# How `perdure --help-all` lists them; a test puts every command into one group.
GROUPS: Final[dict[str, str]] = {
    "Every day": "remember recall context show list update upsert forget triggers summarize ui",
    "Look back": "history versions version diff log stats namespaces",
    "Undo and erase": "undo restore erase checkpoint",
    "Keep order": "validate promote review conflicts capacity work doctor parked",
    "Conversations": "chat episodes facts consolidate",
    "Move and back up": "export import backup restore-backup copy",
    "Coding agents": "install uninstall session retro bank hook mcp",
    "Servers": "serve token migrate",
    "Set up": "config egress completion demo",
}

_OTHER_WORDS: Final = {
    "add": "remember", "save": "remember", "store": "remember", "note": "remember", "insert": "remember",
    "search": "recall", "find": "recall", "query": "recall", "ask": "recall", "get": "show", "view": "show",
    "cat": "show", "ls": "list", "edit": "update", "correct": "update", "set": "update", "rm": "forget",
    "delete": "forget", "remove": "forget", "undelete": "restore", "purge": "erase", "revert": "undo",
    "check": "doctor", "info": "stats", "status": "stats", "embed": "work", "dump": "export", "load": "import",
    "help": "--help", "put": "upsert", "snapshot": "checkpoint", "audit": "log", "summary": "summarize",
    "rollback": "undo", "redo": "undo", "wipe": "erase", "destroy": "erase", "compare": "diff", "limit": "capacity",
    "quota": "capacity", "rate": "validate", "judge": "validate", "pin": "promote",
    "pack": "context", "prompt": "context", "match": "triggers",
    "network": "egress", "calls": "egress", "budget": "egress", "spend": "egress",
    "conversation": "chat", "conversations": "chat", "retry": "parked", "settings": "config", "preferences": "config",
    "learn": "consolidate", "proposals": "review", "accept": "review", "reject": "review",
    "contradictions": "conflicts", "knowledge": "facts", "tokens": "token", "auth": "token", "login": "token",
    "server": "serve", "http": "serve", "rest": "serve", "api": "serve", "start": "serve",
    "page": "ui", "web": "ui", "browser": "ui", "dashboard": "ui", "open": "ui",
    "retrospective": "retro", "learnings": "bank", "knowledge-bank": "bank",
}  # fmt: skip


class Commands(WithHelp, click.Group):
    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"perdure.cli.{COMMANDS[cmd_name][0]}")
        return cast("click.Command", module.main)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        name = args[0]
        if name not in COMMANDS and not name.startswith("-") and not ctx.resilient_parsing:
            close = get_close_matches(name, [*COMMANDS, *_OTHER_WORDS], n=1, cutoff=0.8)
            suggestion = f" Did you mean `perdure {_OTHER_WORDS.get(close[0], close[0])}`?" if close else ""
            raise click.UsageError(f"There is no command {name!r}.{suggestion}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        width = max(map(len, (*COMMANDS, *GROUPS)))
        for title, names in GROUPS.items() if ctx.meta.get(EVERY_OPTION) else (("Start here", FIRST),):
            with formatter.section(title):
                formatter.write_dl([(f"{name:<{width}}", COMMANDS[name][1]) for name in names.split()])
        if ctx.meta.get(EVERY_OPTION):
            return
        with formatter.section("All others, by what they are for"):
            others = {title: [name for name in names.split() if name not in FIRST.split()]
                      for title, names in GROUPS.items()}  # fmt: skip
            formatter.write_dl([(f"{title:<{width}}", ", ".join(names)) for title, names in others.items()])

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_examples(formatter, EXAMPLES)
        if not ctx.meta.get(EVERY_OPTION):
            return
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), sentence) for code, sentence in EXIT_CODES.items()])
        with formatter.section("Environment"):
            formatter.write_dl(list(ENVIRONMENT.items()))
        super().format_epilog(ctx, formatter)

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        from click.shell_completion import CompletionItem

        names = [
            CompletionItem(name, help=short_help)
            for name, (_, short_help) in COMMANDS.items()
            if name.startswith(incomplete)
        ]
        return names or click.Command.shell_complete(self, ctx, incomplete)

    # click has an answer of its own to a broken pipe, with an exit code that means something else here.
    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except BrokenPipeError:
            raise click.exceptions.Exit(broken_pipe()) from None

    def invoke(self, ctx: click.Context) -> Any:
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise click.exceptions.Exit(broken_pipe()) from None

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,  # noqa: FBT001, FBT002
        **extra: Any,
    ) -> Any:
        """As click's own, but every failure ends in a sentence and a documented exit code."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        given = [as_text(word) for word in (sys.argv[1:] if args is None else args)]
        harden()
        # A host waits for its server, and does not show its stderr.
        if "--json" not in given and given[:1] != ["mcp"]:
            _name_unknown_variables()
        try:
            code = super().main(given, prog_name or "perdure", complete_var, standalone_mode=False, **extra)
            if sys.stdout is not None:
                sys.stdout.flush()
        except (Exception, KeyboardInterrupt) as error:  # noqa: BLE001
            code = report(error, as_json="--json" in given)
        sys.exit(code or OK)


def _name_unknown_variables() -> None:
    """A variable that nothing reads was meant for something."""
    if any(name.startswith("PERDURE_") for name in os.environ):
        from perdure.settings import unknown_variables

        for name, meant in unknown_variables(os.environ).items():
            err(note(f"{name} is set, and nothing reads it.{f' Did you mean {meant}?' if meant else ''}"))


EXAMPLES: Final = (
    'perdure remember "Alice prefers dark mode" --tag ui',
    'perdure recall "which theme does she like?"',
    "perdure demo",
)
ENVIRONMENT: Final = {
    "PERDURE_STORE …": "every setting has a variable; `perdure config` lists the settings",
    "PERDURE_LAYOUT": "auto, terminal or plain: how results are laid out",
    "PERDURE_TRACEBACK": "1 shows where an unexpected error came from",
    "NO_COLOR": "no colours",
}


@click.group(cls=Commands, context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(__version__, prog_name="perdure", message="%(prog)s %(version)s")
@click.pass_context
def perdure(ctx: click.Context) -> None:
    """Memory that outlives the session.

    One durable, versioned, searchable memory in one local file: no key, no server, no network.

    Results go to stdout, everything said around them to stderr. With --json a command answers one JSON document on
    stdout; if it fails, stdout stays empty and one JSON document on stderr says why.
    """
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


perdure.params.append(help_all_option("Say what every command does, and list exit codes and variables."))


def main() -> NoReturn:
    """The entry point of the installed command."""
    perdure.main()
    raise SystemExit(OK)
