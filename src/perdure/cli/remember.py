"""`perdure remember`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import click

from perdure.cli.command import Target, command, option
from perdure.cli.field_options import field_options, given_fields
from perdure.cli.record_view import evictions, remembered_line, remembered_view
from perdure.cli.render import View
from perdure.cli.stdin import read_lines, words_or_stdin
from perdure.cli.terminal import err, note
from perdure.errors import PerdureError
from perdure.jsonable import list_document
from perdure.model import Remembered

_EXAMPLES: Final = (
    'perdure remember "Alice prefers dark mode" --tag ui --category preference',
    'perdure remember "Lives in Osaka" --key person:alice --valid-at 2026-03-14',
    "git log -1 --format=%B | perdure remember --title 'Last commit'",
    "perdure remember --lines < notes.txt",
)


@command("remember", examples=_EXAMPLES, creates=True)
@click.argument("text", nargs=-1)
@field_options()
@option("--lines", is_flag=True, help="Read standard input; each line is a memory, acknowledged as soon as it is safe.")
@option("--idempotency-key", metavar="TEXT", rare=True, help="The same call with the same key is done only once.")
def main(target: Target, *, text: tuple[str, ...], lines: bool, **options: Any) -> View:
    """Store a memory.

    TEXT is what to remember; `-`, or nothing with a pipe, reads standard input. Saying the same thing again is
    noticed and counted; with --key it makes a new version of that memory. It is on disk before you see the answer.
    """
    fields = given_fields(options)
    if lines:
        if text or "idempotency_key" in fields:
            raise click.UsageError("--lines reads standard input; give neither a text nor an idempotency key.")
        return _remember_lines(target, fields)
    words = words_or_stdin(text, "The text to remember")
    with target.memory() as memory:
        return remembered_view(memory.remember(words, **fields))


def _remember_lines(target: Target, fields: dict[str, Any]) -> View:
    """Each memory is acknowledged before the next line is read; all of them are one batch."""
    notes: list[str] = []

    def remember() -> Iterator[Remembered]:
        number = stored = 0
        with target.memory() as memory, memory.batch() as batch:
            try:
                for number, line in read_lines():  # noqa: B007 - an error names the line
                    remembered = memory.remember(line, **fields)
                    stored += 1
                    notes.extend(sentence for sentence in remembered.notes if sentence not in notes)
                    yield remembered
            except PerdureError as error:
                where = "" if error.sentence.startswith("Line ") else f"Line {number}: "
                remedy = f"The {stored:,} before it are stored; take them back: {target.hint('undo', batch)}"
                raise type(error)(where + error.sentence, remedy=remedy if stored else error.advice) from error

    def acknowledge() -> Iterator[str]:
        for remembered in remember():
            yield remembered_line(remembered)
            for line in evictions(remembered.evicted):
                err(line)

    return View(json=lambda: list_document("remembered", remember()), lines=acknowledge(), after=map(note, notes))
