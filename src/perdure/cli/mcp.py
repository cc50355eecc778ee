"""`perdure mcp`."""

from __future__ import annotations

import sys
from typing import Any, NoReturn, get_args

import click

from perdure.cli.command import Command, option
from perdure.mcp.tool import ToolSet


class ServerCommand(Command):
    """A host that finds its server gone does not try it again for long, and shows nobody why. So it gets one also where
    its configuration has a mistake; a person at a terminal gets the sentence itself.
    """

    def make_context(self, *args: Any, **extra: Any) -> click.Context:
        try:
            return super().make_context(*args, **extra)
        except click.UsageError as error:
            if sys.stdin is None or sys.stdin.isatty():
                raise
            serve_failure(error.format_message())


def serve_failure(sentence: str) -> NoReturn:
    """Every tool says what is wrong with the command line."""
    from perdure.errors import InvalidInput
    from perdure.mcp.lazy_memory import LazyMemory
    from perdure.mcp.protocol import Protocol
    from perdure.mcp.stdio import serve
    from perdure.session.origin import Origin

    failure = InvalidInput(
        f"`perdure mcp` was started with a mistake: {sentence}",
        remedy="Correct it in the configuration of this host; `perdure mcp --help` lists the options.",
    )
    serve(Protocol(LazyMemory(None, None, None, failure=failure), Origin()))


@click.command(
    "mcp",
    cls=ServerCommand,
    examples=(
        "claude mcp add perdure -- perdure mcp",
        "perdure mcp --namespace alice --tools all",
        "perdure mcp --store ~/team.db --project website",
    ),
)
@option(
    "--tools",
    "tool_set",
    type=click.Choice(get_args(ToolSet)),
    default="core",
    show_default=True,
    help="Which tools a model gets; docs/mcp.md lists them.",
)
@option("--namespace", "-n", metavar="NAME", setting="namespace", help="Namespace to use.")
@option("--store", "-s", metavar="FILE", setting="store", help="The store's file.")
@option("--project", metavar="NAME", help="The project that memories are from.  [default: what the host says]")
@option("--session", metavar="ID", help="The session that memories are from.  [default: what the host says]")
def main(tool_set: str, namespace: str | None, store: str | None, project: str | None, session: str | None) -> None:
    """Serve a model's host over standard input and output (Model Context Protocol).

    A host starts this itself, once it is in its configuration; docs/mcp.md shows how for each. It speaks every revision
    of the protocol from 2024-11-05 to 2026-07-28, and ends when the host closes its end. What a model writes is marked
    as such, and a model cannot erase anything.

    If the store cannot be opened, or an option is unknown, the server starts all the same, and its tools say what is
    wrong.
    """
    import os

    from perdure.mcp.lazy_memory import LazyMemory
    from perdure.mcp.protocol import Protocol
    from perdure.mcp.stdio import serve
    from perdure.project import project_directory
    from perdure.session.origin import find_origin

    origin = find_origin(os.environ, project, session)
    memory = LazyMemory(store, namespace, origin.session, project_directory(os.environ))
    serve(Protocol(memory, origin, tool_set))
