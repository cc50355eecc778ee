"""What learning answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from perdure.learn.actions import Action
from perdure.model import Record

_COUNTS: Final = ("episodes", "learned", "reinforced", "updated", "invalidated", "proposed", "left_out")


@dataclass(frozen=True, slots=True)
class FactChange:
    """What was done about one fact. `replaced` is the fact that an update ended: `record` is true now, or from when it
    was true on.
    """

    action: Action
    record: Record
    replaced: Record | None = None


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What consolidating did, or would do: while `done` is false nothing has happened.

    `episodes` were looked at. Of facts, `learned` are new, `reinforced` got more evidence, `updated` were superseded by
    what is true now, `invalidated` ended without a successor; `changes` has each of them. `proposed` are conflicts that
    a person decides, `left_out` actions that were not carried out: the notes say why. `batch` is what an undo takes
    back; None: nothing was written.
    """

    episodes: int = 0
    learned: int = 0
    reinforced: int = 0
    updated: int = 0
    invalidated: int = 0
    proposed: int = 0
    left_out: int = 0
    changes: tuple[FactChange, ...] = ()
    batch: str | None = None
    done: bool = True
    notes: tuple[str, ...] = ()


def total(parts: Iterable[Consolidation], notes: Iterable[str], *, done: bool) -> Consolidation:
    """The sum of several runs of one call."""
    found = list(parts)
    counts: dict[str, int] = {name: sum(getattr(part, name) for part in found) for name in _COUNTS}
    return replace(
        Consolidation(**counts),  # pyright: ignore[reportArgumentType] - these are all counts
        changes=tuple(change for part in found for change in part.changes),
        batch=next((part.batch for part in found if part.batch), None),
        done=done,
        notes=tuple(dict.fromkeys((*(note for part in found for note in part.notes), *notes))),
    )
