"""`perdure undo`."""

from __future__ import annotations

import sys
from datetime import datetime
from typing import TYPE_CHECKING, Any

import click

from perdure.cli.command import command, option
from perdure.cli.moments import age, moment
from perdure.cli.rewound import counted, show_rewound
from perdure.cli.screen import is_terminal, safe, tell
from perdure.cli.target import Target, with_target
from perdure.errors import NeedsConfirmation

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.model import Revision

_EXAMPLES = (
    "perdure undo",
    "perdure undo 01930f7e-6d2a-7c31-9f6e-2b7f0a4c9d11",
    "perdure undo --session monday --dry-run",
    "perdure undo --actor agent --since 2h --yes",
)
_MOST = 1000


@command("undo", examples=_EXAMPLES)
@click.argument("batch", required=False)
@option("--session", metavar="NAME", help="Everything that this session wrote.")
@option("--actor", metavar="NAME", help="Everything that this actor wrote.")
@option("--since", **moment("since"), help="Of a session or an actor, only from this time on, such as 2h.")
@option("--force", is_flag=True, help="Overrule what others changed since, and leave what was erased.")
@option("--everywhere", is_flag=True, help="In all namespaces.")
@option("--dry-run", is_flag=True, help="Say what would happen, and change nothing.")
@option("--yes", "-y", is_flag=True, help="Do not ask.")
@with_target()
def main(
    target: Target,
    *,
    batch: str | None,
    session: str | None,
    actor: str | None,
    since: datetime | None,
    yes: bool,
    **how: Any,
) -> None:
    """Take back what one call, one session or one writer did.

    BATCH is what one call did: every write says its id, `perdure log` lists them, and its first characters will do.
    Every memory becomes what it was before, by a new line in its history, so that an undo can be undone. Without BATCH,
    --session and --actor it is your own last change. In a pipe each memory is one line: restored, removed or left, its
    number, and why it was left.
    """
    with target.memory() as memory:
        question = None
        if batch is None and session is None and actor is None:
            batch, question = _last(memory)
        elif batch is None and not how["dry_run"]:
            foreseen = memory.undo(None, session=session, actor=actor, since=since, **{**how, "dry_run": True})
            question = f"Take back {counted(len(foreseen.restored) + len(foreseen.removed))}?"
        if question is None or yes or how["dry_run"] or _agreed(target, question):
            rewound = memory.undo(batch, session=session, actor=actor, since=since, **how)
            show_rewound(target, rewound, dry_run=how["dry_run"])
        else:
            tell("Nothing was changed.")


def _last(memory: Memory) -> tuple[str, str]:
    from perdure.settings import load

    lines = memory.log(actor=load().actor, limit=1)
    if not lines:
        raise click.UsageError("You changed nothing here yet; name a batch, a session or an actor.")
    last = memory.log(batch=lines[0].change.batch, limit=_MOST)
    return lines[0].change.batch, f"Your last change was {_described(last)}. Take it back?"


def _described(lines: list[Revision]) -> str:
    change = lines[0].change
    operations = " and ".join(dict.fromkeys(line.change.operation for line in reversed(lines)))
    numbers = {line.number for line in lines}
    which = f"#{min(numbers)}" if len(numbers) == 1 else f"{'at least ' if len(lines) == _MOST else ''}{len(numbers)}"
    return f"{operations} of {which}{'' if len(numbers) == 1 else ' memories'}, {age(change.at)}"


def _agreed(target: Target, question: str) -> bool:
    if target.json or not is_terminal(sys.stdin):
        raise NeedsConfirmation(question, remedy="Say --yes to do it, or --dry-run to see it; nothing was changed.")
    return click.confirm(safe(question), default=False, err=True)
