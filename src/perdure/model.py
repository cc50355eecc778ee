"""The values of Perdure: one record, its revisions, and what the verbs answer. No behaviour beyond their own shape."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias, overload

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
    from perdure.providers.call import ProviderCall


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
_NO_SIGNALS: Mapping[str, Signal] = {}
_NO_PARTS: Mapping[str, RevertResult] = {}


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
        from perdure.display import short

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
# Where a memory comes from, which never changes; and the entries of its metadata that say who said it.
ORIGIN_FIELDS: Final = (*SCOPE_FIELDS, "source", "source_project", "session_id", "channel")
SPEAKER: Final = "speaker"
ROLE: Final = "role"
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
    """Whether the history of both is alike; the position in the log and the counts of use do not matter."""
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
    `visibility.places_of`: memories that only other places may see are left out.
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
    """An undecided conflict: a memory and another one cannot both be true. `number` and `text` are of the other one,
    and `proposal` is what `accept` and `reject` take. `is_newer`: the memory itself was said later than the other one.
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
        from perdure.display import short

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
    """A message says something that is no longer true: `until` is when that ended, and `successor` the number of the
    memory that is true instead; None if there is none, or none that may be shown.
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
    message, and what it says about the question is no longer true. `contradicts` are the memories that cannot be true
    together with it, as long as no person has decided which one is.
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
        from perdure.display import short

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
        from perdure.display import short_list

        return f"<Recall {self.mode} {short_list(self.hits)}>"

    def _repr_html_(self) -> str:
        from perdure.display import html_table

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


# -- what the rarer verbs answer ---------------------------------------------------------------------------------------


@value_class
class Version:
    """One version of a memory: `record` as that version last was, None once it was erased.

    `lineage` are the versions it was made from, oldest first; one that was taken back by an undo is in no other's.
    """

    memory: MemoryId
    number: int
    version: int
    record: Record | None
    lineage: tuple[int, ...]
    change: Change
    current: bool
    taken_back: bool = False


@value_class
class DiffPart:
    """A part of a text that two versions share, or that only one of them has."""

    kind: Literal["same", "removed", "added"]
    text: str


@value_class
class FieldChange:
    """One field of a memory before and after a change."""

    field: str
    old: Any
    new: Any


@value_class
class Diff:
    """From one version of a memory to another: the text in parts, and every other field that differs."""

    before: Version
    after: Version
    text_diff: tuple[DiffPart, ...]
    field_changes: tuple[FieldChange, ...]


@value_class
class MarkdownCopy:
    """What a Markdown file holds of a memory that is erased: an entry of a knowledge bank, which begins at a line, or a
    part of a memory file. It was `found` and goes with the memory, was `removed`, or is `kept`; `reason` says why, or
    where it still is besides.
    """

    path: str
    line_number: int = 0
    outcome: Literal["found", "removed", "kept"] = "found"
    reason: str | None = None


@value_class
class NearMiss:
    """A memory that a sentence to forget names in part, and that stays; `reason` says why."""

    record: Record
    reason: str


@value_class
class Forgotten:
    """What `forget` or `erase` did, or would do: while `done` is false nothing has happened.

    `understood` says how the instruction was read, `token` confirms exactly these memories. `related` are the numbers
    of those that you did not name, and that go because they were made of the others. `suggested` may have been meant as
    well, and are never touched; `near_misses` hold some of the words of a sentence, but not all, or are of another
    time: these stay too. `scrub_pending` says that erased bytes wait in a log, or in an unfinished copy, that another
    process holds. `copies` are those in Markdown files.
    """

    records: tuple[Record, ...]
    deletion: Literal["soft", "hard"]
    done: bool
    understood: str
    token: str
    batch: str | None = None
    related: tuple[int, ...] = ()
    suggested: tuple[Record, ...] = ()
    remaining: int = 0
    scrub_pending: bool = False
    notes: tuple[str, ...] = ()
    copies: tuple[MarkdownCopy, ...] = ()
    near_misses: tuple[NearMiss, ...] = ()


@value_class
class ProposedCorrection:
    """What `update` would do about a sentence: `record` is the memory that it is about, as it is now, and `text` what
    it would say. `token` confirms exactly that.
    """

    record: Record
    text: str
    token: str


@value_class
class Skipped:
    """A memory that could not be brought back, and why."""

    number: int
    reason: str


@value_class
class RevertResult:
    """What `undo` or `restore_checkpoint` did. `reverted` are the numbers of memories that are as they were, `removed`
    of those that did not exist then; undoing `batch` takes it back. It is None when nothing was written. Numbers are of
    one namespace: with several, `parts` has a result of its own for each in which something was done.
    """

    batch: str | None
    reverted: tuple[int, ...]
    removed: tuple[int, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()
    parts: Mapping[str, RevertResult] = field(default_factory=lambda: _NO_PARTS)


@value_class
class Summary:
    """A text within its budget, and the memories it was made from. `omitted_count` counts those that found no room."""

    text: str
    tokens: int
    budget: int
    sources: tuple[Record, ...]
    omitted_count: int
    token_counter: str
    made_by: str = "extract"


@value_class
class ContextItem:
    """A memory as a context says it: `text` is all of it, or what found room. Constitutional ones have no relevance.
    `outdated` and `contradicts` are as in `Hit`.
    """

    record: Record
    text: str
    form: Form
    relevance: float | None = None
    outdated: Outdated | None = None
    contradicts: tuple[Contradiction, ...] = ()


@value_class
class Context:
    """What a model should know, within `budget` tokens: `text` is data between two lines with a `mark` that no memory
    can hold, and empty when there is nothing to say. `items` are in the order of the text; `nearest` as in `Recall`.
    """

    text: str
    tokens: int
    budget: int
    token_counter: str
    items: tuple[ContextItem, ...]
    omitted: tuple[Omitted, ...]
    mark: str
    mode: Mode
    notes: tuple[str, ...] = ()
    nearest: Hit | None = None

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Context {self.tokens} of {self.budget} tokens, {len(self.items)} memories>"


@value_class
class Detail:
    """A memory at one level of detail: a line of about 20 tokens, an abstract, or everything it says."""

    record: Record
    level: Level
    text: str


@value_class
class Triggered:
    """A memory that a prompt brings to mind, the phrase that does it, and how sure that is: 1 when the prompt is the
    phrase, 0.95 when it holds the phrase word for word, less when words are inflected.
    """

    record: Record
    phrase: str
    confidence: float


@value_class
class SuggestedBy:
    """Why a prompt brings a memory to mind: the trigger `phrase` that stands in it, or how well the memory fits it,
    with what speaks for that.
    """

    phrase: str | None = None
    relevance: float | None = None
    explain: Mapping[str, Signal] = field(default_factory=lambda: _NO_SIGNALS)


@value_class
class Suggestions:
    """What a prompt brings to mind, the best first; `why` says it for each of them. A server of version 0.2 does not
    say why.
    """

    records: tuple[Record, ...]
    why: tuple[SuggestedBy, ...] = ()

    def __iter__(self) -> Iterator[Record]:
        return iter(self.records)

    def __len__(self) -> int:
        return len(self.records)


# -- what looking after the store answers ------------------------------------------------------------------------------


@value_class
class Backup:
    """A copy of the whole store that was read again and found in order. `sha256` is that of the file."""

    path: str
    bytes: int
    sha256: str
    memory_count: int
    revision_count: int
    created_at: datetime


@value_class
class BackupRestored:
    """The store is what the backup was, without what was `erased` since. `kept` is a copy of what was there before."""

    path: str
    memory_count: int
    erased: int
    kept: str | None
    notes: tuple[str, ...] = ()


@value_class
class Migrated:
    """The tables of a store in a database were of `schema_before`, 0 where there were none, and are of `schema` now.
    With `pgvector` the database can search by meaning itself. `rewritten`: no page of a table has bytes of what was
    erased before.
    """

    schema_before: int
    schema: int
    pgvector: bool = False
    rewritten: bool = False


@value_class
class MaintenanceResult:
    """What `work` did. `vectors_pending` are left, because of a limit or because no model is there.

    `purged` are evicted memories whose grace period was over. `held` are due to expire or to be purged, but wait,
    because the clock leapt. `keywords_added` are memories that got keywords. `episodes_made` are new,
    `episodes_reviewed` were retrieved since their last review, `episodes_consolidated` are those of which facts were
    made; `facts_changed` counts the facts that are new, reinforced, updated or invalidated. `memories_compared`
    are those that were compared with what is near them, and `contradictions_found` the pairs that wait for a person.
    """

    embedded: int
    vectors_pending: int
    notes: tuple[str, ...] = ()
    expired: int = 0
    purged: int = 0
    held: int = 0
    keywords_added: int = 0
    episodes_made: int = 0
    episodes_reviewed: int = 0
    episodes_consolidated: int = 0
    facts_changed: int = 0
    memories_compared: int = 0
    contradictions_found: int = 0


@value_class
class ParkedRetry:
    """What became of parked questions, by id, when they were asked again. `still_parked` were answered badly once more,
    or not asked, and the notes say why. `batch` is what an undo takes back; None: nothing was answered.
    """

    answered: tuple[int, ...]
    still_parked: tuple[int, ...]
    batch: str | None = None
    notes: tuple[str, ...] = ()


@value_class
class Exported:
    """What `export` wrote. `damaged` are the numbers of the memories it could not read and left out."""

    written: int
    damaged: tuple[int, ...] = ()


@value_class
class Imported:
    """What `import_` did. `present` were there already, word for word, and are left as they are. `skipped_deleted`
    were forgotten or corrected after they were written down, and do not come back. `batch` is None when nothing was
    written. `evicted` had to go because the namespace was full.
    """

    inserted: int
    updated: int
    present: int
    batch: str | None
    notes: tuple[str, ...] = ()
    skipped_deleted: int = 0
    evicted: tuple[Record, ...] = ()


@value_class
class EgressDay:
    """What left this machine on one day, to one model. `cost` is None where not every price was known."""

    day: str
    provider: str
    model: str
    host: str
    requests: int
    failed: int
    texts: int
    sent_bytes: int
    received_bytes: int
    input_tokens: int
    output_tokens: int
    cost: float | None


@value_class
class BudgetState:
    """What was sent today, for every purpose, and how much background work may send; None means no limit. The next day
    begins at `resets_at`.
    """

    used_tokens: int
    daily_tokens: int | None
    used_cost: float
    daily_cost: float | None
    resets_at: datetime


@value_class
class Egress:
    """Every request that left this machine: the newest `calls`, all of them by day, and the hosts that the setting
    `egress` allows. A model on this machine is not in the list.
    """

    calls: tuple[ProviderCall, ...]
    days: tuple[EgressDay, ...]
    allowed: tuple[str, ...]
    today: BudgetState
