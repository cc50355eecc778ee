"""What `forget` and `erase` share: which memories are meant, the preview, the question, and the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import click

from perdure.cli.command import Function, Target, option
from perdure.cli.confirm import CONFIRM, DRY_RUN, YES, can_ask, require_yes
from perdure.cli.record_view import confirmation_line
from perdure.cli.render import View, render
from perdure.cli.terminal import dim, glyphs, note, number_label, safe, width
from perdure.cli.text_layout import clip
from perdure.errors import InvalidReference, NeedsConfirmation
from perdure.model import Forgotten, Record

_VERBS: Final = {"soft": "forget", "hard": "erase"}
_OF_A_COPY: Final = {"found": "Goes with it: {}.", "removed": "Removed from {}.", "kept": "Not changed: {}."}


_KEEP: Final = option("--keep", also=("--except",), multiple=True, metavar="REF", help="Keep this memory. Repeatable.")


def deletion_options(function: Function) -> Function:
    for decorate in (DRY_RUN, CONFIRM, YES, _KEEP):
        function = decorate(function)
    return function


def references_or_sentence(words: tuple[str, ...]) -> str | list[str] | None:
    """References, or the words of one sentence."""
    from perdure.lifecycle.instruction import reference_of

    def is_reference(word: str) -> bool:
        try:
            reference_of(word)
        except InvalidReference:
            return False
        return True

    if len(words) <= 1:
        return words[0] if words else None
    sentence = [word for word in words if not is_reference(word)]
    if sentence and len(sentence) < len(words):
        raise click.UsageError(f"{sentence[0][:60]!r} does not name a memory. Put a sentence in quotes.")
    return " ".join(words) if sentence else list(words)


def delete(
    target: Target,
    call: Callable[..., Forgotten],
    again: Callable[..., str],
    *,
    yes: bool,
    token: str | None,
    dry_run: bool,
) -> View:
    """`call` forgets or erases with what the user agreed to; `again` is the command to paste, with a token."""
    agreed = token if token is not None else yes
    asking = not agreed and not dry_run and can_ask(target)
    try:
        answer = call(confirm=agreed, dry_run=dry_run)
    except NeedsConfirmation as needed:
        answer: Forgotten = needed.preview
        if not asking:
            # In a pipe the list goes to stdout; with --json it is part of the failure, stdout is for what was done.
            if not target.json:
                render(_preview(answer), as_json=False)
            refusal = NeedsConfirmation(needed.sentence, remedy=f"Go ahead: {again(confirm=answer.token)}")
            refusal.preview = answer
            raise refusal from None
    if asking and answer.records and not answer.done:
        render(_preview(answer), as_json=False)
        count, verb = len(answer.records), _VERBS[answer.deletion].capitalize()
        for_ever = " for ever" if answer.deletion == "hard" else ""
        require_yes(f"{verb} {'this' if count == 1 else f'these {count:,}'}{for_ever}?")
        answer = call(confirm=answer.token, dry_run=False)
    if not answer.done:
        go_ahead = f"nothing was changed; go ahead: {again(confirm=answer.token)}"
        return _preview(answer, *([dim(go_ahead)] if answer.records else []))
    if answer.deletion == "hard":
        # Without its words: they should not stay on a screen or in somebody's log either.
        numbers = sorted(record.number for record in answer.records)
        lines = [f"Erased {number_label(number)}" for number in numbers]
        after = [*copy_lines(answer), *_near_misses(answer), *map(note, answer.notes)]
        return View(json=answer, lines=lines, after=after)
    single = len(answer.records) == 1
    back = target.hint("restore", answer.records[0].number) if single else target.hint("undo", answer.batch)
    # Several were shown before. One may have been found by words that were meant for another.
    unsure = single and not answer.understood.startswith("memory #")
    return View(
        json=answer,
        lines=[confirmation_line("Forgot", "", record) for record in answer.records],
        before=[dim(f"understood: {safe(answer.understood)}")] if unsure else [],
        after=[*_near_misses(answer), dim(f"take it back: {back}")],
    )


def _preview(answer: Forgotten, *last: str) -> View:
    """What would happen. What stays, and what may have been meant as well, is said beside it."""
    suggested = [f"perhaps #{each.number}  {dim(_clipped(each, 20))}" for each in answer.suggested]
    return View(
        json=answer,
        lines=[
            confirmation_line(
                f"Would {_VERBS[answer.deletion]}", " too" if record.number in answer.related else "", record
            )
            for record in answer.records
        ],
        before=[dim(f"understood: {safe(answer.understood)}")],
        after=[*copy_lines(answer), *_near_misses(answer), *suggested, *map(note, answer.notes), *last],
    )


def _near_misses(answer: Forgotten) -> list[str]:
    """What a sentence names in part, and why it stays."""
    return [
        f"stays #{each.record.number}  {dim(_clipped(each.record, len(each.reason) + 20))} ({safe(each.reason)})"
        for each in answer.near_misses
    ]


def _clipped(record: Record, margin: int) -> str:
    return safe(clip(record.title or record.text, max(width() - margin, 20), glyphs().more))


def copy_lines(answer: Forgotten) -> Iterator[str]:
    """What Markdown files hold of it, or held."""
    for copy in answer.copies:
        place = safe(f"{copy.path}, line {copy.line_number}" if copy.line_number else copy.path)
        yield note(" ".join(filter(None, (_OF_A_COPY[copy.outcome].format(place), copy.reason))))
