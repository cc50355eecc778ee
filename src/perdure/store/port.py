"""What a store must do, said without a word about how. `perdure.testing.conformance` is this page as tests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple, Protocol

from perdure.embed.port import Generation
from perdure.ids import ContentHash, Reference
from perdure.model import Change, Filter, Finding, Record, Revision
from perdure.text.entry import Entry


@dataclass(frozen=True, slots=True)
class Position:
    """How far a reader has read: the log of the namespace, and the vectors of one generation."""

    seq: int = 0
    vector: int = 0


class IndexRow(NamedTuple):
    """One memory as the recall index keeps it. `visible` is false for what ordinary recall must not show."""

    number: int
    visible: bool
    valid_from: int | None
    valid_until: int | None
    terms: bytes
    vector: bytes | None


@dataclass(frozen=True, slots=True)
class IndexChanges:
    """What changed between two positions: rows that are new or different, and numbers that are gone."""

    rows: Sequence[IndexRow]
    removed: Sequence[int]


class Scored(NamedTuple):
    number: int
    score: float


class Pending(NamedTuple):
    """A passage without a vector of the current generation."""

    namespace: str
    passage_hash: bytes
    passage: str


class Use(NamedTuple):
    """Counts to add to one memory's use, and when it was last used."""

    namespace: str
    number: int
    recalls: int
    recalled_at: datetime | None
    accesses: int
    accessed_at: datetime | None


@dataclass(frozen=True, slots=True)
class NamespaceStats:
    name: str
    states: dict[str, int]
    categories: dict[str, int]
    revisions: int
    pending: int
    oldest: datetime | None
    newest: datetime | None


@dataclass(frozen=True, slots=True)
class StoreStats:
    location: str
    engine: str
    schema: int
    bytes: int
    namespaces: tuple[NamespaceStats, ...]


class Writer(Protocol):
    """One write transaction on one namespace. What was decided before it began must be checked again inside it."""

    def by_number(self, number: int) -> Record | None: ...

    def by_key(self, key: str) -> Record | None:
        """Whatever its state: a key is an identity for ever."""
        ...

    def by_content(self, content_hash: ContentHash) -> Record | None:
        """The active memory without a key that says the same, if there is one."""
        ...

    def by_request(self, request: str) -> Record | None:
        """The memory that an earlier call with this idempotency key wrote."""
        ...

    def next_number(self) -> int:
        """Small, per namespace, never reused."""
        ...

    def put(self, record: Record, change: Change, entry: Entry) -> Record:
        """Write the record as it became, append the revision, refresh the index. Answers it with its new `seq`."""
        ...

    def put_vector(self, generation: Generation, passage_hash: bytes, vector: bytes) -> None:
        """Keep the vector of a passage, unless there is one already."""
        ...


class Store(Protocol):
    """Namespace is a required argument everywhere: one namespace never sees another."""

    def write(self, namespace: str) -> AbstractContextManager[Writer]:
        """Commits on leaving; an exception leaves everything as it was."""
        ...

    def find(self, namespace: str, reference: Reference) -> list[Record]:
        """Every memory the reference can mean, in any state."""
        ...

    def fetch(self, namespace: str, numbers: Sequence[int]) -> list[Record]:
        """In the order asked for; numbers that are gone are left out."""
        ...

    def page(self, namespace: str, filter: Filter, *, after: int | None, limit: int, newest: bool) -> list[Record]:
        """Ordered by number, from `after` on (exclusive). `since` of a filter is included, `until` is not."""
        ...

    def matching(self, namespace: str, filter: Filter) -> Sequence[int]:
        """The numbers of all memories that pass, in no particular order."""
        ...

    def revisions(self, namespace: str, number: int) -> list[Revision]:
        """Oldest first."""
        ...

    def keyword(self, namespace: str, words: Sequence[str], filter: Filter, now: datetime, limit: int) -> list[Scored]:
        """The best memories by words alone, best first; words as `query_words` gives them. The score is BM25 as
        `perdure.text.bm25` defines it, over the namespace. Of very many candidates some may not be looked at.
        """
        ...

    def position(self, namespace: str, generation: Generation | None) -> Position: ...

    def index_rows(self, namespace: str, generation: Generation | None, after: int, limit: int) -> Sequence[IndexRow]:
        """The indexed memories with a number above `after`, by number: how a recall index is first filled."""
        ...

    def index_changes(self, namespace: str, generation: Generation | None, since: Position) -> IndexChanges:
        """What a recall index that stood at `since` has to change."""
        ...

    def pending(self, generation: Generation, namespaces: Sequence[str] | None, limit: int) -> list[Pending]:
        """Passages without a vector of this generation; of every namespace when None."""
        ...

    def put_vectors(self, generation: Generation, vectors: Sequence[tuple[str, bytes, bytes]]) -> int:
        """(namespace, passage hash, vector) rows in one transaction; passages erased meanwhile are left out."""
        ...

    def pending_count(self, generation: Generation) -> int: ...

    def note_use(self, uses: Sequence[Use], *, patience: float) -> bool:
        """Add to the use counters, waiting at most `patience` seconds for a writer; false when it had to give up."""
        ...

    def namespaces(self) -> list[str]: ...

    def stats(self, generation: Generation | None) -> StoreStats: ...

    def check(self) -> Iterator[Finding]:
        """Look at everything that can be wrong, one finding per check."""
        ...

    def repair(self) -> Iterator[Finding]:
        """Rebuild what is derived (index, counters) from the records; never touches a record or the log."""
        ...

    def close(self) -> None: ...
