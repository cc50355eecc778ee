"""`perdure update`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import click

from perdure.cli import stored_names
from perdure.cli.command import Target, command, option
from perdure.cli.confirm import CONFIRM, YES, can_ask, require_yes
from perdure.cli.field_options import CONTENT, ORIGIN_OPTIONS, completing, field_options, given_fields
from perdure.cli.record_view import remembered_view
from perdure.cli.render import View, render
from perdure.cli.stdin import read_text
from perdure.cli.terminal import number_label, safe
from perdure.errors import NeedsConfirmation, UnknownChoice
from perdure.ids import is_sentence
from perdure.model import ORIGIN_FIELDS, ProposedCorrection, Record
from perdure.validation import Fields

_EXAMPLES: Final = (
    'perdure update 7 "Alice prefers light mode"',
    "perdure update person:alice --add-tag travel --remove-tag ui",
    "perdure update 7 --clear expires_at",
    "perdure update 7 - < corrected.txt",
    'perdure update "The choir sings at 8, not at 7"',
    'perdure update "the meeting with the roofer" "The roofer comes on Friday" --yes',
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
@YES
@CONFIRM
@field_options(without=ORIGIN_OPTIONS)
def main(
    target: Target,
    *,
    ref: str,
    new_text: str | None,
    clear: tuple[str, ...],
    yes: bool,
    token: str | None,
    **options: Any,
) -> View:
    """Correct a memory; the old version stays in its history.

    REF is its number, id, content hash or key. TEXT is what it says now; `-` reads standard input. --tag replaces all
    tags; --metadata changes the entries it names. Where a memory comes from (its conversation, folder, file, project,
    session) stays as it is.

    A sentence in the place of REF says what holds now, and corrects the memory that it is about: "The choir sings at 8,
    not at 7"; with a TEXT it only describes that memory. What would be corrected is shown first, and needs a yes. If it
    fits several memories equally well, or none, nothing is changed.
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
    if changes.get("text") == "-":
        changes["text"] = read_text()
    if is_sentence(ref) and changes.keys() <= {"text"}:
        return correct(target, ref, changes.get("text"), agreed=yes if token is None else token)
    if not changes:
        raise click.UsageError("Nothing to change was named.")
    with target.memory() as memory:
        return remembered_view(memory.update(ref, **changes))


def correct(target: Target, sentence: str, text: str | None, *, agreed: bool | str) -> View:
    """Correct the memory that a sentence is about, after it was shown."""
    with target.memory() as memory:
        try:
            return remembered_view(memory.update(sentence, text=text, confirm=agreed))
        except NeedsConfirmation as needed:
            proposed: ProposedCorrection = needed.preview
            if not can_ask(target):
                if not target.json:
                    render(_proposed(proposed), as_json=False)
                given = [sentence] if text is None else [sentence, text]
                refusal = NeedsConfirmation(
                    needed.sentence, remedy=f"Go ahead: {target.hint('update', *given, confirm=proposed.token)}"
                )
                refusal.preview = proposed
                raise refusal from None
        render(_proposed(proposed), as_json=False)
        require_yes("Correct this?")
        return remembered_view(memory.update(sentence, text=text, confirm=proposed.token))


def _proposed(proposed: ProposedCorrection) -> View:
    record = proposed.record
    return View(
        json=proposed,
        lines=[f"Would correct {number_label(record.number)}  {safe(record.text)}", f"  to say  {safe(proposed.text)}"],
    )
