"""How `undo` and `checkpoint restore` say what they brought back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from perdure.cli.common_options import Target
from perdure.cli.render import View
from perdure.cli.terminal import count_memories, dim, glyphs, note, safe
from perdure.jsonable import revert_document
from perdure.model import RevertResult

_SHOWN: Final = 12


def revert_view(target: Target, result: RevertResult, *, dry_run: bool, before: Sequence[str] = ()) -> View:
    """In a pipe: reverted, removed or skipped, the number, and why it was skipped."""
    if result.batch:
        last = [dim(f"take it back: {target.hint('undo', result.batch)}")]
    else:
        last = [dim("nothing was changed")] if dry_run else []
    return View(
        json=revert_document(result),
        lines=_sentences(result, dry_run=dry_run),
        rows=[
            *(("reverted", number) for number in result.reverted),
            *(("removed", number) for number in result.removed),
            *(("skipped", each.number, each.reason) for each in result.skipped),
        ],
        before=before,
        after=[*map(note, result.notes), *last],
    )


def _sentences(result: RevertResult, *, dry_run: bool) -> Iterator[str]:
    # Not "restored": a memory that is as it was may well be forgotten.
    if result.reverted:
        verb, was = "Would put" if dry_run else "Put", "as it was" if len(result.reverted) == 1 else "as they were"
        yield f"{verb} {count_memories(len(result.reverted))} back {was}: {_numbers(result.reverted)}"
    if result.removed:
        verb = "Would remove" if dry_run else "Removed"
        yield f"{verb} {count_memories(len(result.removed))}: {_numbers(result.removed)}"
    for skipped in result.skipped:
        yield f"Skipped #{skipped.number}: {safe(skipped.reason)}"


def _numbers(numbers: Sequence[int]) -> str:
    shown = " ".join(f"#{number}" for number in numbers[:_SHOWN])
    return shown if len(numbers) <= _SHOWN else f"{shown} {glyphs().more}"
