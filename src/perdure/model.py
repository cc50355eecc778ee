"""The values of Perdure: one record, its revisions, and what the verbs answer. No behaviour beyond their own shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from importlib import import_module
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, overload

from perdure.display import html_table, short, short_list
from perdure.ids import ContentHash, MemoryId
from perdure.values import field, field_names, value_class
from perdure.vocabulary import CATEGORIES as CATEGORIES
from perdure.vocabulary import CONTEXT_TYPES as CONTEXT_TYPES
from perdure.vocabulary import FACT_CATEGORIES as FACT_CATEGORIES
from perdure.vocabulary import LEARNING_CATEGORIES as LEARNING_CATEGORIES
from perdure.vocabulary import STATES as STATES
from perdure.vocabulary import TIERS as TIERS
from perdure.vocabulary import TRUSTS as TRUSTS
from perdure.vocabulary import State as State

if TYPE_CHECKING:
    from perdure.maintenance_results import Backup as Backup
    from perdure.maintenance_results import BackupRestored as BackupRestored
    from perdure.maintenance_results import BudgetState as BudgetState
    from perdure.maintenance_results import Egress as Egress
    from perdure.maintenance_results import EgressDay as EgressDay
    from perdure.maintenance_results import Exported as Exported
    from perdure.maintenance_results import Imported as Imported
    from perdure.maintenance_results import MaintenanceResult as MaintenanceResult
    from perdure.maintenance_results import ParkedRetry as ParkedRetry
    from perdure.results import Context as Context
    from perdure.results import ContextItem as ContextItem
    from perdure.results import Detail as Detail
    from perdure.results import Diff as Diff
    from perdure.results import DiffPart as DiffPart
    from perdure.results import FieldChange as FieldChange
    from perdure.results import Forgotten as Forgotten
    from perdure.results import MarkdownCopy as MarkdownCopy
    from perdure.results import NearMiss as NearMiss
    from perdure.results import RevertResult as RevertResult
    from perdure.results import Skipped as Skipped
    from perdure.results import Summary as Summary
    from perdure.results import Triggered as Triggered
    from perdure.results import Version as Version


Json: TypeAlias = "str | int | float | bool | Sequence[Json] | Mapping[str, Json] | None"
Operation: TypeAlias = Literal[
    "insert", "observe", "update", "annotate", "validate", "promote", "forget", "restore", "expire", "evict", "undo",
    "rewind", "erase",
]  # fmt: skip
Outcome: TypeAlias = Literal[
    "inserted", "observed", "updated", "annotated", "validated", "promoted", "unchanged", "repeated"
]
Mode: TypeAlias = Literal["hybrid", "keyword", "vector", "time", "none"]
Form: TypeAlias = Literal["full", "summary", "abstract", "excerpt"]
Format: TypeAlias = Literal["text", "records"]
Level: TypeAlias = Literal["index", "abstract", "full"]

CONFIDENCE_LABELS: Mapping[str, float] = {"high": 1.0, "medium": 2 / 3, "low": 1 / 3}

# What recall may look into. Superseded memories stay indexed because `as_of` asks for them.
INDEXED_STATES: tuple[State, ...] = ("active", "superseded")

# A memory fits from this relevance on, unless somebody says otherwise.
MIN_RELEVANCE = 0.3
NOTHING: Mapping[str, Json] = {}
_NO_CONCEPTS: Mapping[str, int] = {}


@value_class(kw_only=True)
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
    metadata: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
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
    supersedes: tuple[str, ...] = ()
    merged_from: tuple[str, ...] = ()
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

    def __repr__(self) -> str:
        return f"<Record #{self.number} {short(self.text)}>"


_values = attrgetter(*field_names(Record))
_SETTERS = tuple(getattr(Record, name).__set__ for name in field_names(Record))
_PLACES = {name: place for place, name in enumerate(field_names(Record))}


def record_of(values: Iterable[Any]) -> Record:
    """From the values of all fields in their order, at a third of what the constructor costs: every hit is made so."""
    record = object.__new__(Record)
    for set_field, value in zip(_SETTERS, values, strict=True):
        set_field(record, value)
    return record


def replace_record(record: Record, **changes: Any) -> Record:
    """`dataclasses.replace` for records, at a tenth of its cost: every write does this twice."""
    values = list(_values(record))
    for name, value in changes.items():
        values[_PLACES[name]] = value
    return record_of(values)


class Identity(NamedTuple):
    """What a memory is known by when it is said again: its key, wherever that is; without a key its text (case and
    white space do not count) within its scope, which is the conversation, the spec folder, the file and the anchor.
    """

    content_hash: ContentHash
    key: str | None = None
    conversation_id: str | None = None
    spec_folder: str | None = None
    file_path: str | None = None
    anchor_id: str | None = None


SCOPE_FIELDS: Final = Identity._fields[2:]
# Where a memory comes from, which never changes; and the entry of its metadata that says who said it.
ORIGIN_FIELDS: Final = (*SCOPE_FIELDS, "source", "source_project", "session_id", "channel")
SPEAKER: Final = "speaker"
_identity = attrgetter(*Identity._fields)


def identity_of(record: Record) -> Identity:
    return Identity(*_identity(record))


def forgotten_as(record: Record) -> tuple[Identity, ...]:
    """What a memory must not come back as once it is forgotten. A fact of a conversation is known in the whole
    namespace, so no other conversation may bring it back either.
    """
    own = Identity(*_identity(record))
    is_told = record.category in FACT_CATEGORIES and record.key is None and record.conversation_id is not None
    return (own, Identity(record.content_hash)) if is_told else (own,)


# The fields that hold several texts.
LIST_FIELDS: Final = ("tags", "keywords", "references", "trigger_phrases", "evidence", "supersedes", "merged_from")
USE_FIELDS = ("recall_count", "recalled_at", "access_count", "accessed_at")
_UNUSED: Final = {"recall_count": 0, "recalled_at": None, "access_count": 0, "accessed_at": None}
_history = attrgetter(*(name for name in field_names(Record) if name != "seq" and name not in USE_FIELDS))


def without_use(record: Record) -> Record:
    """As records of the past are: use is not history."""
    return replace_record(record, **_UNUSED)


def same_history(one: Record, other: Record) -> bool:
    """As far as history goes: neither the position in the log nor the counts of use are part of it."""
    return _history(one) == _history(other)


# In the log, behind the surface of a change that a model made.
BY_MODEL: Final = " (model)"


@value_class
class Change:
    """Who changes a memory, how and when; one batch is what one call did, and what one undo takes back.

    `provenance` is what a caller who said a known memory again told about where that came from: the memory keeps the
    origin it has. It is erased with the memory.
    """

    operation: Operation
    at: datetime
    batch: str
    actor: str
    surface: str
    session: str | None = None
    request: str | None = None
    provenance: Mapping[str, Json] = field(default_factory=lambda: NOTHING)


@value_class
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


@value_class(kw_only=True)
class Filter:
    """Which memories a read may see. Times are of the memory itself: when it became true, else when it was made.
    `where` are entries of metadata, each with the values that it may have, as JSON: 1 and True are two of them.
    `hidden` are kinds, of `ids.KINDS`, that are left out. `told_in` are the names of a place, of
    `visibility.places_of`: what may be told elsewhere alone is left out.
    """

    tags: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    context_type: str | None = None
    tier: str | None = None
    source_project: str | None = None
    spec_folder: str | None = None
    conversation_id: str | None = None
    key_type: str | None = None
    where: tuple[tuple[str, tuple[str, ...]], ...] = ()
    min_importance: float | None = None
    max_importance: float | None = None
    since: datetime | None = None
    until: datetime | None = None
    created_since: datetime | None = None
    created_until: datetime | None = None
    offered: bool = False
    unexpired_at: datetime | None = None
    numbers: tuple[int, ...] | None = None
    hidden: tuple[str, ...] = ()
    told_in: tuple[str, ...] = ()
    states: tuple[State, ...] = ("active",)


@value_class
class Contradiction:
    """That a memory and another one cannot both be true, and that nobody has decided between them: `number` and `text`
    are of the other one, and `proposal` is what `accept` and `reject` take. `is_newer`: the memory itself was said
    later than the other one.
    """

    number: int
    text: str
    proposal: int
    is_newer: bool

    def __str__(self) -> str:
        """`contradicts the older #5`."""
        return f"contradicts the {'older' if self.is_newer else 'newer'} #{self.number}"


@value_class
class Remembered:
    """What a write did: the record as it is now, and everything else that happened on the way.

    `vector_pending` says that this call left the vector for later: the memory is found by keyword until `work` ran.
    `batch` is None when nothing was written. `evicted` had to go because the namespace was full; of several memories
    that one call restored, the last one names them. `offered` is the tier that `promote` would give it. `contradicts`
    are the memories near to it that cannot be true together with it.
    """

    record: Record
    outcome: Outcome
    batch: str | None
    vector_pending: bool = False
    notes: tuple[str, ...] = ()
    evicted: tuple[Record, ...] = ()
    offered: str | None = None
    contradicts: tuple[Contradiction, ...] = ()

    def __repr__(self) -> str:
        return f"<Remembered {self.outcome} #{self.record.number} {short(self.record.text)}>"


@value_class
class Checkpoint:
    """A named position in the log of one namespace, or of all when `namespace` is None."""

    name: str
    namespace: str | None
    positions: Mapping[str, int]
    memory_count: int
    created_at: datetime
    actor: str
    spec_folder: str | None = None
    description: str | None = None
    metadata: Mapping[str, Json] = field(default_factory=lambda: NOTHING)


@value_class
class EvictionCandidate:
    """What eviction looks at. `last_used` is the latest of access, recall and change."""

    number: int
    importance: float
    tier: str
    state: State
    tokens: int
    last_used: datetime


@value_class
class Capacity:
    """How full a namespace is. `tokens` are those of the current texts: earlier versions and other fields do not count.
    `protected` can never be evicted; `eviction_order` would go first.
    """

    namespace: str
    item_count: int
    tokens: int
    max_items: int | None
    max_tokens: int | None
    token_counter: str
    version_count: int
    protected: int
    evicted_count: int
    importance_range: Mapping[str, float]
    eviction_order: tuple[EvictionCandidate, ...]
    policy: Mapping[str, Json]


@value_class
class Omitted:
    """A memory that found no room within a budget, or says the same as another that did."""

    record: Record
    reason: Literal["budget", "duplicate"]


@value_class
class Constitution:
    """The memories that are always surfaced, oldest first, as many as fit the budget; the others are `omitted`."""

    records: tuple[Record, ...]
    tokens: int
    budget: int
    omitted: tuple[Omitted, ...] = ()


@value_class
class Signal:
    """One reason for a hit. `contribution` = weight x normalised; the contributions add up to the score, or where that
    is the relevance, to the evidence in log-odds from which it follows. `about` says
    in words what was compared, where the question alone does not: which time it was read as, and by which memory.
    `passage` says from which to which character of a long memory its meaning comes nearest to the question.
    """

    raw: float
    rank: int | None
    normalised: float
    weight: float
    contribution: float
    about: str = ""
    passage: tuple[int, int] | None = None


@value_class
class Outdated:
    """That what a message said holds no more: `until` is when that ended, and `successor` the number of the memory that
    says what holds instead; None where nothing does, or nothing that may be shown.
    """

    until: datetime | None
    successor: int | None = None

    def __str__(self) -> str:
        """`until 2025-10-13, then #45`."""
        from perdure.clock import local_day

        until = f"until {local_day(self.until)}" if self.until else "outdated"
        return until if self.successor is None else f"{until}, then #{self.successor}"


@value_class
class Hit:
    """`relevance` says how well the memory fits, from 0 to 1, and compares between answers, models and stores. `score`
    orders the hits of one answer by a recipe; with `balanced` it is the relevance, else it compares no two answers.
    `concepts` says how often each of the concepts asked for stands in the memory. `outdated` is None unless it is a
    message, and what it says about the question holds no more. `contradicts` are the memories that cannot be true
    together with it, as long as nobody has decided which one is.
    """

    record: Record
    relevance: float
    score: float
    explain: Mapping[str, Signal]
    concepts: Mapping[str, int] = field(default_factory=lambda: _NO_CONCEPTS)
    outdated: Outdated | None = None
    contradicts: tuple[Contradiction, ...] = ()

    @property
    def text(self) -> str:
        return self.record.text

    def __repr__(self) -> str:
        return f"<Hit {self.relevance:.2f} #{self.record.number} {short(self.record.text)}>"

    @property
    def passage(self) -> tuple[int, int] | None:
        """From which to which character the text comes nearest to the question by its meaning; None if it is short
        enough to be compared as a whole, or was not found by its meaning.
        """
        meaning = self.explain.get("vector")
        return meaning.passage if meaning else None

    @property
    def line(self) -> str:
        """The memory on one line of about 20 tokens; `Memory.recall_detail` tells the rest."""
        from perdure.text.preview import one_line_preview

        line = one_line_preview(self.record)
        return f"{line} ({self.outdated})" if self.outdated else line


@value_class
class Compared:
    """How many candidates an answer was chosen from: those with a word of the question, those with a vector; and how
    many memories pass the filter at all, where an index tells.
    """

    by_words: int = 0
    by_meaning: int = 0
    searched: int = 0


_NOT_COMPARED: Final = Compared()


@value_class
class Recall(Sequence[Hit]):
    """The hits, best first, and how they were found: `mode` and `notes` say what was missing, if anything. No hit is
    below `min_relevance`; where nothing is left, `nearest` is what came nearest.
    """

    hits: tuple[Hit, ...]
    mode: Mode
    notes: tuple[str, ...] = ()
    constitutional: tuple[Record, ...] = ()
    min_relevance: float = 0.0
    nearest: Hit | None = None
    compared: Compared = _NOT_COMPARED

    def __repr__(self) -> str:
        return f"<Recall {self.mode} {short_list(self.hits)}>"

    def _repr_html_(self) -> str:
        rows = [(f"{hit.relevance:.2f}", hit.line) for hit in self.hits]
        return html_table(("relevance", "memory"), rows, f"{len(rows)} found ({self.mode})")

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

    @property
    def relevant(self) -> tuple[Record, ...]:
        """What counts as used: the memories that fit. An answer that is filled up to its limit may hold others."""
        return tuple(hit.record for hit in self.hits if hit.relevance >= (self.min_relevance or MIN_RELEVANCE))


@value_class
class Page:
    """One page of `list`; `next` is what to pass as `after` for the following one, or None at the end."""

    records: tuple[Record, ...]
    next: int | None

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


@value_class
class Finding:
    """One thing `doctor` looked at."""

    check: str
    level: Literal["ok", "warning", "problem"]
    sentence: str
    remedy: str | None = None


def __getattr__(name: str) -> object:
    """The results of the rarer verbs: making their classes takes longer than many a start has."""
    if not name.startswith("_"):
        for module in ("results", "maintenance_results"):
            values = vars(import_module(f"perdure.{module}"))
            if name in values:
                return values[name]
    raise AttributeError(f"module 'perdure.model' has no attribute {name!r}")
