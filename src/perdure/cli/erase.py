"""`perdure erase`."""

from __future__ import annotations

from functools import partial
from typing import Any

import click

from perdure.cli.command import command
from perdure.cli.filters import chosen, filter_options
from perdure.cli.preview import Consent, carry_out, consent_options, meant, options_again, report
from perdure.cli.target import Target, with_target
from perdure.model import STATES

_EXAMPLES = (
    "perdure erase 7",
    'perdure erase "everything about the Osaka flat" --dry-run',
    "perdure erase --state deleted --until 2026-03-14 --yes",
)


@command("erase", examples=_EXAMPLES)
@click.argument("what", nargs=-1, metavar="[WHAT]...")
@consent_options
@filter_options(STATES, default="any")
@with_target()
def main(
    target: Target,
    *,
    what: tuple[str, ...],
    yes: bool,
    token: str | None,
    dry_run: bool,
    **options: Any,
) -> None:
    """Remove memories for ever, from every file.

    WHAT is as in `perdure forget`; forgotten memories can be erased too. All versions go, with the index, the vectors
    and the links; the history keeps when that was and who did it, and not a word of what it said. Nothing brings it
    back, so it always asks on a terminal. Exports and backups that were made before still hold it.
    """
    wanted, filters = meant(what), chosen(options)
    again = ("erase", *what, *options_again(options))
    with target.memory() as memory:
        call = partial(memory.erase, wanted, **filters)
        done = carry_out(target, Consent(yes, token, dry_run, always=True), again, call)
    report(target, done, again)
