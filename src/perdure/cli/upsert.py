"""`perdure upsert`."""

from __future__ import annotations

from typing import Any

import click

from perdure.cli.command import command, option
from perdure.cli.fields import given, keyed_field_options
from perdure.cli.receipt import acknowledge
from perdure.cli.screen import notes
from perdure.cli.stdin import words_or_stdin
from perdure.cli.target import Target, with_target
from perdure.jsonable import to_jsonable

_EXAMPLES = (
    'perdure upsert location:new_york "New York is in the United States"',
    'perdure upsert person:alice "Lives in Tokyo" --expected-version 2',
    "perdure upsert doc:readme - < README.md",
)


@command("upsert", examples=_EXAMPLES)
@click.argument("key")
@click.argument("text", nargs=-1)
@option(
    "--expected-version", type=int, metavar="N", help="Only if it has this version now; 0: only if it is not there."
)
@keyed_field_options
@option("--idempotency-key", metavar="TEXT", help="The same call with the same key is done only once.")
@with_target()
def main(
    target: Target,
    *,
    key: str,
    text: tuple[str, ...],
    expected_version: int | None,
    idempotency_key: str | None,
    **options: Any,
) -> None:
    """Store a memory under a key, or a new version of it.

    KEY is type:identifier, such as person:alice; TEXT is what to remember, and `-`, or nothing with a pipe, reads
    standard input. What is not named stays as it was. A forgotten memory comes back as a new version.
    """
    said = words_or_stdin(text, "The text to remember")
    with target.memory() as memory:
        done = memory.upsert(
            key, said, expected_version=expected_version, idempotency_key=idempotency_key, **given(options)
        )
    if target.json:
        target.answer(to_jsonable(done))
    else:
        acknowledge(done)
        notes(done.notes)
