"""`perdure erase`."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal

import click

from perdure.cli.command import Target, command, option
from perdure.cli.deletion import delete, deletion_options, references_or_sentence
from perdure.cli.filter_options import filter_options, given_options
from perdure.cli.render import View
from perdure.errors import PerdureError
from perdure.model import STATES

if TYPE_CHECKING:
    from perdure.memory import Memory

_EXAMPLES: Final = (
    "perdure erase 7 --yes",
    'perdure erase "everything about the Osaka flat" --dry-run',
    "perdure erase 7 --related all --dry-run",
    "perdure erase --state deleted --until 2026-03-14 --yes",
)


@command("erase", examples=_EXAMPLES)
@click.argument("what", nargs=-1, metavar="[WHAT]...")
@option(
    "--related",
    type=click.Choice(["derived", "all", "none"]),
    default="derived",
    help="What else goes: what was made of it (derived), also what it was made of (all), or nothing (none).",
)
@deletion_options
@filter_options(STATES, default="any")
def main(
    target: Target,
    *,
    what: tuple[str, ...],
    related: Literal["derived", "all", "none"],
    keep: tuple[str, ...],
    yes: bool,
    token: str | None,
    dry_run: bool,
    **options: Any,
) -> View:
    """Remove memories for ever, from every file.

    WHAT is as in `perdure forget`; forgotten memories can be erased too. This removes all versions, with their index
    entries, vectors and links; the history keeps who erased the memory and when, and none of its words. Nothing brings
    it back, so you are always asked, and a script needs --yes or --confirm also for one memory. Exports and backups
    that were made before still hold it.

    What was made of a memory goes with it: an episode is made anew of the messages that are left, and a fact goes when
    nothing else says it. So do its copies in the knowledge banks and memory files that it was read from or written to;
    whatever else stands there stays.
    """
    chosen = {} if related == "derived" else {"related": related}
    meant = references_or_sentence(what)
    again = partial(target.hint, "erase", *what, **chosen, **options, keep=keep)
    with target.memory() as memory:
        store_waiting(target, memory)
        call = partial(memory.erase, meant, related=related, keep=list(keep), **given_options(options))
        view = delete(target, call, again, yes=yes, token=token, dry_run=dry_run)
    if not dry_run:
        forget_tools(options)
    return view


def forget_tools(options: Mapping[str, Any]) -> None:
    """Erase also what a hook keeps of the tools of that session, beside the store."""
    from perdure.session.tool_use import discard_tool_use

    for name in ("conversation_id", "session_id"):
        given = options.get(name) or ()
        for session in (given,) if isinstance(given, str) else given:
            discard_tool_use(session)


def store_waiting(target: Target, memory: Memory) -> None:
    """What hooks have kept can be found, and erased, only once it is in the store."""
    from perdure.session.spool import Spool

    with suppress(PerdureError, OSError):
        Spool(target.own_settings.store).drain(memory)
