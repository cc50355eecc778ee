"""How `forget` and `erase` ask before they act: the list first, then the question; in a pipe the list and a token."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import click

from perdure.cli.command import Function, option
from perdure.cli.consent import DRY_RUN, YES
from perdure.cli.layout import clip
from perdure.cli.receipt import receipt
from perdure.cli.screen import dim, glyphs, is_terminal, notes, safe, say, tell, width
from perdure.cli.target import Target
from perdure.errors import InvalidReference, NeedsConfirmation
from perdure.jsonable import to_jsonable
from perdure.model import Forgotten, Record

_VERBS: Final = {"soft": "forget", "hard": "erase"}


@dataclass(frozen=True, slots=True)
class Consent:
    """What the user said beforehand. `always` asks on a terminal, whatever it is about."""

    yes: bool
    token: str | None
    dry_run: bool
    always: bool = False


def consent_options(function: Function) -> Function:
    confirm = option("--confirm", "token", metavar="TOKEN", help="Go ahead if it is exactly what that preview showed.")
    for decorate in (DRY_RUN, confirm, YES):
        function = decorate(function)
    return function


def meant(words: tuple[str, ...]) -> str | list[str] | None:
    """References, or the words of one sentence."""
    if len(words) <= 1:
        return words[0] if words else None
    named = [_is_reference(word) for word in words]
    if all(named):
        return list(words)
    if any(named):
        odd = words[named.index(False)]
        raise click.UsageError(f"{odd[:60]!r} does not name a memory. Put a sentence in quotes.")
    return " ".join(words)


def carry_out(target: Target, consent: Consent, again: tuple[str, ...], call: Callable[..., Forgotten]) -> Forgotten:
    """`call` with what the user agreed to; `again` are the words of the command, for the hint to paste."""
    if consent.dry_run:
        return call(dry_run=True)
    agreed = consent.token if consent.token is not None else consent.yes
    asking = not agreed and not target.json and is_terminal(sys.stdin)
    try:
        preview = call(confirm=agreed, dry_run=asking and consent.always)
    except NeedsConfirmation as needed:
        preview: Forgotten = needed.preview
        if not asking:
            raise _refusal(target, again, needed) from None
    if preview.done or not preview.records:
        return preview
    show(preview)
    if _agrees(preview):
        return call(confirm=preview.token, dry_run=False)
    tell("Nothing was changed.")
    raise click.exceptions.Exit(0)


def _refusal(target: Target, again: tuple[str, ...], needed: NeedsConfirmation) -> NeedsConfirmation:
    """The list is on stdout; with --json it is part of the failure, because stdout is for what was done."""
    preview: Forgotten = needed.preview
    if not target.json:
        show(preview)
    hint = target.hint(*again, "--confirm", preview.token)
    refusal = NeedsConfirmation(needed.sentence, remedy=f"Go ahead: {hint}")
    refusal.preview = preview
    return refusal


def report(target: Target, done: Forgotten, again: tuple[str, ...]) -> None:
    if target.json:
        target.answer(to_jsonable(done))
    elif not done.done:
        show(done)
        if done.records:
            tell(dim(f"nothing was changed; go ahead: {target.hint(*again, '--confirm', done.token)}"))
    elif done.deletion == "soft":
        _forgot(target, done)
    else:
        # Without its words: they should not stay on a screen or in somebody's log either.
        for number in sorted(record.number for record in done.records):
            say(f"Erased {click.style(f'#{number}', fg='cyan', bold=True)}")
        notes(done.notes)


def _forgot(target: Target, done: Forgotten) -> None:
    one = len(done.records) == 1
    # Several were shown before. One went at once, and its words may have been taken for others than were meant.
    if one and not done.understood.startswith("memory #"):
        tell(dim(f"understood: {safe(done.understood)}"))
    for record in done.records:
        receipt("Forgot", "", record)
    back = ("restore", done.records[0].number) if one else ("undo", done.batch)
    tell(dim(f"take it back: {target.hint(*back)}"))


def show(preview: Forgotten) -> None:
    """What would happen. What may have been meant as well is said beside it."""
    tell(dim(f"understood: {safe(preview.understood)}"))
    for record in preview.records:
        receipt(f"Would {_VERBS[preview.deletion]}", "", record)
    for record in preview.suggested:
        tell(f"perhaps {_line(record)}")
    notes(preview.notes)


def _line(record: Record) -> str:
    return f"#{record.number}  {dim(safe(clip(record.title or record.text, width() - 20, glyphs().more)))}"


def _agrees(preview: Forgotten) -> bool:
    count = len(preview.records)
    these = "this" if count == 1 else f"these {count:,}"
    for_ever = " for ever" if preview.deletion == "hard" else ""
    return click.confirm(f"{_VERBS[preview.deletion].capitalize()} {these}{for_ever}?", default=False, err=True)


def _is_reference(word: str) -> bool:
    from perdure.lifecycle.instruction import reference_of

    try:
        reference_of(word)
    except InvalidReference:
        return False
    return True


def options_again(options: dict[str, Any]) -> list[str]:
    """Options as they were given, for a command to paste."""
    words: list[str] = []
    for name, value in options.items():
        if value in (None, (), False):
            continue
        spelled = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(spelled)
            continue
        values: tuple[Any, ...] = value if isinstance(value, tuple) else (value,)  # pyright: ignore[reportUnknownVariableType]
        for item in values:
            words += [spelled, item.isoformat() if hasattr(item, "isoformat") else str(item)]
    return words
