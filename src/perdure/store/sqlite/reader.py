"""Everything that can be read of one namespace: memories, their history, words, vectors, and how full it is."""

from __future__ import annotations

import json
import unicodedata
from array import array
from collections.abc import Collection, Mapping, Sequence
from datetime import datetime
from itertools import islice
from typing import Final, Never, cast

from perdure.clock import from_micros, to_micros
from perdure.embed.port import Generation
from perdure.errors import StoreDamaged
from perdure.ids import MemoryId, Reference
from perdure.model import BY_MODEL, NOTHING, Change, EvictionCandidate, Filter, Identity, Record, Revision
from perdure.store.capacity import CapacityStats, EvictionRule, Load
from perdure.store.hash_chain import TombstoneDigests, tombstone_digests
from perdure.store.links import decode_links
from perdure.store.port import LINK_KINDS, KeywordSearch, Link, LinkKind, LogFilter, NumberSearch
from perdure.store.rows import (
    ALL_WRITTEN,
    NUMBER_MASK,
    RESTORE,
    Row,
    Unwritten,
    Value,
    decode_payload,
    decode_row,
    decode_sound,
    has_dimensions,
    is_sound,
    is_sound_vector,
    newest_time,
    pack_id,
    pack_name,
    range_of,
    slot_of,
    unpack_id,
    unpack_name,
)
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.filters import conditions
from perdure.store.sqlite.row_scan import UNREADABLE, rows_after
from perdure.store.sqlite.sql import SQL
from perdure.text.bm25 import WordCounts

_SELECT: Final = SQL["select_memory"]
_SELECT_SLOT: Final = SQL["select_slot"]
_ALL_AFTER: Final = f"{_SELECT} {SQL['all_after']}"
_SLOT_AFTER: Final = f"{_SELECT_SLOT} {SQL['all_after']}"
_BY_SLOT: Final = f"{_SELECT} {SQL['by_slot']}"
_BY_SLOTS: Final = f"{_SELECT} {SQL['by_slots']}"
_BY_ID: Final = f"{_SELECT_SLOT} {SQL['by_id']}"
_BY_KEY: Final = f"{_SELECT_SLOT} {SQL['by_key']}"
_BY_HASH: Final = f"{_SELECT_SLOT} {SQL['by_hash']}"
_BY_CONTENT: Final = f"{_SELECT_SLOT} {SQL['by_content']}"
_LINES: Final = SQL["select_lines"]
_LINES_OF_MEMORY: Final = f"{_LINES} {SQL['lines_of_memory']}"
_LINES_AT: Final = f"{_LINES} {SQL['lines_at']}"
_LINE_FIELDS: Final = ("session", "actor", "operation", "request", "before", "after")
_LINE_TIMES: Final = ("since", "until")
# How many numbers one statement is given.
_NUMBERS_PER_STATEMENT: Final = 10_000
# Eviction first compares the oldest few of a class, and only if these do not settle it, all.
EVICTION_WINDOW: Final = 500
_ALL: Final = 1 << 62

# The id of a namespace that does not exist; ids begin at 1, so every statement finds nothing under it.
NO_NAMESPACE: Final = 0
# The id of a generation that no vector has yet, so that everything is pending.
NO_GENERATION: Final = -1


def generation_id(connection: Database, generation: Generation | None) -> int:
    generation_key = generation and connection.execute(SQL["generation_id"], (generation.name,)).get
    return generation_key or NO_GENERATION


class _Ended:
    def execute(self, *_: object) -> Never:
        raise RuntimeError("the transaction has ended")


class SqliteReader:
    """A namespace, by its id and its name, as one connection sees it in one transaction."""

    def __init__(
        self, connection: Database, namespace: int, name: str, unwritten: Mapping[int, Unwritten] = ALL_WRITTEN
    ) -> None:
        self._connection = connection
        self._unwritten = unwritten
        self.namespace_id = namespace
        self._name = name
        self._secret: object = None

    def end(self) -> None:
        """After its transaction the connection serves others, and every statement would be a transaction of its own."""
        self._connection = cast("Database", _Ended())

    def find(self, reference: Reference) -> list[Record]:
        """Each way to read the reference; a memory that several ways lead to counts once."""
        records: list[Record] = []

        def with_value(sql: str, value: Value) -> list[Record]:
            slots = self._connection.execute(sql, (self.namespace_id, value)).fetchall()
            return [record for (slot,) in slots if (record := self._at(slot))]

        try:
            if reference.number is not None and (record := self.by_number(reference.number)):
                records.append(record)
            if reference.id is not None:
                records += with_value(_BY_ID, pack_id(reference.id))
            if reference.hash is not None:
                same = with_value(_BY_HASH, bytes.fromhex(reference.hash))
                records += [record for record in same if record.state == "active"] or same
            # A key with half of a surrogate pair cannot be stored, so no memory has it.
            key = reference.key
            if key is not None and (key.isascii() or key.encode("utf-8", "replace").decode() == key):
                records += with_value(_BY_KEY, key) or with_value(_BY_KEY, unicodedata.normalize("NFD", key))
        except UNREADABLE as error:
            message = f"Memory {reference.text!r:.80} of {self._name!r} cannot be read."
            raise StoreDamaged(message, remedy=RESTORE) from error
        return list({record.number: record for record in records}.values())

    def by_number(self, number: int) -> Record | None:
        return self._at(slot_of(self.namespace_id, number)) if 0 < number <= NUMBER_MASK else None

    def by_key(self, key: str) -> Record | None:
        """Stores of before have keys whose letters and accents stand apart."""
        found = self._at(self._connection.execute(_BY_KEY, (self.namespace_id, key)).get)
        if found is None and not key.isascii():
            apart = unicodedata.normalize("NFD", key)
            found = self._at(self._connection.execute(_BY_KEY, (self.namespace_id, apart)).get)
        return found

    def by_content(self, identity: Identity) -> Record | None:
        text, _, *scope = identity
        return self._at(self._connection.execute(_BY_CONTENT, (self.namespace_id, bytes.fromhex(text), *scope)).get)

    def _at(self, slot: int | None) -> Record | None:
        """Slots are looked up first: mostly there is none, and the whole row's statement costs ten times as much."""
        rows = self._connection.execute(_BY_SLOT, (slot,)).fetchall() if slot is not None else None
        return decode_row(rows[0], self._name, self._unwritten) if rows else None

    def sound(self, slot: int) -> Record | None:
        """The memory, unless it is damaged or gone."""
        try:
            return self._at(slot)
        except (StoreDamaged, *UNREADABLE):
            return None

    def fetch(self, numbers: Sequence[int]) -> list[Record]:
        slots = [slot_of(self.namespace_id, number) for number in numbers if 0 < number <= NUMBER_MASK]
        rows: list[Row] = []
        try:
            rows = self._connection.execute(_BY_SLOTS, (json.dumps(slots),)).fetchall()
        except UNREADABLE:
            for slot in slots:
                try:
                    rows += self._connection.execute(_BY_SLOT, (slot,)).fetchall()
                except UNREADABLE:
                    continue
        records = {row[0] & NUMBER_MASK: decode_sound(row, self._name, self._unwritten) for row in rows}
        return [record for number in numbers if (record := records.get(number))]

    def page(self, filter: Filter, *, after: int | None, limit: int, newest: bool) -> list[Record]:
        first, last = range_of(self.namespace_id)
        if after is not None:
            slot = slot_of(self.namespace_id, max(0, min(after, NUMBER_MASK)))
        else:
            slot = last + 1 if newest else first
        where, bindings = conditions(self.namespace_id, filter)
        where += f" AND {SQL['below' if newest else 'above']} {SQL['newest_first' if newest else 'oldest_first']}"
        records: list[Record] = []
        while (missing := limit - len(records)) > 0:
            bindings["limit"] = missing
            statements = (f"{_SELECT} {where}", f"{_SELECT_SLOT} {where}")
            rows = list(islice(rows_after(self._connection, slot, *statements, bindings), missing))
            records += [record for _, row in rows if (record := decode_sound(row, self._name, self._unwritten))]
            if len(rows) < missing:
                break
            slot = rows[-1][0]
        return records

    def numbers(self, filter: Filter) -> Sequence[int]:
        where, bindings = conditions(self.namespace_id, filter)
        numbers: str = self._connection.execute(f"{SQL['matching']} {where}", bindings).get
        return array("q", json.loads(numbers))

    def keys(self, prefix: str, *, limit: int, after: str = "", newest: bool = False) -> list[tuple[str, int]]:
        bindings = {"namespace": self.namespace_id, "prefix": prefix, "after": after, "limit": max(0, limit)}
        rows = self._connection.execute(SQL["last_keys_of" if newest else "keys_of"], bindings)
        return [(key, slot & NUMBER_MASK) for key, slot in rows]

    def damaged(self) -> list[int]:
        first, last = range_of(self.namespace_id)
        rows = rows_after(self._connection, first, _ALL_AFTER, _SLOT_AFTER, {"last": last, "limit": -1})
        return [slot & NUMBER_MASK for slot, row in rows if row is None or not is_sound(row)]

    def revisions(self, number: int) -> list[Revision]:
        return self._lines(_LINES_OF_MEMORY, {"number": number})

    def last_version(self, number: int) -> int:
        return self._connection.execute(SQL["last_version"], (self.namespace_id, number)).get

    def log(self, filter: LogFilter, *, limit: int, newest: bool = True) -> list[Revision]:
        clauses = [SQL["lines_of_namespace"]]
        bindings: dict[str, Value] = {"limit": max(0, limit)}
        for name in _LINE_FIELDS:
            if (value := getattr(filter, name)) is not None:
                clauses.append(SQL[f"lines_{name}"])
                bindings[name] = value
        for name in _LINE_TIMES:
            if (moment := getattr(filter, name)) is not None:
                clauses.append(SQL[f"lines_{name}"])
                bindings[name] = to_micros(moment)
        if filter.batch is not None:
            clauses.append(SQL["lines_batch"])
            bindings["batch"] = pack_name(filter.batch)
        order = SQL["lines_newest_first" if newest else "lines_oldest_first"]
        return self._lines(f"{_LINES} {' AND '.join(clauses)} {order}", bindings)

    def seq_at(self, moment: datetime) -> int:
        return self._connection.execute(SQL["seq_at"], (self.namespace_id, to_micros(moment))).get or 0

    def changed_after(self, seq: int, spec_folder: str | None = None) -> list[int]:
        sql = SQL["changed_after" if spec_folder is None else "changed_in_folder"]
        bindings: dict[str, Value] = {"namespace": self.namespace_id, "seq": seq}
        if spec_folder is not None:
            bindings["folder"] = spec_folder
        return [number for (number,) in self._connection.execute(sql, bindings)]

    def states_at(self, numbers: Sequence[int], seq: int) -> dict[int, Revision]:
        valid = [number for number in numbers if 0 < number <= NUMBER_MASK]
        states: dict[int, Revision] = {}
        for first in range(0, len(valid), _NUMBERS_PER_STATEMENT):
            portion = json.dumps(valid[first : first + _NUMBERS_PER_STATEMENT])
            states |= {line.number: line for line in self._lines(_LINES_AT, {"numbers": portion, "seq": seq})}
        return states

    def _lines(self, sql: str, bindings: dict[str, Value]) -> list[Revision]:
        """The rows of `select_lines` as revisions."""
        revisions: list[Revision] = []
        for (
            seq, number, memory, version, operation, actor, surface, session, request, at, batch, digest, link, body,
        ) in self._connection.execute(sql, {**bindings, "namespace": self.namespace_id}):  # fmt: skip
            try:
                record, provenance = (None, NOTHING) if body is None else decode_payload(body)
                names_of_change = (unpack_name(batch), actor, surface, session, request)
                change = Change(operation, from_micros(at), *names_of_change, provenance)
                names = (unpack_id(memory), number, version)
                revisions.append(Revision(self._name, seq, *names, change, digest.hex(), link.hex(), record))
            except (TypeError, AttributeError, OverflowError) as error:
                raise StoreDamaged(f"Line {seq} of the log of {self._name!r} is not as it was written.") from error
        return revisions

    def with_several_versions(self) -> list[int]:
        return [number for (number,) in self._connection.execute(SQL["reworded"], {"namespace": self.namespace_id})]

    def tombstone_since(self, identity: Identity) -> datetime | None:
        own, _, of_text = self.tombstone_digests(identity)
        at: int | None = self._connection.execute(SQL["tombstone_since"], (self.namespace_id, own, own, of_text)).get
        return None if at is None else from_micros(at)

    def tombstone_digests(self, identity: Identity) -> TombstoneDigests:
        """The secret is read once in a transaction and never kept longer, because a restored backup brings its own."""
        if self._secret is None:
            self._secret = self._connection.execute(SQL["secret"], (f"secret:{self.namespace_id}",)).get
        return tombstone_digests(self._secret, self._name, identity)

    def links(self, memory: MemoryId) -> list[Link]:
        first, last = range_of(self.namespace_id)
        bindings = {"namespace": self.namespace_id, "memory": pack_id(memory), "first": first, "last": last}
        return decode_links(self._connection.execute(SQL["links"], bindings))

    def linked(
        self,
        memories: Collection[MemoryId],
        kinds: Collection[LinkKind] = LINK_KINDS,
        key_type: str | None = None,
    ) -> list[Link]:
        first, last = range_of(self.namespace_id)
        named = json.dumps([pack_id(memory).hex() for memory in memories])
        bindings = {"memories": named, "first": first, "last": last, "key_type": key_type}
        found = decode_links(self._connection.execute(SQL["links_to"], bindings))
        return sorted(link for link in found if link.kind in kinds)

    def keyword_search(
        self, words: Sequence[str], filter: Filter, now: datetime, limit: int, counts: WordCounts | None = None
    ) -> KeywordSearch:
        from perdure.store.sqlite.search import DiskSearch, WordCounter

        counter = WordCounter(self._connection, self.namespace_id, words)
        if counts is None:
            counts = counter.counts(*self._word_totals())
        return DiskSearch(self._connection, self.namespace_id, counter, counts, filter, now).best(limit)

    def word_counts(self, words: Sequence[str]) -> WordCounts:
        from perdure.store.sqlite.search import WordCounter

        return WordCounter(self._connection, self.namespace_id, words).counts(*self._word_totals())

    def _word_totals(self) -> tuple[int, int]:
        """How many memories may be found, and how many words they have."""
        rows = self._connection.execute(SQL["word_totals"], (self.namespace_id,)).fetchall()
        return cast("tuple[int, int]", rows[0]) if rows else (0, 0)

    def numbers_with_all(self, words: Sequence[str]) -> NumberSearch:
        from perdure.store.sqlite.search import numbers_with_all

        return numbers_with_all(self._connection, self.namespace_id, words)

    def passage_vectors(self, generation: Generation, passage_hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """A vector that is not as it was stored is left out."""
        generation_key = generation_id(self._connection, generation)
        vectors: dict[bytes, bytes] = {}
        for passage_hash in passage_hashes:
            for checksum, data in self._connection.execute(
                SQL["passage_vector"], (self.namespace_id, generation_key, passage_hash)
            ):
                if has_dimensions(data, generation.dimensions) and is_sound_vector(checksum, passage_hash, data):
                    vectors[passage_hash] = data
        return vectors

    def load(self) -> Load:
        rows = self._connection.execute(SQL["namespace_load"], (self.namespace_id,)).fetchall()
        return Load(*rows[0]) if rows else Load(0, 0, None, None)

    def capacity(self, rule: EvictionRule) -> CapacityStats:
        bindings = {"namespace": self.namespace_id, "tiers": json.dumps(rule.protected_tiers), "high": rule.high}
        ((protected, lowest, mean, highest),) = self._connection.execute(SQL["capacity"], bindings).fetchall()
        return CapacityStats(
            load=self.load(),
            versions=self._connection.execute(SQL["version_count"], (self.namespace_id,)).get,
            protected=protected,
            evicted=self._connection.execute(SQL["evicted_count"], (self.namespace_id,)).get,
            importance={"lowest": lowest or 0.0, "mean": mean or 0.0, "highest": highest or 0.0},
        )

    def eviction_candidates(self, rule: EvictionRule, limit: int) -> list[EvictionCandidate]:
        """Class by class, in the order that the port states."""
        shared: dict[str, Value] = {
            "namespace": self.namespace_id,
            "tiers": json.dumps(rule.protected_tiers),
            "by_model": BY_MODEL if rule.models_only else None,
        }
        candidates: list[EvictionCandidate] = []
        for state, low, high in rule.classes:
            missing = limit - len(candidates)
            if missing <= 0:
                break
            # Use that is not in the file yet makes so many, at most, go later than the file says.
            most = missing + len(self._unwritten)
            bindings = shared | {"state": state, "from": low, "below": high, "limit": most}
            rows: list[Row] = []
            for window in (most + EVICTION_WINDOW, _ALL):
                rows = self._connection.execute(SQL["evictable"], bindings | {"window": window}).fetchall()
                # A memory changed after the window's edge was not looked at, but cannot have been used before it.
                if not rows or rows[0][-1] is None or rows[-1][-2] < rows[0][-1]:
                    break
            used = {row[0]: row[-2] for row in rows}
            for number in used.keys() & list(self._unwritten):
                if use := self._unwritten.get(number):
                    used[number] = newest_time(used[number], newest_time(use.recalled_at, use.accessed_at))
            found = [
                EvictionCandidate(number, importance, tier, own_state, tokens, from_micros(used[number]))
                for number, importance, tier, own_state, tokens, *_ in rows
            ]
            candidates += sorted(found, key=lambda each: (each.last_used, each.number))[:missing]
        return candidates
