"""`perdure forget`."""

from __future__ import annotations

from functools import partial
from typing import Any, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.deletion import delete, deletion_options, references_or_sentence
from perdure.cli.filter_options import filter_options, given_options
from perdure.cli.render import View
from perdure.model import STATES

_EXAMPLES: Final = (
    "perdure forget 7",
    "perdure forget 7 8 person:alice",
    'perdure forget "everything about the Osaka flat" --dry-run',
    'perdure forget "what I told you yesterday" --keep 7 --yes',
    "perdure forget '\"not before nine\"' --dry-run",
    "perdure forget oldest",
    "perdure forget before:2026-03-14 --tag draft --yes",
    "perdure forget --spec-folder 007-login --yes",
)


@command("forget", examples=_EXAMPLES)
@click.argument("what", nargs=-1, metavar="[WHAT]...")
@option("--hard", is_flag=True, help="Erase for ever, as `perdure erase` does.")
@deletion_options
@filter_options(STATES, default="active and superseded")
def main(
    target: Target,
    *,
    what: tuple[str, ...],
    hard: bool,
    keep: tuple[str, ...],
    yes: bool,
    token: str | None,
    dry_run: bool,
    **options: Any,
) -> View:
    """Forget memories; `restore` takes it back.

    WHAT is a number, id, content hash or key, or several of them; or `oldest`, `least important`, `before:TIME`; or a
    sentence, which means every memory that holds all its words and was made at the time it names. Filters narrow it.
    A sentence that says what should stay ("everything but Bob") is refused: name that with --keep. What stands in
    double quotes is looked for word for word, so '"not before nine"' is a text and no exception.

    A forgotten memory is no longer found, but its history stays. What a sentence finds is listed first, and so are
    several memories that a time or a filter finds; they are forgotten when you say yes, all of them or none.
    """
    meant, mode = references_or_sentence(what), "hard" if hard else "soft"
    again = partial(target.hint, "forget", *what, **options, hard=hard, keep=keep)
    with target.memory() as memory:
        call = partial(memory.forget, meant, mode=mode, keep=list(keep), **given_options(options))
        return delete(target, call, again, yes=yes, token=token, dry_run=dry_run)
