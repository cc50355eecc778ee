"""What learning answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from perdure.model import Record

_COUNTS: Final = ("episodes", "new", "reinforced", "updated", "invalidated", "proposed", "skipped")


@dataclass(frozen=True, slots=True)
class Consolidation:
    """What consolidating did, or would do: with `dry_run` nothing has happened.

    `episodes` were looked at. Of facts, `new` were learned, `reinforced` got more evidence, `updated` were superseded
    by what is true now, `invalidated` ended without a successor. `proposed` are conflicts that a person decides.
    `skipped` actions were not carried out, and the notes say why. `records` are the facts as they are now, or would be.
    `batch` is what an undo takes back; None: nothing was written.
    """

    episodes: int = 0
    new: int = 0
    reinforced: int = 0
    updated: int = 0
    invalidated: int = 0
    proposed: int = 0
    skipped: int = 0
    batch: str | None = None
    notes: tuple[str, ...] = ()
    records: tuple[Record, ...] = ()
    dry_run: bool = False


def together(parts: Iterable[Consolidation], notes: Iterable[str] = ()) -> Consolidation:
    """The sum of several runs of one call."""
    found = list(parts)
    counts = {name: sum(getattr(part, name) for part in found) for name in _COUNTS}
    return Consolidation(
        **counts,
        batch=next((part.batch for part in found if part.batch), None),
        notes=tuple(dict.fromkeys((*(note for part in found for note in part.notes), *notes))),
        records=tuple({record.id: record for part in found for record in part.records}.values()),
    )
