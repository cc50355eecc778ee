"""`perdure hook`."""

from __future__ import annotations

import click

from perdure.cli.command import Command, option
from perdure.vocabulary import HOOK_HOSTS


@click.command(
    "hook",
    cls=Command,
    examples=("perdure hook", "perdure hook --host copilot --event agentStop"),
)
@option(
    "--host",
    metavar="NAME",
    help=f"Whose hook this is: {', '.join(HOOK_HOSTS)}.  [default: found out]",
)
@option("--event", metavar="NAME", help="The event, as the host calls it.  [default: what the host says]")
@option("--seconds", type=float, metavar="SECONDS", help="How long it may take.  [default: 2]")
def main(host: str | None, event: str | None, seconds: float | None) -> None:
    """Answer a coding agent's host at an event of a session.

    A host starts this itself, once it is in its configuration: it writes a JSON object to standard input and reads what
    its model should know from standard output, in a form of its own. At the start of a session that is what earlier
    sessions learned, at a prompt what it brings to mind. What is said in the session is kept as a conversation.

    It never fails and never keeps a host waiting: the exit code is always 0, and where something is wrong it answers
    nothing.
    """
    from perdure.hook.program import main as run

    given = {"--host": host, "--event": event, "--seconds": seconds}
    run([word for name, value in given.items() if value is not None for word in (name, str(value))])
