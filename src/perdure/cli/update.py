"""`perdure update`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import click

from perdure.cli.command import command, option
from perdure.cli.fields import CONTENT, completing, field_options, given
from perdure.cli.receipt import acknowledge
from perdure.cli.screen import notes
from perdure.cli.stdin import read_text
from perdure.cli.target import Target, with_target
from perdure.errors import UnknownChoice
from perdure.jsonable import to_jsonable
from perdure.model import Record
from perdure.validation import Fields

_EXAMPLES = (
    'perdure update 7 --text "Alice prefers light mode"',
    "perdure update person:alice --add-tag travel --remove-tag ui",
    "perdure update 7 --clear expires_at",
    "perdure update 7 --text - < corrected.txt",
)

# What a field is once it was cleared: only fields that may be empty are here.
_EMPTY: Final[dict[str, Any]] = {
    field.name: {} if field.name == "metadata" else field.default
    for field in fields(Record)
    if field.name in Fields.__annotations__ and (field.name == "metadata" or field.default in (None, ()))
}


@command("update", examples=_EXAMPLES)
@click.argument("ref")
@option("--text", section=CONTENT, help="What it says now; `-` reads standard input.")
@option("--add-tag", section=CONTENT, multiple=True, help="Add a tag. Repeatable.")
@option("--remove-tag", section=CONTENT, multiple=True, help="Take a tag away. Repeatable.")
@option("--clear", section=CONTENT, multiple=True, metavar="FIELD", shell_complete=completing(tuple(_EMPTY)),
        help="Empty a field, such as expires_at. Repeatable.")  # fmt: skip
@field_options
@with_target()
def main(
    target: Target,
    *,
    ref: str,
    text: str | None,
    add_tag: tuple[str, ...],
    remove_tag: tuple[str, ...],
    clear: tuple[str, ...],
    **options: Any,
) -> None:
    """Correct a memory; the old version stays in its history.

    REF is its number, id, content hash or key. --tag replaces all tags; --metadata changes the entries it names.
    """
    said_fields = given(options)
    if twice := set(clear) & set(said_fields):
        raise click.UsageError(f"{min(twice)} is both cleared and given.")
    changes = {name: _empty(name) for name in clear} | said_fields
    if text is None and not changes and not add_tag and not remove_tag:
        raise click.UsageError("Nothing to change was named.")
    said = read_text() if text == "-" else text
    with target.memory() as memory:
        updated = memory.update(ref, text=said, add_tags=add_tag, remove_tags=remove_tag, **changes)
    if target.json:
        target.answer(to_jsonable(updated))
    else:
        acknowledge(updated)
        notes(updated.notes)


def _empty(name: str) -> Any:
    if name not in _EMPTY:
        raise UnknownChoice(f"{name[:60]!r} cannot be cleared.", remedy=f"Use one of {', '.join(_EMPTY)}.")
    return _EMPTY[name]
