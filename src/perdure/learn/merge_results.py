"""What saving a memory answers: what became of it, and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from perdure.model import Record

MergeOutcome: TypeAlias = Literal["merged", "apart", "proposed", "conflict", "unfaithful", "crowded"]


@dataclass(frozen=True, slots=True)
class MergeStep:
    """One memory that was compared with the one to save, by its `number`.

    It was `merged`; or stays `apart`, because it says something else; or a person decides whether the two are one
    (`proposed`) or which one is true (`conflict`). At the gate a merge is `unfaithful` when its text is too far from
    what it was made of, and `crowded` when it is too close to others. `faithfulness` is the cosine of the merged text
    to the farther of the two, `neighbours` the mean cosine to the nearest others; None where that was not looked at.
    """

    number: int
    outcome: MergeOutcome
    cosine: float | None = None
    reasons: tuple[str, ...] = ()
    faithfulness: float | None = None
    neighbours: float | None = None


@dataclass(frozen=True, slots=True)
class Saved:
    """What `save_memory` did. `record` is the active memory that holds the text now.

    `outcome` is `observed` when the text was known to the letter, `merged` when it became one with others, which are
    `absorbed`, else `inserted`. `steps` are the memories it was compared with, `searches` how often the namespace was
    searched for them, `asked` how often a language model was asked, `proposals` the numbers of what a person decides.
    """

    record: Record
    outcome: Literal["inserted", "observed", "merged"]
    batch: str | None
    absorbed: tuple[Record, ...] = ()
    steps: tuple[MergeStep, ...] = ()
    proposals: tuple[int, ...] = ()
    searches: int = 0
    asked: int = 0
    vector_pending: bool = False
    evicted: tuple[Record, ...] = ()
    notes: tuple[str, ...] = ()
