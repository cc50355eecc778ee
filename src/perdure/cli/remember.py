"""`perdure remember`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from perdure.cli.command import command, option
from perdure.cli.fields import field_options, given
from perdure.cli.receipt import acknowledge
from perdure.cli.screen import notes
from perdure.cli.stdin import read_lines, words_or_stdin
from perdure.cli.target import Target, with_target
from perdure.errors import PerdureError
from perdure.jsonable import to_jsonable
from perdure.model import Remembered

if TYPE_CHECKING:
    from perdure.memory import Memory

_EXAMPLES = (
    'perdure remember "Alice prefers dark mode" --tag ui --category preference',
    'perdure remember "Lives in Osaka" --key person:alice --valid-at 2026-03-14',
    "git log -1 --format=%B | perdure remember --title 'Last commit'",
    "perdure remember --lines < notes.txt",
)


@command("remember", examples=_EXAMPLES)
@click.argument("text", nargs=-1)
@field_options
@option("--lines", is_flag=True, help="Read standard input; each line is a memory, acknowledged as soon as it is safe.")
@option("--idempotency-key", metavar="TEXT", help="The same call with the same key is done only once.")
@with_target()
def main(target: Target, *, text: tuple[str, ...], lines: bool, idempotency_key: str | None, **options: Any) -> None:
    """Store a memory.

    TEXT is what to remember; `-`, or nothing with a pipe, reads standard input. Saying the same thing again is
    noticed and counted; with --key it makes a new version of that memory. It is on disk before you see the answer.
    """
    fields = given(options)
    if lines:
        if text or idempotency_key:
            raise click.UsageError("--lines reads standard input; give neither a text nor an idempotency key.")
        _remember_lines(target, fields)
        return
    said = words_or_stdin(text, "The text to remember")
    with target.memory() as memory:
        remembered = memory.remember(said, idempotency_key=idempotency_key, **fields)
    if target.json:
        target.answer(to_jsonable(remembered))
    else:
        acknowledge(remembered)
        notes(remembered.notes)


def _remember_lines(target: Target, fields: dict[str, Any]) -> None:
    done: list[Remembered] = []
    with target.memory() as memory:
        for number, line in read_lines():
            remembered = _one_line(memory, number, line, fields)
            done.append(remembered)
            if not target.json:
                acknowledge(remembered)
    if target.json:
        target.answer({"remembered": [to_jsonable(one) for one in done]})
    else:
        notes(tuple(dict.fromkeys(note for one in done for note in one.notes)))


def _one_line(memory: Memory, number: int, line: str, fields: dict[str, Any]) -> Remembered:
    try:
        return memory.remember(line, **fields)
    except PerdureError as error:
        raise type(error)(f"Line {number}: {error.sentence}", remedy=error.remedy) from error
