"""The values of Perdure: one record, its revisions, and what the verbs answer. No behaviour beyond their own shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal, TypeAlias, overload

from perdure.ids import ContentHash, MemoryId

Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
State: TypeAlias = Literal["active", "superseded", "merged", "deleted", "expired", "evicted"]
Operation: TypeAlias = Literal["insert", "observe", "update", "annotate", "forget", "restore"]
Outcome: TypeAlias = Literal["inserted", "observed", "updated", "annotated", "unchanged", "repeated"]
Mode: TypeAlias = Literal["hybrid", "keyword", "vector", "none"]

STATES: tuple[State, ...] = ("active", "superseded", "merged", "deleted", "expired", "evicted")
TIERS = ("constitutional", "critical", "important", "normal", "temporary", "deprecated")
CONTEXT_TYPES = ("research", "implementation", "decision", "discovery", "general")
TRUSTS = ("high", "normal", "low")
LEARNING_CATEGORIES = ("anti-patterns", "patterns", "heuristics")
FACT_CATEGORIES = (
    "identity", "preference", "interest", "personality", "relationship", "experience", "goal", "guideline",
)  # fmt: skip
CATEGORIES = LEARNING_CATEGORIES + FACT_CATEGORIES

# What recall may look into. Superseded memories stay indexed because `as_of` will ask for them.
INDEXED_STATES: tuple[State, ...] = ("active", "superseded")

_NOTHING: Mapping[str, Json] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One memory as it is now. `seq` is the position in its namespace's log of the revision that made it so."""

    # identity
    id: MemoryId
    number: int
    namespace: str
    key: str | None = None
    content_hash: ContentHash
    version: int = 1
    seq: int = 0
    # content
    text: str
    title: str | None = None
    abstract: str | None = None
    summary: str | None = None
    reasoning: str | None = None
    category: str | None = None
    context_type: str = "general"
    tags: tuple[str, ...] = ()
    keywords: tuple[str, ...] = ()
    references: tuple[str, ...] = ()
    trigger_phrases: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=lambda: _NOTHING)
    # origin
    source: str = "manual"
    source_project: str | None = None
    conversation_id: str | None = None
    session_id: str | None = None
    channel: str | None = None
    spec_folder: str | None = None
    file_path: str | None = None
    anchor_id: str | None = None
    evidence: tuple[str, ...] = ()
    trust: str = "normal"
    # standing
    tier: str = "normal"
    importance: float = 0.5
    confidence: float = 0.5
    observation_count: int = 1
    validation_count: int = 0
    # use: counted outside history
    recall_count: int = 0
    recalled_at: datetime | None = None
    access_count: int = 0
    accessed_at: datetime | None = None
    # time
    created_at: datetime
    updated_at: datetime
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    expires_at: datetime | None = None
    state: State = "active"


_SLOTS = tuple(getattr(Record, name) for name in Record.__slots__)
_PLACES = {name: place for place, name in enumerate(Record.__slots__)}


def evolve(record: Record, **changes: Any) -> Record:
    """`dataclasses.replace` for records, at a fifth of its cost: every write does this twice."""
    values = [slot.__get__(record) for slot in _SLOTS]
    for name, value in changes.items():
        values[_PLACES[name]] = value
    evolved = object.__new__(Record)
    for slot, value in zip(_SLOTS, values, strict=True):
        slot.__set__(evolved, value)
    return evolved


USE_FIELDS = ("recall_count", "recalled_at", "access_count", "accessed_at")


@dataclass(frozen=True, slots=True)
class Change:
    """Who changes a memory, how and when; one batch is what one call did, and what one undo takes back."""

    operation: Operation
    at: datetime
    batch: str
    actor: str
    surface: str
    session: str | None = None
    request: str | None = None


@dataclass(frozen=True, slots=True)
class Revision:
    """One line of the log. `record` is None once its payload was erased; the chain stays provable without it."""

    namespace: str
    seq: int
    memory: MemoryId
    number: int
    version: int
    change: Change
    digest: str
    hash: str
    record: Record | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Filter:
    """Which memories a read may see. Times are of the memory itself: when it became true, else when it was made."""

    tags: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    context_type: str | None = None
    tier: str | None = None
    source_project: str | None = None
    spec_folder: str | None = None
    conversation_id: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    states: tuple[State, ...] = ("active",)


@dataclass(frozen=True, slots=True)
class Remembered:
    """What `remember` or `update` did: the record as it is now, and everything else that happened on the way.

    `pending` says that this call left the vector for later: the memory is found by keyword until `work` ran.
    """

    record: Record
    outcome: Outcome
    batch: str
    pending: bool = False
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signal:
    """One reason for a hit. `contribution` = weight x normalised; the contributions add up to the score."""

    raw: float
    rank: int | None
    normalised: float
    weight: float
    contribution: float


@dataclass(frozen=True, slots=True)
class Hit:
    """`score` compares the hits of one answer, where the best of each signal is 1; it does not compare two answers."""

    record: Record
    score: float
    explain: Mapping[str, Signal]


@dataclass(frozen=True, slots=True)
class Recall(Sequence[Hit]):
    """The hits, best first, and how they were found: `mode` and `notes` say what was missing, if anything."""

    hits: tuple[Hit, ...]
    mode: Mode
    notes: tuple[str, ...] = ()

    @overload
    def __getitem__(self, index: int) -> Hit: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Hit, ...]: ...
    def __getitem__(self, index: int | slice) -> Hit | tuple[Hit, ...]:
        return self.hits[index]

    def __len__(self) -> int:
        return len(self.hits)

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)


@dataclass(frozen=True, slots=True)
class Page:
    """One page of `list`; `next` is what to pass as `after` for the following one, or None at the end."""

    records: tuple[Record, ...]
    next: int | None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


@dataclass(frozen=True, slots=True)
class Worked:
    """What `work` did. `remaining` is what it left, because of a limit or because no model is there."""

    embedded: int
    remaining: int
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Exported:
    """What `export` wrote. `damaged` are the numbers of the memories it could not read and left out."""

    written: int
    damaged: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """What `import_` did. `present` were there already, word for word, and are left as they are."""

    inserted: int
    updated: int
    present: int
    batch: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing `doctor` looked at."""

    check: str
    level: Literal["ok", "warning", "problem"]
    sentence: str
    remedy: str | None = None
