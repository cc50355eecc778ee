"""A namespace at an earlier time, as the difference from what it is now: the log says what was otherwise.

Use is not history: records of the past carry none, and asking about the past counts as none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, NamedTuple

from perdure.clock import to_micros
from perdure.embed.port import Generation
from perdure.lineage import true_at
from perdure.model import INDEXED_STATES, Filter, Record, Revision, replace_record
from perdure.recall.scope import passes
from perdure.store.port import IndexRow, Store, TurnInfo
from perdure.text.entry import entry_of, passage_hash
from perdure.text.question_share import question_share

LOST: Final = "Memories that cannot be shown as they were, because their text was erased or not kept: {}."

# After one of these a memory could not be found, whatever it said.
_ENDS: Final = frozenset({"forget", "expire", "evict", "erase"})
_UNUSED: Final = {"recall_count": 0, "recalled_at": None, "access_count": 0, "accessed_at": None}
_UNKNOWN: Final = object()


@dataclass(frozen=True, slots=True)
class When:
    """About which time a question is. `as_of`: what was true then. `known_at`: what was known then, right or wrong."""

    as_of: datetime | None = None
    known_at: datetime | None = None

    @property
    def is_past(self) -> bool:
        return self.as_of is not None or self.known_at is not None

    def true(self, now: datetime) -> datetime:
        """The moment at which a memory must have been true. What was known then, was known about then."""
        return self.as_of or self.known_at or now

    def known(self, now: datetime) -> datetime:
        return self.known_at or now


PRESENT: Final = When()


class Old(NamedTuple):
    """A memory as it was. `since` and `until` are the times, if any, between which it may be found."""

    record: Record
    since: datetime | None
    until: datetime | None


@dataclass(frozen=True, slots=True)
class Past:
    """`changed` are the memories whose present form does not count, `old` those of them that could be found, as they
    were. All others are what they are now. `lost` counts those of which it cannot be said what they were.
    """

    seq: int
    changed: frozenset[int]
    old: Mapping[int, Old]
    lost: int = 0

    def matching(self, filter: Filter) -> list[int]:
        """As the store's own, of the memories that were otherwise."""
        return [number for number, one in self.old.items() if passes(filter, one.record)]

    def expired(self, numbers: Sequence[int]) -> Sequence[int]:
        """Of what was true then only the time is known at which it expires."""
        return numbers

    def seen(self, numbers: Sequence[int]) -> Sequence[Record]:
        return [self.old[number].record for number in numbers if number in self.old]

    def rows(self, store: Store, namespace: str, generation: Generation | None) -> list[IndexRow]:
        """What an index of the time would have held of them."""
        hashes = {number: passage_hash(one.record) for number, one in self.old.items()}
        wanted = list(dict.fromkeys(hashes.values())) if generation else []
        vectors = store.passage_vectors(namespace, generation, wanted) if generation and wanted else {}
        return [
            IndexRow(
                number,
                one.record.state == "active" and one.record.tier != "deprecated",
                None if one.since is None else to_micros(one.since),
                None if one.until is None else to_micros(one.until),
                entry_of(one.record).terms,
                vectors.get(hashes[number]),
                _told(one.record),
            )
            for number, one in self.old.items()
        ]

    def records(self, store: Store, namespace: str, numbers: Sequence[int]) -> Iterator[Record]:
        """Those that changed since this was made come from the log, as they were before that."""
        yield from (self.old[number].record for number in numbers if number in self.old)
        same = store.fetch(namespace, [number for number in numbers if number not in self.old])
        yield from (unused(record) for record in same if record.seq <= self.seq)
        changed = [record.number for record in same if record.seq > self.seq]
        lines = store.states_at(namespace, changed, self.seq).values() if changed else ()
        yield from (unused(line.record) for line in lines if line.record)


def _told(record: Record) -> TurnInfo | None:
    """As the store tells it of the memories of today."""
    speaker = record.metadata.get("speaker")
    if record.conversation_id is None:
        return TurnInfo(speaker=speaker) if isinstance(speaker, str) else None
    spoken = speaker if isinstance(speaker, str) else None
    return TurnInfo(record.conversation_id, record.session_id, spoken, question_share(record.text))


def unused(record: Record) -> Record:
    return replace_record(record, **_UNUSED)


def look_back(store: Store, namespace: str, when: When, seq: int) -> Past:
    """The memories that were otherwise when the log stood at `seq`, or of which another version was true.

    Whoever compares it with what is there now has to have read that first: what is written meanwhile counts as changed.
    """
    changed = store.changed_after(namespace, seq) if when.known_at is not None else []
    multi_version_numbers = store.multi_version_numbers(namespace) if when.as_of is not None else []
    numbers = list(dict.fromkeys((*changed, *multi_version_numbers)))
    old: dict[int, Old] = {}
    lost = 0
    for number, line in store.states_at(namespace, numbers, seq).items():
        if _could_be_found(line):
            found = _known(line) if when.as_of is None else _true(_lines(store, line), when.as_of)
            if isinstance(found, Old):
                old[number] = found
            lost += found is _UNKNOWN
    return Past(seq, frozenset(numbers), old, lost)


def _could_be_found(line: Revision) -> bool:
    return line.record.state in INDEXED_STATES if line.record else line.change.operation not in _ENDS


def _lines(store: Store, newest: Revision) -> list[Revision]:
    """The history of a memory up to this line; a first version needs no other."""
    if newest.version == 1:
        return [newest]
    return [line for line in store.revisions(newest.namespace, newest.number) if line.seq <= newest.seq]


def _known(line: Revision) -> Old | object:
    record = line.record
    if record is None:
        return _UNKNOWN
    ends = [moment for moment in (record.invalid_at, record.expires_at) if moment]
    return Old(record, record.valid_at, min(ends, default=None))


def _true(lines: Sequence[Revision], moment: datetime) -> Old | object | None:
    """The version that was true, unless it was forgotten before the next one came."""
    line, newest = true_at(lines, moment), lines[-1].record
    if line is None:
        return None
    record = line.record
    if record is None:
        return _UNKNOWN
    if record.state in {"expired", "evicted"}:  # it was true all the same
        record = replace_record(record, state="active")
    return Old(record, None, newest and newest.expires_at) if record.state in INDEXED_STATES else None


def page_at(
    store: Store, namespace: str, filter: Filter, seq: int, *, after: int | None, limit: int, newest: bool
) -> list[Record]:
    """As the store's own page, when the log stood at `seq`."""
    same = _still_so(store, namespace, filter, seq, after=after, limit=limit, newest=newest)
    # Read after the pages, so that what changes meanwhile counts as changed.
    lines = store.states_at(namespace, store.changed_after(namespace, seq), seq)
    found = [unused(record) for record in same if record.number not in lines]
    found += (line.record for line in lines.values() if line.record and passes(filter, line.record))
    if after is not None:
        found = [record for record in found if (record.number < after if newest else record.number > after)]
    return sorted(found, key=lambda record: record.number, reverse=newest)[:limit]


def _still_so(
    store: Store, namespace: str, filter: Filter, seq: int, *, after: int | None, limit: int, newest: bool
) -> list[Record]:
    found: list[Record] = []
    while len(found) < limit:
        page = store.page(namespace, filter, after=after, limit=limit, newest=newest)
        found += (record for record in page if record.seq <= seq)
        if len(page) < limit:
            break
        after = page[-1].number
    return found
