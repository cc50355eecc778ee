"""`perdure undo`."""

from __future__ import annotations

import sys
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from perdure.cli.command import command, option
from perdure.cli.consent import DRY_RUN, YES
from perdure.cli.moments import age, moment
from perdure.cli.preview import options_again
from perdure.cli.rewound import counted, show_rewound
from perdure.cli.screen import dim, is_terminal, safe, tell
from perdure.cli.target import Target, with_target
from perdure.errors import NeedsConfirmation

if TYPE_CHECKING:
    from perdure.memory import Memory
    from perdure.model import RevertResult, Revision

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
@DRY_RUN
@YES
@with_target()
def main(
    target: Target,
    *,
    batch: str | None,
    session: str | None,
    actor: str | None,
    since: datetime | None,
    dry_run: bool,
    yes: bool,
    **how: Any,
) -> None:
    """Take back what one call, one session or one writer did.

    BATCH is what one call did: `perdure log` shows its id, of which the first characters will do. Every memory becomes
    what it was before, by a new line in its history, so that an undo can be undone: twice is as never. Without BATCH,
    --session and --actor it is your own last change. In a pipe each memory is one line: reverted, removed or skipped,
    its number, and why it was skipped.
    """
    wanted = {"session": session, "actor": actor, "since": since, **how}
    _check(batch, wanted)
    with target.memory() as memory:
        sure, last = yes or dry_run or batch is not None, None
        if batch is None and session is None and actor is None:
            batch, last = _last(memory)
            if sure and not target.json:
                tell(dim(last))
        call = partial(memory.undo, batch, **wanted)
        foreseen = None if sure else call(dry_run=True)
        if foreseen is None:
            show_rewound(target, call(dry_run=dry_run), dry_run=dry_run)
        elif not (foreseen.reverted or foreseen.removed):
            show_rewound(target, foreseen, dry_run=True)
        elif _agreed(target, foreseen, last, (*([batch] if batch else ["--yes"]), *options_again(wanted))):
            show_rewound(target, call(dry_run=False), dry_run=False)
        else:
            tell("Nothing was changed.")


def _check(batch: str | None, wanted: dict[str, Any]) -> None:
    named = [name for name in ("session", "actor") if wanted[name] is not None]
    if len(named) + (batch is not None) > 1:
        raise click.UsageError("Name one batch, one session or one actor.")
    if wanted["since"] is not None and not named:
        raise click.UsageError("--since narrows --session or --actor; name one of them.")


def _last(memory: Memory) -> tuple[str, str]:
    from perdure.settings import load

    lines = memory.log(actor=load().actor, limit=1)
    if not lines:
        raise click.UsageError("You changed nothing here yet; name a batch, a session or an actor.")
    last = memory.log(batch=lines[0].change.batch, limit=_MOST)
    return lines[0].change.batch, f"Your last change was to {_described(last)}."


def _described(lines: list[Revision]) -> str:
    change = lines[0].change
    operations = " and ".join(dict.fromkeys(line.change.operation for line in reversed(lines)))
    numbers = {line.number for line in lines}
    which = f"#{min(numbers)}" if len(numbers) == 1 else f"{'at least ' if len(lines) == _MOST else ''}{len(numbers)}"
    return f"{operations} {which}{'' if len(numbers) == 1 else ' memories'}, {age(change.at)}"


def _agreed(target: Target, foreseen: RevertResult, last: str | None, again: tuple[str, ...]) -> bool:
    """`last` describes the one change that it is about, `again` are the words that do it without a question."""
    these = counted(len(foreseen.reverted) + len(foreseen.removed))
    if target.json or not is_terminal(sys.stdin):
        needed = NeedsConfirmation(
            f"{last} It would be taken back." if last else f"What was done to {these} would be taken back.",
            remedy=f"Go ahead: {target.hint('undo', *again)}",
        )
        needed.preview = foreseen
        raise needed
    question = f"{last} Take it back?" if last else f"Take back what was done to {these}?"
    return click.confirm(safe(question), default=False, err=True)
