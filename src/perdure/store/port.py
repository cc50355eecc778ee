"""What a store must do, said without a word about how. `perdure.testing.conformance` is this page as tests, and
`perdure.store.capabilities` says what a store may do besides.

No text holds a NUL, because not every store could keep it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import TYPE_CHECKING, Final, Literal, NamedTuple, Protocol, TypeAlias, get_args

from perdure.embed.port import Generation
from perdure.ids import MemoryId, Reference
from perdure.model import (
    Change,
    Checkpoint,
    EvictionCandidate,
    Filter,
    Identity,
    Operation,
    Record,
    Revision,
)
from perdure.store.capacity import CapacityStats, EvictionRule, Load
from perdure.text.bm25 import WordCounts
from perdure.text.entry import Entry, Passage
from perdure.text.introductions import Introduction
from perdure.values import value_class

if TYPE_CHECKING:
    from perdure.llm.port import Parked
    from perdure.providers.call import ProviderCall
    from perdure.store.stats import GenerationStats, StoreStats

LinkKind: TypeAlias = Literal["evidence", "supersedes", "merged_from"]
LINK_KINDS: Final[tuple[LinkKind, ...]] = get_args(LinkKind)
Progress: TypeAlias = Callable[[int, int | None], None]


@value_class
class Position:
    """How far a reader has read: the log of the namespace, and the vectors of one generation. `repairs` counts what
    the log does not: after a repair everything may be different. `head` is the beginning of the hash of the last line:
    after a failover or a restore the same `seq` may be given out again, for something else.
    """

    seq: int = 0
    vector: int = 0
    repairs: int = 0
    head: bytes = b""


class IndexRow(NamedTuple):
    """One memory as the recall index keeps it. Times are microseconds since 1970.

    `valid_from` and `valid_until` are the times between which it is true; `dated` is when it became true, else when it
    was made. Of a turn in a conversation, `question_share` is the share of its text that asks, and
    `introduction` which name its speaker bears by it. `stability` is the number that its
    metadata gives for it, if any. `kind` is what `perdure.visibility.kind_of` says of its key, and `passage` the hash
    that its vector is stored under. Of a long memory `vector` holds those of all its windows. `told_in` is what
    `perdure.visibility.places_of` says, as a JSON list.
    """

    number: int
    terms: bytes
    vector: bytes | None
    active: bool
    tier: str
    kind: str | None
    valid_from: int | None
    valid_until: int | None
    expires_at: int | None
    dated: int
    updated_at: int
    category: str | None
    observations: int
    confidence: float
    importance: float
    anchor: str | None
    conversation: str | None
    session: str | None
    speaker: str | None
    question_share: float
    stability: float | None
    trigger_phrases: tuple[str, ...]
    passage: bytes = b""
    introduction: Introduction | None = None
    has_low_trust: bool = False
    told_in: str | None = None


@value_class
class IndexChanges:
    """What changed between two positions: rows that are new or different, and numbers that are gone. `anew`: the first
    position is not in this log, so these are all rows, and whatever else somebody knows is gone.
    """

    rows: Sequence[IndexRow]
    removed: Sequence[int]
    anew: bool = False


# The number of a memory, how often it was recalled, and when it was last recalled or accessed, in microseconds since
# 1970. A plain tuple: of very many, even a name costs too much.
UseCount: TypeAlias = tuple[int, int, int]


class Scored(NamedTuple):
    number: int
    score: float
    terms: bytes


class KeywordSearch(NamedTuple):
    """`terms` are packed as `perdure.text.entry` does it, `counts` made the scores. Not `complete`: time ran out."""

    best: list[Scored]
    counts: WordCounts
    complete: bool = True


class NumberSearch(NamedTuple):
    """Numbers of memories; `complete` is false when time ran out, and there may be others."""

    numbers: Sequence[int] = ()
    complete: bool = True


class Pending(NamedTuple):
    """A passage without a vector of the current generation."""

    namespace: str
    passage_hash: bytes
    passage: Passage


class Use(NamedTuple):
    """Counts to add to one memory's use, and when it was last used."""

    namespace: str
    number: int
    recalls: int
    recalled_at: datetime | None
    accesses: int
    accessed_at: datetime | None


class Link(NamedTuple):
    """The memory `source`, which has this `number`, names the memory `target` in its field `kind`."""

    number: int
    source: MemoryId
    kind: LinkKind
    target: MemoryId


class Review(NamedTuple):
    """A memory was retrieved, once or several times, and waits for its review. Of the ranks, 1 is the best."""

    namespace: str
    number: int
    rank: int
    first_at: datetime
    at: datetime


@value_class(kw_only=True)
class LogFilter:
    """Which lines of the log: all of what is given must fit. `before` and `after` are positions, exclusive.
    `request` is an idempotency key, which at most one line has.
    """

    batch: str | None = None
    session: str | None = None
    actor: str | None = None
    operation: Operation | None = None
    since: datetime | None = None
    until: datetime | None = None
    request: str | None = None
    before: int | None = None
    after: int | None = None


class About(NamedTuple):
    """What a transaction will ask first: what is known by this identity (its memory and its tombstone), what was
    written with this idempotency key, and the memory of this number with its last version.
    """

    identity: Identity | None = None
    request: str | None = None
    number: int | None = None


class Reader(Protocol):
    """One namespace at one moment: what others write meanwhile is not seen. A namespace that does not exist is empty.

    A read should be short, and its caller must not begin to write inside it: a store may make writers wait for readers.
    A reader ends with its block.
    """

    def find(self, reference: Reference) -> list[Record]:
        """Every memory the reference can mean, in any state. StoreDamaged when one of them cannot be read."""
        ...

    def by_number(self, number: int) -> Record | None:
        """The memory in any state. StoreDamaged, here and in the next two, when it is not as it was written."""
        ...

    def by_key(self, key: str) -> Record | None:
        """The memory in any state: a key is an identity for ever."""
        ...

    def by_content(self, identity: Identity) -> Record | None:
        """The active memory without a key that has this text in this scope, if there is one; of several the first."""
        ...

    def fetch(self, numbers: Sequence[int]) -> list[Record]:
        """In the order asked for; numbers that are gone or damaged are left out."""
        ...

    def page(self, filter: Filter, *, after: int | None, limit: int, newest: bool) -> list[Record]:
        """Ordered by number, from `after` on (exclusive). `since` of a filter is included, `until` is not. Damaged
        memories are left out, and others take their place: a page is shorter than `limit` only at the end.
        What `perdure.visibility.matches_filter` says holds: entries of metadata are compared as JSON, by type.
        """
        ...

    def numbers(self, filter: Filter) -> Sequence[int]:
        """The numbers of all memories that pass the filter, in no particular order."""
        ...

    def keys(self, prefix: str, *, limit: int, after: str = "", newest: bool = False) -> list[tuple[str, int]]:
        """The keys that begin so, of memories in any state, damaged ones too, each with the memory's number; by code
        points, ascending from `after` on (exclusive), or with `newest` the last ones, descending.
        """
        ...

    def damaged(self) -> list[int]:
        """The numbers of the memories, in any state, that reads leave out because they are not as they were written.
        This reads the whole namespace.
        """
        ...

    def revisions(self, number: int) -> list[Revision]:
        """The history of a memory, oldest first; also of a memory that is damaged itself."""
        ...

    def last_version(self, number: int) -> int:
        """The highest version this memory ever had, taken back or not; 0 when there is no such memory."""
        ...

    def log(self, filter: LogFilter, *, limit: int, newest: bool = True) -> list[Revision]:
        """Lines of the log, by position; `record` is the memory as each line left it."""
        ...

    def seq_at(self, moment: datetime) -> int:
        """The last position of the log that was written at or before this moment; 0 before the first."""
        ...

    def changed_after(self, seq: int, spec_folder: str | None = None) -> list[int]:
        """The numbers of the memories with a line after this position; of one folder: those that are in it now or were
        in it at the position.
        """
        ...

    def states_at(self, numbers: Sequence[int], seq: int) -> dict[int, Revision]:
        """For each memory its newest line at or before the position; memories that did not exist are left out."""
        ...

    def with_several_versions(self) -> list[int]:
        """The numbers of the memories that may be found and have had more than one version."""
        ...

    def tombstone_since(self, identity: Identity) -> datetime | None:
        """The time of the tombstone of this text, under this key or in this scope, if it has one."""
        ...

    def links(self, memory: MemoryId) -> list[Link]:
        """The memories that its fields name, and those whose fields name it, by number, kind and target. Values that
        are not ids are ignored. Links to erased memories stay, because an id reveals nothing.
        """
        ...

    def linked(
        self, memories: Collection[MemoryId], kinds: Collection[LinkKind] = LINK_KINDS, key_type: str | None = None
    ) -> list[Link]:
        """The links of these kinds to any of the memories, in the same order; with `key_type`, from such keys alone."""
        ...

    def keyword_search(
        self, words: Sequence[str], filter: Filter, now: datetime, limit: int, counts: WordCounts | None = None
    ) -> KeywordSearch:
        """The best memories by words alone, best first, of equal ones the newest; words as `query_words` gives them. A
        word that is made of several, such as `parseFile`, counts whole or, for less, in its parts.
        The score is BM25 as `perdure.text.bm25` defines it, over the namespace or the `counts` of several together.
        Of very many candidates some may not be looked at, and after a few seconds none any more. IndexDamaged, here
        and in `numbers_with_all`, when the words cannot be looked up on disk.
        """
        ...

    def word_counts(self, words: Sequence[str]) -> WordCounts:
        """The counts that `keyword_search` uses when it is given none."""
        ...

    def numbers_with_all(self, words: Sequence[str]) -> NumberSearch:
        """The memories that hold every one of the words, in whatever form; words as `all_words` gives them. A word that
        is made of several may also be held in its parts, in whatever order. Without a word, none.
        """
        ...

    def passage_vectors(self, generation: Generation, passage_hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """The vectors of passages, current or past, as far as there are any, as `put_vector` got them."""
        ...

    def load(self) -> Load:
        """How full the namespace is, and its own limits."""
        ...

    def capacity(self, rule: EvictionRule) -> CapacityStats: ...

    def eviction_candidates(self, rule: EvictionRule, limit: int) -> list[EvictionCandidate]:
        """Memories that may be found and are not protected, in the order in which they are evicted: superseded ones,
        then those of low importance, then the others; of each class the least recently used first.
        """
        ...


class Writer(Reader, Protocol):
    """One write transaction on one namespace. Everything that was decided before it began must be checked again inside
    it, by the same questions: a writer is a reader that sees its own changes.
    """

    def next_number(self) -> int:
        """Small, per namespace, never reused."""
        ...

    def put(self, record: Record, change: Change, entry: Entry) -> Record:
        """Write the record as it became, append the revision, refresh the indexes. Returns it with its new `seq`.
        InvalidInput when a text holds a NUL.
        """
        ...

    def put_vector(self, generation: Generation, passage_hash: bytes, vector: bytes) -> None:
        """Keep the vector of a passage that a memory has, or the vectors of its windows, one behind the other. Nothing
        happens when there is one already, or no such memory.
        """
        ...

    def put_vectors(self, generation: Generation, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        """The same for many, each with the hash of its passage; how many were kept."""
        ...

    def add_tombstone(self, identity: Identity, reason: str, at: datetime) -> None:
        """A tombstone for a text that must not come back from evidence older than `at`: in its scope without a key,
        and under its key if it has one; not where an active memory has it. It is kept as a keyed digest, from which
        neither the text nor its hash can be guessed; so the reason must not quote the text.
        """
        ...

    def lift_tombstone(self, identity: Identity) -> datetime | None:
        """The time of the tombstone that this text had there, if it had one."""
        ...

    def touch(self, number: int, at: datetime) -> None:
        """Note in this transaction that the memory was used; counts stay as they are."""
        ...

    def take_review(self, review: Review) -> bool:
        """Take a pending review away. False when it is not pending any more, or the memory was retrieved since."""
        ...

    def set_limits(self, max_items: int | None, max_tokens: int | None) -> None:
        """Limits of this namespace alone; None removes one."""
        ...

    def release_key(self, number: int) -> None:
        """Take its key off a memory that this transaction puts again, so that another can have it before. It is not a
        change of its own: without that `put` the memory would be damaged.
        """
        ...

    def drop_payloads(self, number: int, seqs: Collection[int] | None = None) -> None:
        """Remove what earlier revisions said; `seqs`: only those, without a trace, and the newest names them."""
        ...

    def unpark(self, id: int) -> None:
        """Remove parked output; its bytes are gone when the store was scrubbed."""
        ...

    def erase(self, number: int, change: Change, *, traceless: bool = True) -> None:
        """Remove the memory with everything that says what it said: record, payloads of all its revisions, index,
        tags, use, links from it, and the vectors of passages that no other memory has. Others name it as before.
        Appends a line without a payload. With `traceless` the bytes are gone from every file when the store was
        scrubbed.
        """
        ...


class IndexFeed(Protocol):
    """What fills a recall index, and tells it what changed."""

    def position(self, namespace: str, generation: Generation | None) -> Position: ...

    def index_rows(
        self,
        namespace: str,
        generation: Generation | None,
        after: int,
        limit: int,
        *,
        with_triggers: bool = False,
        categories: Sequence[str] = (),
        vectors: bool = True,
    ) -> Sequence[IndexRow]:
        """The indexed memories with a number above `after`, by number: how a recall index is first filled. With
        `with_triggers` only active memories that have trigger phrases and are not deprecated; with `categories` only
        memories of these. Without `vectors`, those that there are come empty.
        """
        ...

    def index_changes(self, namespace: str, generation: Generation | None, since: Position) -> IndexChanges:
        """What a recall index that stood at `since` has to change."""
        ...

    def use_counts(self, namespace: str, numbers: Sequence[int] | None = None) -> Sequence[UseCount]:
        """Of these memories, or of all; those that were never used are left out. Use is not in the log, so it is read
        whenever a recipe weighs it.
        """
        ...


class Generations(Protocol):
    """What is still to be embedded, in all namespaces, and which model's vectors answer: the first generation that gets
    a vector serves at once. `Writer.put_vector` takes the vectors.
    """

    def pending(self, generation: Generation, limit: int, start: bytes = b"") -> list[Pending]:
        """Passages without a vector of this generation; those of damaged memories are left out. Those whose hash is
        `start` or above come first, so that several processes can begin at different places.
        """
        ...

    def pending_count(self, generation: Generation) -> int: ...

    def serving_generation(self) -> Generation | None:
        """The generation whose vectors answer. It costs nothing: a store knows it from the last `position` or write,
        so that a change by another process is seen with the next one.
        """
        ...

    def serve(self, generation: Generation, without: Collection[bytes] = ()) -> bool:
        """Make this generation serve, if every passage that can be read, but for some, has a vector of it."""
        ...

    def generations(self) -> list[GenerationStats]: ...

    def drop_vectors(self, generation: Generation, limit: int) -> int:
        """Delete so many vectors at most, and with the last the generation; how many. The serving one is a Conflict."""
        ...

    def calibration(self, generation: Generation) -> float | None:
        """The cosine that unrelated texts usually have with this model, if it was measured."""
        ...

    def put_calibration(self, generation: Generation, unrelated: float) -> None:
        """What was measured first stays."""
        ...


class ProviderCalls(Protocol):
    """The list of what left this machine, without a word of any text. Calls of more than 400 days ago are dropped."""

    def record_calls(self, calls: Sequence[ProviderCall]) -> None:
        """It never waits and never fails, as `note_use`."""
        ...

    def calls(self, since: datetime | None, limit: int | None = None) -> list[ProviderCall]:
        """Newest first; without a limit, all."""
        ...

    def calls_total(self, since: datetime) -> tuple[int, float]:
        """How many tokens were sent and received, and what they cost, as far as that is known."""
        ...


class ParkedOutput(Protocol):
    """What language models said that could not be used. Erasing a memory erases what is parked about it, and erasing
    the last one of a namespace everything that is parked there.
    """

    def park(
        self, namespace: str, *, purpose: str, memory: int | None, model: str, error: str, output: str, attempts: int,
        at: datetime,
    ) -> Parked | None:  # fmt: skip
        """It takes the place of what is parked for the same purpose about the same memory. None, and nothing is kept,
        when there is no such memory or namespace any more. A model may say anything: what no text holds is replaced.
        """
        ...

    def parked(self, namespace: str) -> list[Parked]:
        """Oldest first."""
        ...

    def unpark(self, namespace: str, id: int) -> bool: ...


class Maintenance(Protocol):
    """What keeps a store in order, in all namespaces."""

    def due(self, now: datetime, limit: int) -> list[Record]:
        """Active memories whose `expires_at` has come."""
        ...

    def purgeable(self, until: datetime, limit: int, *, by_models: bool = False) -> list[Record]:
        """Memories that were evicted at or before this moment. Those that a model evicted, or changed since, are left
        out, unless `by_models` is given.
        """
        ...

    def write_times_after(self, moment: datetime) -> list[datetime]:
        """When something was written after this moment, ascending; one of each hour is enough."""
        ...

    def note_use(self, uses: Sequence[Use]) -> None:
        """Count use. It never waits and never fails: every reader in this process sees it at once, other processes
        within two seconds.
        """
        ...

    def flush_use(self, *, patience: float) -> bool:
        """Make other processes see now what was counted, waiting at most `patience` seconds. False when the store is
        busy, full or cannot be written: then the counts are kept for the next time. Whether it waits for other
        writers of the namespace is up to the store.
        """
        ...

    def note_reviews(self, reviews: Sequence[Review]) -> None:
        """Keep them until they are taken, as `note_use` counts; of one memory the best rank and both ends of time."""
        ...

    def pending_reviews(self, namespace: str) -> list[Review]:
        """Those that were noted and not taken, oldest first. After `flush_use` none is missing."""
        ...

    def note(self, name: str, namespace: str | None = None) -> str | None:
        """A remark that the engine keeps about a namespace, or about the store as a whole."""
        ...

    def put_note(self, name: str, value: str, namespace: str | None = None) -> None: ...

    def lease(self, name: str, owner: str, seconds: float) -> bool:
        """Take or renew the lease of this name for this many seconds, unless another owner has it, so that only one
        process at a time does a piece of work. With 0 seconds its owner gives it back.
        """
        ...

    def stats(self, generation: Generation | None) -> StoreStats: ...


class Checkpoints(Protocol):
    def put_checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        """Keep the name for the position at which the log stands inside this one write; `positions` and `memories` of
        what is given do not count. A name that is taken is a Conflict.
        """
        ...

    def checkpoints(self, namespace: str) -> list[Checkpoint]:
        """Those of the namespace and those of everything, newest first."""
        ...

    def delete_checkpoint(self, namespace: str | None, name: str) -> bool: ...


class Store(IndexFeed, Generations, ProviderCalls, ParkedOutput, Maintenance, Checkpoints, Protocol):
    """Everything that every store does. One namespace never sees another."""

    @property
    def address(self) -> str:
        """Where it is, for people: a path, or an address without a password."""
        ...

    def read(self, namespace: str) -> AbstractContextManager[Reader]: ...

    def write(
        self, namespace: str, about: Sequence[About] = (), *, frees_space: bool = False
    ) -> AbstractContextManager[Writer]:
        """Commits on leaving; an exception leaves everything as it was. A store that is far away may answer what the
        transaction is `about` together with its beginning; it changes no answer. A transaction that frees space may use
        what the store keeps in reserve, if it keeps any: after a StoreFull it deserves a second attempt.
        """
        ...

    def write_together(
        self, namespaces: Sequence[str], *, patience: float | None = None
    ) -> AbstractContextManager[Sequence[Writer]]:
        """One transaction on several namespaces, a writer for each. `patience`: seconds to wait for another writer."""
        ...

    def namespaces(self) -> list[str]: ...

    def close(self) -> None:
        """Whatever use was counted is written first, unless that has to wait."""
        ...
