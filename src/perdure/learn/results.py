"""What learning answers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final, Literal, TypeAlias

from perdure.learn.actions import Action
from perdure.learn.render import fact_line
from perdure.model import Record
from perdure.text.preview import clip, one_line

ProposalKind: TypeAlias = Literal["merge", "conflict"]

_COUNTS: Final = ("episodes", "learned", "reinforced", "updated", "invalidated", "proposed", "left_out")


@dataclass(frozen=True, slots=True)
class FactChange:
    """What was done about one fact. `replaced` is the fact that an update ended: `record` is true now, or from when it
    was true on. `conversation_count` conversations say so.
    """

    action: Action
    record: Record
    replaced: Record | None = None
    conversation_count: int = 0

    @property
    def line(self) -> str:
        return fact_line(self.record, self.conversation_count)


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


@dataclass(frozen=True, slots=True)
class Fact:
    """A fact, from how many episodes it is known and from how many conversations, and the facts that it took the place
    of, the newest first.
    """

    record: Record
    source_count: int
    earlier: tuple[Record, ...] = ()
    conversation_count: int = 0

    @property
    def line(self) -> str:
        """`[identity] User lives in Tokyo (sources: 1 conversation)`."""
        return fact_line(self.record, self.conversation_count)


@dataclass(frozen=True, slots=True)
class Proposal:
    """Two memories that may say the same (`merge`), or cannot both be true (`conflict`); `second` is the newer one.

    `number` is what `accept` and `reject` take. `text` is what one memory for both would say, where that is known.
    """

    number: int
    kind: ProposalKind
    first: Record
    second: Record
    reasons: tuple[str, ...]
    cosine: float | None
    text: str | None
    created_at: datetime

    @property
    def line(self) -> str:
        """The question on one line: `#7 merge: #3 Ada likes tea | #5 Ada is fond of tea`."""
        both = " | ".join(f"#{each.number} {clip(one_line(each.text), 60)}" for each in (self.first, self.second))
        return f"#{self.number} {self.kind}: {both}"


@dataclass(frozen=True, slots=True)
class Decision:
    """What came of an answer to a proposal. `records` are its two memories as they are now, and the merged one."""

    proposal: int
    decision: Literal["accepted", "rejected"]
    records: tuple[Record, ...]
    batch: str
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
