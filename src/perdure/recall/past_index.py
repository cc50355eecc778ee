"""A namespace at an earlier time, as the difference from what it is now: the log says what was otherwise.

What is still as it was comes from the index of today, the rest from a small index beside it. Use is not history:
records of the past carry none, and asking about the past counts as none.
"""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.clock import to_micros
from perdure.embed.port import Generation
from perdure.lineage import true_at
from perdure.model import INDEXED_STATES, Filter, Record, replace_record, without_use
from perdure.store.port import IndexRow, Position, Reader, Store
from perdure.text.entry import entry_of
from perdure.text.introductions import find_introduction
from perdure.text.question_share import question_share
from perdure.visibility import kind_of, matches_filter, places_of

if TYPE_CHECKING:
    from perdure.recall.index import Snapshot

LOST: Final = "Memories that cannot be shown as they were, because their text was erased or not kept: {}."

# After one of these a memory could not be found, whatever it said.
_ENDS: Final = frozenset({"forget", "expire", "evict", "erase"})
_TRUE_STATES: Final = frozenset({*INDEXED_STATES, "expired", "evicted"})
_INDEXES_KEPT: Final = 4


class PastRecord(NamedTuple):
    """A memory as it was, and the times, if any, between which it may be found."""

    record: Record
    valid_from: datetime | None
    valid_until: datetime | None
    expires_at: datetime | None

    def index_row(self, words: bytes, vector: bytes | None) -> IndexRow:
        """As the store's feed tells it of the memories of today."""
        record, metadata = self.record, self.record.metadata
        speaker, stability = metadata.get("speaker"), metadata.get("stability")
        window = (self.valid_from, self.valid_until, self.expires_at)
        valid_from, valid_until, expires_at = (moment and to_micros(moment) for moment in window)
        return IndexRow(
            record.number,
            words,
            vector,
            record.state == "active",
            record.tier,
            kind_of(record.key or ""),
            valid_from,
            valid_until,
            expires_at,
            dated=to_micros(record.valid_at or record.created_at),
            updated_at=to_micros(record.updated_at),
            category=record.category,
            observations=record.observation_count,
            confidence=record.confidence,
            importance=record.importance,
            anchor=record.anchor_id,
            conversation=record.conversation_id,
            session=record.session_id,
            speaker=speaker if isinstance(speaker, str) else None,
            question_share=0.0 if record.conversation_id is None else question_share(record.text),
            stability=stability if isinstance(stability, int | float) and not isinstance(stability, bool) else None,
            trigger_phrases=record.trigger_phrases,
            introduction=None if record.conversation_id is None else find_introduction(record.text),
            has_low_trust=record.trust == "low",
            told_in=None if (places := places_of(record)) is None else json.dumps(places, ensure_ascii=False),
        )


@dataclass(frozen=True, slots=True)
class Past:
    """`changed` are the memories whose present form does not count, `old` those of them that could be found, as they
    were. All others are what they are now. `lost` counts those of which it cannot be said what they were.
    """

    seq: int
    changed: frozenset[int]
    old: Mapping[int, PastRecord]
    lost: int = 0

    def matching(self, filter: Filter) -> list[int]:
        """The memories that were otherwise, and passed the filter as they were."""
        return [number for number, past in self.old.items() if matches_filter(past.record, filter)]

    def rows(self, reader: Reader, generation: Generation | None) -> list[IndexRow]:
        """What an index of that time would have held of them."""
        entries = [(past, entry_of(past.record)) for past in self.old.values()]
        vectors: Mapping[bytes, bytes] = {}
        if generation and entries:
            vectors = reader.passage_vectors(
                generation, list(dict.fromkeys(entry.passage_hash for _, entry in entries))
            )
        return [past.index_row(entry.terms, vectors.get(entry.passage_hash)) for past, entry in entries]

    def records(self, store: Store, namespace: str, numbers: Sequence[int]) -> list[Record]:
        """Those that changed since this was made come from the log, as they were before that."""
        records = [self.old[number].record for number in numbers if number in self.old]
        with store.read(namespace) as reader:
            same = reader.fetch([number for number in numbers if number not in self.old])
            changed = [record.number for record in same if record.seq > self.seq]
            lines = reader.states_at(changed, self.seq).values() if changed else ()
        records += (without_use(record) for record in same if record.seq <= self.seq)
        return records + [without_use(line.record) for line in lines if line.record]


def look_back(reader: Reader, seq: int, as_of: datetime | None, *, known_then: bool) -> Past:
    """Memories whose record at log position `seq`, or whose version that was true at `as_of`, differs from today's.
    `known_then`: the question is about what was known at `seq`.

    Whatever is compared with it has to be read first: what is written meanwhile counts as changed.
    """
    changed = reader.changed_after(seq) if known_then else []
    several_versions = reader.with_several_versions() if as_of is not None else []
    numbers = list(dict.fromkeys((*changed, *several_versions)))
    old: dict[int, PastRecord] = {}
    lost = 0
    for number, line in reader.states_at(numbers, seq).items():
        record = line.record
        if record.state not in INDEXED_STATES if record else line.change.operation in _ENDS:
            continue
        if as_of is None:
            if record is None:
                lost += 1
            else:
                old[number] = PastRecord(record, record.valid_at, record.invalid_at, record.expires_at)
            continue
        lines = (
            [line]
            if line.version == 1
            else [earlier for earlier in reader.revisions(number) if earlier.seq <= line.seq]
        )
        true = true_at(lines, as_of)
        if true is None:
            continue
        version = true.record
        if version is None:
            lost += 1
        elif version.state in _TRUE_STATES:
            # One that expired or was evicted since was true all the same; one that was forgotten was not.
            version = version if version.state in INDEXED_STATES else replace_record(version, state="active")
            old[number] = PastRecord(version, None, None, record and record.expires_at)
    return Past(seq, frozenset(numbers), old, lost)


class PastIndex(NamedTuple):
    """What is still as it was, and what was otherwise."""

    past: Past
    same: Snapshot
    changed: Snapshot


class _Key(NamedTuple):
    namespace: str
    generation: Generation | None
    position: Position
    seq: int
    as_of: datetime | None
    known_then: bool


class PastIndexCache:
    """The past does not change, but what is still as it was does: an index of the past serves until the next write."""

    def __init__(self, store: Store, present: Callable[[str, Generation | None], Snapshot]) -> None:
        self._store = store
        self._present = present
        self._lock = threading.Lock()
        self._indexes: OrderedDict[_Key, PastIndex] = OrderedDict()

    def index(
        self, namespace: str, generation: Generation | None, as_of: datetime | None, known_at: datetime | None
    ) -> PastIndex:
        from perdure.recall.index import NamespaceIndex

        present = self._present(namespace, generation)
        with self._store.read(namespace) as reader:
            seq = present.position.seq
            if known_at is not None:
                seq = min(seq, reader.seq_at(known_at))
            key = _Key(namespace, generation, present.position, seq, as_of, known_at is not None)
            with self._lock:
                index = self._indexes.get(key)
            if index is None:
                past = look_back(reader, seq, as_of, known_then=known_at is not None)
                changed = NamespaceIndex(namespace, generation).filled(past.rows(reader, generation))
                index = PastIndex(past, present.without(list(past.changed)), changed)
        with self._lock:
            for other in [kept for kept in self._indexes if kept[:2] == key[:2] and kept.position != key.position]:
                del self._indexes[other]
            self._indexes[key] = index
            self._indexes.move_to_end(key)
            while len(self._indexes) > _INDEXES_KEPT:
                self._indexes.popitem(last=False)
        return index

    def drop(self, namespace: str) -> None:
        with self._lock:
            for key in [kept for kept in self._indexes if kept.namespace == namespace]:
                del self._indexes[key]
