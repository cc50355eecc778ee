"""How `undo` and `checkpoint restore` say what they brought back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from perdure.cli.command import Target
from perdure.cli.render import View
from perdure.cli.terminal import count_memories, dim, glyphs, note, safe
from perdure.jsonable import revert_document
from perdure.model import RevertResult

_MAX_SHOWN: Final = 12


def revert_view(target: Target, result: RevertResult, *, dry_run: bool, before: Sequence[str] = ()) -> View:
    """In a pipe: reverted, removed or skipped, the number, and why it was skipped."""
    lines: list[str] = []
    # Not "restored": a memory that is as it was may well be forgotten.
    if result.reverted:
        verb, was = "Would put" if dry_run else "Put", "as it was" if len(result.reverted) == 1 else "as they were"
        lines.append(f"{verb} {count_memories(len(result.reverted))} back {was}: {_numbers(result.reverted)}")
    if result.removed:
        verb = "Would remove" if dry_run else "Removed"
        lines.append(f"{verb} {count_memories(len(result.removed))}: {_numbers(result.removed)}")
    lines += (f"Skipped #{skipped.number}: {safe(skipped.reason)}" for skipped in result.skipped)
    last = [dim("nothing was changed")] if dry_run else []
    if result.batch:
        last = [dim(f"take it back: {target.hint('undo', result.batch)}")]
    return View(
        json=revert_document(result),
        lines=lines,
        rows=[
            *(("reverted", number) for number in result.reverted),
            *(("removed", number) for number in result.removed),
            *(("skipped", skipped.number, skipped.reason) for skipped in result.skipped),
        ],
        before=before,
        after=[*map(note, result.notes), *last],
    )


def _numbers(numbers: Sequence[int]) -> str:
    shown = " ".join(f"#{number}" for number in numbers[:_MAX_SHOWN])
    return shown if len(numbers) <= _MAX_SHOWN else f"{shown} {glyphs().more}"
