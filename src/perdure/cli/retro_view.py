"""What the commands answer that write into a knowledge bank."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from perdure.cli.command import Target
from perdure.cli.render import View, empty_answer
from perdure.cli.terminal import dim, note, number_label, safe

if TYPE_CHECKING:
    from perdure.session.retro import RetroResult


def retro_view(target: Target, result: RetroResult) -> View:
    """What a retro did or would do; a dry run shows every line that would change."""
    return View(json=result, lines=_retro_lines(result), after=_after(target, result))


def _retro_lines(result: RetroResult) -> Iterator[str]:
    words = {"inserted": "new", "observed": "seen again", "updated": "seen again", "unchanged": "known"}
    for learning in result.learnings:
        label = f"{number_label(learning.number)} " if learning.number else ""
        outcome = words.get(learning.outcome, learning.outcome)
        yield label + safe(f"{learning.name} ({learning.category}, {outcome})")
        for name, values in (("references", learning.references), ("keywords", learning.keywords)):
            if values:
                yield dim(safe(f"  {name}: {', '.join(values)}"))
    for name in result.confirmed:
        yield safe(f"Confirmed: {name}")
    for name in result.challenged:
        yield safe(f"Challenged: {name}")
    for stale in result.stale:
        yield safe(f"Stale: {stale.name} (last observed {stale.last_observed}, {stale.later_features} features ago)")
    for change in result.files:
        if result.done:
            yield dim(safe(f"written: {change.path}"))
        else:
            yield from map(safe, change.diff.splitlines())


def _after(target: Target, result: RetroResult) -> Iterator[str]:
    if not result.done:
        yield dim("dry run: nothing was written")
    yield from map(note, result.notes)
    if not (result.learnings or result.confirmed or result.challenged or result.stale):
        yield from empty_answer("No entry was judged, and none is stale.")
    if result.vectors_pending:
        yield dim(f"{result.vectors_pending:,} memories wait for their vectors: {target.hint('work')}")
    if result.batch:
        yield dim(f"take it back from the store, not from the files: {target.hint('undo', result.batch)}")
