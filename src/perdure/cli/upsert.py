"""`perdure upsert`."""

from __future__ import annotations

from typing import Any, Final

import click

from perdure.cli import stored_names
from perdure.cli.command import Target, command, option
from perdure.cli.field_options import KEY_OPTION, field_options, given_fields
from perdure.cli.record_view import remembered_view
from perdure.cli.render import View
from perdure.cli.stdin import words_or_stdin

_EXAMPLES: Final = (
    'perdure upsert location:new_york "New York is in the United States"',
    'perdure upsert person:alice "Lives in Tokyo" --expected-version 2',
    "perdure upsert doc:readme - < README.md",
)


@command("upsert", examples=_EXAMPLES, creates=True)
@click.argument("key", shell_complete=stored_names.keys)
@click.argument("text", nargs=-1)
@option(
    "--expected-version", type=int, metavar="N", help="Only if it has this version now; 0: only if it is not there."
)
@field_options(without=KEY_OPTION)
@option("--idempotency-key", metavar="TEXT", rare=True, help="The same call with the same key is done only once.")
def main(target: Target, *, key: str, text: tuple[str, ...], **options: Any) -> View:
    """Store a memory under a key, or a new version of it.

    KEY is type:identifier, such as person:alice; TEXT is what to remember, and `-`, or nothing with a pipe, reads
    standard input. Fields that you do not name stay as they are. A forgotten memory comes back as a new version.
    """
    words = words_or_stdin(text, "The text to remember")
    with target.memory() as memory:
        return remembered_view(memory.upsert(key, words, **given_fields(options)))
