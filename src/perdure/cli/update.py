"""`perdure update`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import click

from perdure.cli import stored_names
from perdure.cli.command import Target, command, option
from perdure.cli.field_options import CONTENT, ORIGIN_OPTIONS, completing, field_options, given_fields
from perdure.cli.record_view import remembered_view
from perdure.cli.render import View
from perdure.cli.stdin import read_text
from perdure.errors import UnknownChoice
from perdure.model import ORIGIN_FIELDS, Record
from perdure.validation import Fields

_EXAMPLES: Final = (
    'perdure update 7 "Alice prefers light mode"',
    "perdure update person:alice --add-tag travel --remove-tag ui",
    "perdure update 7 --clear expires_at",
    "perdure update 7 - < corrected.txt",
)

# What a field is once it was cleared: only fields that may be empty are here.
_EMPTY: Final[dict[str, Any]] = {
    field.name: {} if field.name == "metadata" else field.default
    for field in fields(Record)
    if field.name in Fields.__annotations__
    and field.name not in ORIGIN_FIELDS
    and (field.name == "metadata" or field.default in (None, ()))
}


@command("update", examples=_EXAMPLES)
@click.argument("ref", shell_complete=stored_names.keys)
@click.argument("new_text", metavar="[TEXT]", required=False)
@option("--text", section=CONTENT, help="The same as TEXT.")
@option("--add-tag", "add_tags", section=CONTENT, multiple=True, help="Add a tag. Repeatable.")
@option("--remove-tag", "remove_tags", section=CONTENT, multiple=True, help="Take a tag away. Repeatable.")
@option("--clear", section=CONTENT, multiple=True, metavar="FIELD", shell_complete=completing(tuple(_EMPTY)),
        help="Empty a field, such as expires_at. Repeatable.")  # fmt: skip
@field_options(without=ORIGIN_OPTIONS)
def main(target: Target, *, ref: str, new_text: str | None, clear: tuple[str, ...], **options: Any) -> View:
    """Correct a memory; the old version stays in its history.

    REF is its number, id, content hash or key. TEXT is what it says now; `-` reads standard input. --tag replaces all
    tags; --metadata changes the entries it names. Where a memory comes from (its conversation, folder, file, project,
    session) stays as it is.
    """
    if new_text is not None and options["text"] is not None:
        raise click.UsageError("The text is given twice: as TEXT and with --text.")
    changes = given_fields(options if new_text is None else {**options, "text": new_text})
    for name in clear:
        if name in changes:
            raise click.UsageError(f"{name} is both cleared and given.")
        if name not in _EMPTY:
            raise UnknownChoice(f"{name[:60]!r} cannot be cleared.", remedy=f"Use one of {', '.join(_EMPTY)}.")
    changes |= {name: _EMPTY[name] for name in clear}
    if not changes:
        raise click.UsageError("Nothing to change was named.")
    if changes.get("text") == "-":
        changes["text"] = read_text()
    with target.memory() as memory:
        return remembered_view(memory.update(ref, **changes))
