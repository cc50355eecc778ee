"""Everything that can be read of one namespace: memories, their history, words, vectors, and how full it is."""

from __future__ import annotations

import unicodedata
from array import array
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from hashlib import sha256
from typing import Any, Final, NamedTuple
from uuid import UUID

from perdure.clock import from_micros, to_micros
from perdure.embed.port import Generation
from perdure.errors import StoreDamaged
from perdure.ids import MemoryId, Reference
from perdure.model import BY_MODEL, NOTHING, Change, EvictionCandidate, Filter, Identity, Record, Revision
from perdure.store.capacity import CapacityStats, EvictionRule, Load
from perdure.store.hash_chain import TombstoneDigests, genesis, tombstone_digests
from perdure.store.links import decode_links
from perdure.store.port import LINK_KINDS, KeywordSearch, Link, LinkKind, LogFilter, NumberSearch
from perdure.store.postgres.asked_ahead import AskedAhead
from perdure.store.postgres.connection import Row
from perdure.store.postgres.filters import conditions
from perdure.store.postgres.pool import Question, Transaction
from perdure.store.postgres.search import TermScan
from perdure.store.rows import (
    ALL_WRITTEN,
    NUMBER_MASK,
    Unwritten,
    decode_payload,
    decode_row,
    decode_sound,
    has_dimensions,
    is_sound,
    is_sound_vector,
    newest_time,
    pack_id,
    unpack_id,
)
from perdure.text.bm25 import WordCounts

_LINE_FIELDS: Final = ("session", "actor", "operation", "request", "before", "after", "batch")
_LINE_TIMES: Final = ("since", "until")
# How many numbers one statement is given, and how many rows one page has where everything is read.
_PORTION: Final = 10_000
_LAST_CHARACTER: Final = "\U0010ffff"
_NO_SECRET: Final = b""


class NamespaceRow(NamedTuple):
    """The row of a namespace as a reader sees it."""

    name: str
    secret: bytes
    documents: int
    words: int
    tokens: int
    max_items: int | None
    max_tokens: int | None
    number: int


def namespace_key(name: str) -> UUID:
    """The first half of the hash that the log of the namespace begins with. Nobody has to look it up."""
    return UUID(bytes=genesis(name)[:16])


def generation_key(generation: Generation | None) -> int:
    """Eight bytes of the hash of its name: nobody has to look it up either."""
    if generation is None:
        return 0
    return int.from_bytes(sha256(generation.name.encode()).digest()[:8], "big", signed=True)


def sayable(text: str) -> bool:
    """Whether a text could be stored at all: no NUL, and no half of a surrogate pair."""
    return "\0" not in text and (text.isascii() or text.encode("utf-8", "replace").decode() == text)


class PostgresReader:
    """A namespace as one transaction sees it."""

    _select: str = "select_memory"

    def __init__(
        self,
        transaction: Transaction | AskedAhead,
        sql: Mapping[str, str],
        name: str,
        unwritten: Mapping[int, Unwritten] = ALL_WRITTEN,
    ) -> None:
        self._transaction = transaction
        self._sql = sql
        self._name = name
        self._unwritten = unwritten
        self.key = namespace_key(name)
        self._bindings: dict[str, Any] = {"namespace": self.key}
        self._namespace: NamespaceRow | None = None

    def _ask(self, name: str, **bindings: Any) -> list[Row]:
        return self._transaction.ask(self._sql[name], {**self._bindings, **bindings})

    def _rows_question(self, condition: str, **bindings: Any) -> Question:
        return f"{self._sql[self._select]} {self._sql[condition]}", {**self._bindings, **bindings}

    def _rows(self, condition: str, **bindings: Any) -> list[Row]:
        """Rows of memories that meet a condition of queries.sql, as rows.py takes them."""
        return self._transaction.ask(*self._rows_question(condition, **bindings))

    def _record(self, rows: Sequence[Row]) -> Record | None:
        return decode_row(rows[0], self._name, self._unwritten) if rows else None

    def _own(self) -> NamespaceRow:
        """The row of the namespace; of one that does not exist, an empty one."""
        if self._namespace is None:
            rows = self._ask("namespace_row")
            row = NamespaceRow(*rows[0]) if rows else NamespaceRow(self._name, _NO_SECRET, 0, 0, 0, None, None, 0)
            self._namespace = require_name(row, self._name)
        return self._namespace

    def find(self, reference: Reference) -> list[Record]:
        """Each way to read the reference; a memory that several ways lead to counts once."""
        rows: list[Row] = []
        if reference.number is not None and 0 < reference.number <= NUMBER_MASK:
            rows += self._rows("by_number", number=reference.number)
        if reference.id is not None:
            rows += self._rows("by_id", id=UUID(bytes=pack_id(reference.id)))
        records = [decode_row(row, self._name, self._unwritten) for row in rows]
        if reference.hash is not None:
            found = self._rows("by_hash", content_hash=bytes.fromhex(reference.hash))
            same = [decode_row(row, self._name, self._unwritten) for row in found]
            records += [record for record in same if record.state == "active"] or same
        # A key that cannot be stored is no memory's.
        if reference.key is not None and (record := self.by_key(reference.key)):
            records.append(record)
        return list({record.number: record for record in records}.values())

    def by_number(self, number: int) -> Record | None:
        return self._record(self._rows("by_number", number=number)) if 0 < number <= NUMBER_MASK else None

    def by_key(self, key: str) -> Record | None:
        """Stores of before have keys whose letters and accents stand apart, and can be copied here."""
        if not sayable(key):
            return None
        rows = self._rows("by_key", key=key)
        if not rows and not key.isascii():
            rows = self._rows("by_key", key=unicodedata.normalize("NFD", key))
        return self._record(rows)

    def by_content(self, identity: Identity) -> Record | None:
        return self._record(self._rows("by_content", **scope_of(identity)))

    def sound(self, number: int) -> Record | None:
        """The memory, unless it is damaged or gone."""
        rows = self._rows("by_number", number=number)
        return decode_sound(rows[0], self._name, self._unwritten) if rows else None

    def fetch(self, numbers: Sequence[int]) -> list[Record]:
        rows = self._rows("by_numbers", numbers=[number for number in numbers if 0 < number <= NUMBER_MASK])
        records = {row[0]: decode_sound(row, self._name, self._unwritten) for row in rows}
        return [record for number in numbers if (record := records.get(number))]

    def page(self, filter: Filter, *, after: int | None, limit: int, newest: bool) -> list[Record]:
        at = (NUMBER_MASK + 1 if newest else 0) if after is None else max(0, min(after, NUMBER_MASK + 1))
        where, bindings = conditions(self._sql, filter)
        sql = f"{self._sql[self._select]} {where} AND {self._sql['below' if newest else 'above']}"
        records: list[Record] = []
        while (missing := limit - len(records)) > 0:
            rows = self._transaction.ask(sql, {**self._bindings, **bindings, "after": at, "limit": missing})
            found = (decode_sound(row, self._name, self._unwritten) for row in rows)
            records += [record for record in found if record]
            if len(rows) < missing:
                break
            at = rows[-1][0]
        return records

    def numbers(self, filter: Filter) -> Sequence[int]:
        where, bindings = conditions(self._sql, filter)
        ((numbers,),) = self._transaction.ask(f"{self._sql['matching']} {where}", {**self._bindings, **bindings})
        return array("q", numbers or ())

    def keys(self, prefix: str, *, limit: int, after: str = "", newest: bool = False) -> list[tuple[str, int]]:
        if not sayable(prefix) or not sayable(after):
            return []
        bindings = {"prefix": prefix, "last": prefix + _LAST_CHARACTER, "after": after, "limit": max(0, limit)}
        return [(key, number) for key, number in self._ask("last_keys_of" if newest else "keys_of", **bindings)]

    def damaged(self) -> list[int]:
        numbers: list[int] = []
        after = 0
        while rows := self._rows("all_after", after=after, limit=_PORTION):
            numbers += [row[0] for row in rows if not is_sound(row)]
            after = rows[-1][0]
        return numbers

    def revisions(self, number: int) -> list[Revision]:
        return self._revisions(self._lines("lines_of_memory", number=number)) if 0 < number <= NUMBER_MASK else []

    def last_version(self, number: int) -> int:
        return self._ask("last_version", number=number)[0][0] if 0 < number <= NUMBER_MASK else 0

    def log(self, filter: LogFilter, *, limit: int, newest: bool = True) -> list[Revision]:
        question = self._log_question(filter, limit=limit, newest=newest)
        return [] if question is None else self._revisions(question)

    def _log_question(self, filter: LogFilter, *, limit: int, newest: bool) -> Question | None:
        """None for what no line can have."""
        bindings: dict[str, Any] = {"limit": max(0, limit)}
        for name in _LINE_FIELDS:
            if (value := getattr(filter, name)) is not None:
                if isinstance(value, str) and not sayable(value):
                    return None
                bindings[name] = value
        for name in _LINE_TIMES:
            if (moment := getattr(filter, name)) is not None:
                bindings[name] = to_micros(moment)
        clauses = [f"lines_{name}" for name in bindings if name != "limit"]
        return self._lines(*clauses, "lines_newest_first" if newest else "lines_oldest_first", **bindings)

    def seq_at(self, moment: datetime) -> int:
        rows = self._ask("seq_at", at=to_micros(moment))
        return rows[0][0] if rows else 0

    def changed_after(self, seq: int, spec_folder: str | None = None) -> list[int]:
        if spec_folder is None:
            return [number for (number,) in self._ask("changed_after", seq=seq)]
        numbers: list[int] = []
        for number, is_there, body in self._ask("changed_in_folder", seq=seq, folder=spec_folder):
            was_there = False
            with suppress(StoreDamaged):
                was_there = body is not None and decode_payload(body).record.spec_folder == spec_folder
            if is_there or was_there:
                numbers.append(number)
        return numbers

    def states_at(self, numbers: Sequence[int], seq: int) -> dict[int, Revision]:
        valid = [number for number in numbers if 0 < number <= NUMBER_MASK]
        states: dict[int, Revision] = {}
        for first in range(0, len(valid), _PORTION):
            lines = self._revisions(self._lines("lines_at", numbers=valid[first : first + _PORTION], seq=seq))
            states |= {line.number: line for line in lines}
        return states

    def _lines(self, *clauses: str, **bindings: Any) -> Question:
        sql = " ".join((self._sql["select_lines"], *(self._sql[clause] for clause in clauses)))
        return sql, {**self._bindings, **bindings}

    def _revisions(self, question: Question) -> list[Revision]:
        """The rows of `select_lines` as revisions."""
        revisions: list[Revision] = []
        for (
            seq, number, memory, version, operation, actor, surface, session, request, at, batch, digest, link, body,
        ) in self._transaction.ask(*question):  # fmt: skip
            try:
                record, provenance = (None, NOTHING) if body is None else decode_payload(body)
                change = Change(operation, from_micros(at), batch, actor, surface, session, request, provenance)
                names = (unpack_id(memory), number, version)
                revisions.append(Revision(self._name, seq, *names, change, digest.hex(), link.hex(), record))
            except (TypeError, AttributeError, OverflowError) as error:
                raise StoreDamaged(f"Line {seq} of the log of {self._name!r} is not as it was written.") from error
        return revisions

    def with_several_versions(self) -> list[int]:
        return [number for (number,) in self._ask("reworded")]

    def tombstone_since(self, identity: Identity) -> datetime | None:
        if not self._own().secret:
            return None
        own, _, of_text = self.tombstone_digests(identity)
        ((at,),) = self._ask("tombstone_since", digests=sorted({own, of_text}))
        return None if at is None else from_micros(at)

    def tombstone_digests(self, identity: Identity) -> TombstoneDigests:
        """Each namespace has a secret of its own, so that it can move to another store with its tombstones."""
        return tombstone_digests(self._own().secret, self._name, identity)

    def links(self, memory: MemoryId) -> list[Link]:
        return decode_links(self._ask("links", memory=UUID(bytes=pack_id(memory))))

    def linked(
        self,
        memories: Collection[MemoryId],
        kinds: Collection[LinkKind] = LINK_KINDS,
        key_type: str | None = None,
    ) -> list[Link]:
        named = [UUID(bytes=pack_id(memory)) for memory in memories]
        keys = {"first_key": None, "last_key": None}
        if key_type is not None:
            keys = {"first_key": f"{key_type}:", "last_key": f"{key_type};"}
        return sorted(decode_links(self._ask("links_to", memories=named, kinds=list(kinds), **keys)))

    def _scan(self, words: Sequence[str]) -> TermScan:
        return TermScan(self._transaction, self._sql, self._bindings, self._own().number, words)

    def keyword_search(
        self, words: Sequence[str], filter: Filter, now: datetime, limit: int, counts: WordCounts | None = None
    ) -> KeywordSearch:
        scan, own = self._scan(words), self._own()
        return scan.best(filter, now, limit, (own.documents, own.words), counts)

    def word_counts(self, words: Sequence[str]) -> WordCounts:
        scan, own = self._scan(words), self._own()
        return scan.counts(own.documents, own.words)

    def numbers_with_all(self, words: Sequence[str]) -> NumberSearch:
        return self._scan(words).with_all()

    def passage_vectors(self, generation: Generation, passage_hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        """A vector that is not as it was stored is left out."""
        rows = self._ask("passage_vectors", generation=generation_key(generation), passages=list(passage_hashes))
        return {
            passage: data
            for passage, checksum, data in rows
            if has_dimensions(data, generation.dimensions) and is_sound_vector(checksum, passage, data)
        }

    def load(self) -> Load:
        own = self._own()
        return Load(own.documents, own.tokens, own.max_items, own.max_tokens)

    def capacity(self, rule: EvictionRule) -> CapacityStats:
        questions = (
            (self._sql["capacity"], {**self._bindings, "high": rule.high, "tiers": list(rule.protected_tiers)}),
            (self._sql["version_count"], self._bindings),
            (self._sql["evicted_count"], self._bindings),
        )
        ((found,), ((versions,),), ((evicted,),)) = self._transaction.ask_all(questions)
        protected, lowest, mean, highest = found
        return CapacityStats(
            load=self.load(),
            versions=versions,
            protected=protected,
            evicted=evicted,
            importance={"lowest": lowest or 0.0, "mean": mean or 0.0, "highest": highest or 0.0},
        )

    def eviction_candidates(self, rule: EvictionRule, limit: int) -> list[EvictionCandidate]:
        """Class by class, in the order that the port states."""
        candidates: list[EvictionCandidate] = []
        for state, low, high in rule.classes:
            missing = limit - len(candidates)
            if missing <= 0:
                break
            bindings = {
                "tiers": list(rule.protected_tiers), "by_model": BY_MODEL if rule.models_only else None, "state": state,
                "from": float(low), "below": float(high),
                # Use that is not in the database yet makes so many, at most, go later than the database says.
                "limit": missing + len(self._unwritten),
            }  # fmt: skip
            found: list[EvictionCandidate] = []
            for number, importance, tier, own_state, tokens, used in self._ask("evictable", **bindings):
                last: int = used
                if use := self._unwritten.get(number):
                    last = max(used, newest_time(use.recalled_at, use.accessed_at) or used)
                found.append(EvictionCandidate(number, importance, tier, own_state, tokens, from_micros(last)))
            candidates += sorted(found, key=lambda each: (each.last_used, each.number))[:missing]
        return candidates


def scope_of(identity: Identity) -> dict[str, Any]:
    text, _, *scope = identity
    names = ("conversation_id", "spec_folder", "file_path", "anchor_id")
    return {"content_hash": bytes.fromhex(text), **dict(zip(names, scope, strict=True))}


def require_name(row: NamespaceRow, name: str) -> NamespaceRow:
    """Two names of which half a hash is the same have never been seen; if they are, neither reads the other's."""
    if row.name != name:
        raise StoreDamaged(f"The namespace {name!r} cannot be told from another one.")
    return row
