"""A namespace in plain dictionaries, and its reader and writer; see `memory_store`."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import islice
from typing import Final

from perdure.clock import to_micros
from perdure.embed.port import Generation
from perdure.errors import Conflict, InvalidInput, NotFound
from perdure.ids import MemoryId, Reference
from perdure.llm.port import Parked
from perdure.model import (
    BY_MODEL,
    INDEXED_STATES,
    Change,
    EvictionCandidate,
    Filter,
    Identity,
    Record,
    Revision,
    identity_of,
    replace_record,
)
from perdure.store.capacity import CapacityStats, EvictionRule, Load
from perdure.store.hash_chain import SALT_BYTES, Line, digest_of, link, tombstone_digests
from perdure.store.links import links_of
from perdure.store.port import (
    LINK_KINDS,
    KeywordSearch,
    Link,
    LinkKind,
    LogFilter,
    NumberSearch,
    Review,
    Scored,
    Use,
)
from perdure.store.rows import check_vector, decode_payload, encode_payload, pack_id, storable, unpack_id
from perdure.store.term_scoring import QueryTerms, TermScorer
from perdure.text.bm25 import WordCounts
from perdure.text.entry import Entry, passage_hash, term_hash, terms_length, unpack_terms
from perdure.visibility import is_visible, matches_filter

_BY_PEOPLE: Final = frozenset({"insert", "observe", "update", "validate", "promote", "restore"})


@dataclass
class Space:
    """One namespace. `vectors` are by the generation's name and the passage, each with its position."""

    name: str
    head: bytes
    secret: bytes = field(default_factory=lambda: os.urandom(32))
    number: int = 0
    vector: int = 0
    parked_id: int = 0
    max_items: int | None = None
    max_tokens: int | None = None
    memories: dict[int, Record] = field(default_factory=dict[int, Record])
    entries: dict[int, Entry] = field(default_factory=dict[int, Entry])
    lines: list[Revision] = field(default_factory=list[Revision])
    vectors: dict[tuple[str, bytes], tuple[int, bytes]] = field(
        default_factory=dict[tuple[str, bytes], tuple[int, bytes]]
    )
    tombstones: dict[bytes, datetime] = field(default_factory=dict[bytes, datetime])
    parked: dict[int, Parked] = field(default_factory=dict[int, Parked])

    def copied(self) -> Space:
        made = copy(self)
        made.memories, made.entries, made.lines = self.memories.copy(), self.entries.copy(), self.lines.copy()
        made.vectors, made.tombstones, made.parked = self.vectors.copy(), self.tombstones.copy(), self.parked.copy()
        return made

    @property
    def indexed(self) -> list[Record]:
        return [record for record in self.memories.values() if record.state in INDEXED_STATES]

    def passages(self) -> dict[bytes, Record]:
        return {passage_hash(record): record for record in reversed(self.indexed)}


@dataclass
class Used:
    recalls: int = 0
    recalled_at: datetime | None = None
    accesses: int = 0
    accessed_at: datetime | None = None

    def add(self, use: Use) -> None:
        self.recalls, self.accesses = self.recalls + use.recalls, self.accesses + use.accesses
        self.recalled_at = max(filter(None, (self.recalled_at, use.recalled_at)), default=None)
        self.accessed_at = max(filter(None, (self.accessed_at, use.accessed_at)), default=None)

    @property
    def last(self) -> datetime | None:
        return max(filter(None, (self.recalled_at, self.accessed_at)), default=None)


@dataclass
class Beside:
    """What is counted beside the namespaces, by namespace and number."""

    used: dict[tuple[str, int], Used] = field(default_factory=dict[tuple[str, int], Used])
    reviews: dict[tuple[str, int], Review] = field(default_factory=dict[tuple[str, int], Review])


class MemoryReader:
    def __init__(self, beside: Beside, space: Space) -> None:
        self._beside = beside
        self._space_or_none: Space | None = space
        # Use of this transaction, which counts for others once it is committed.
        self.touched: list[Use] = []

    @property
    def _space(self) -> Space:
        if self._space_or_none is None:
            raise RuntimeError("the transaction has ended")
        return self._space_or_none

    def end(self) -> None:
        self._space_or_none = None

    def _with_use(self, record: Record) -> Record:
        used = copy(self._beside.used.get((record.namespace, record.number), Used()))
        for use in self.touched:
            if use.number == record.number:
                used.add(use)
        return replace_record(
            record, recall_count=used.recalls, recalled_at=used.recalled_at, access_count=used.accesses,
            accessed_at=used.accessed_at,
        )  # fmt: skip

    def _all(self) -> list[Record]:
        return [self._with_use(record) for _, record in sorted(self._space.memories.items())]

    def find(self, reference: Reference) -> list[Record]:
        records = self._all()
        same_text = [record for record in records if record.content_hash == reference.hash]
        found = [record for record in records if reference.number == record.number]
        found += [record for record in records if reference.id == record.id]
        found += [record for record in same_text if record.state == "active"] or same_text
        found += [record for record in records if reference.key is not None and reference.key == record.key]
        return list({record.number: record for record in found}.values())

    def by_number(self, number: int) -> Record | None:
        record = self._space.memories.get(number)
        return self._with_use(record) if record else None

    def by_key(self, key: str) -> Record | None:
        return next((record for record in self._all() if record.key == key), None)

    def by_content(self, identity: Identity) -> Record | None:
        wanted = identity._replace(key=None)
        return next((one for one in self._all() if one.state == "active" and identity_of(one) == wanted), None)

    def fetch(self, numbers: Sequence[int]) -> list[Record]:
        return [record for number in numbers if (record := self.by_number(number))]

    def page(self, filter: Filter, *, after: int | None, limit: int, newest: bool) -> list[Record]:
        records = [record for record in self._all() if matches_filter(record, filter)]
        if after is not None:
            records = [record for record in records if (record.number < after if newest else record.number > after)]
        return (records[::-1] if newest else records)[: max(0, limit)]

    def numbers(self, filter: Filter) -> Sequence[int]:
        return [record.number for record in self._space.memories.values() if matches_filter(record, filter)]

    def keys(self, prefix: str, *, limit: int, after: str = "", newest: bool = False) -> list[tuple[str, int]]:
        keys = [(one.key, one.number) for one in self._space.memories.values() if one.key is not None]
        found = sorted((pair for pair in keys if pair[0].startswith(prefix) and pair[0] > after), reverse=newest)
        return found[: max(0, limit)]

    def damaged(self) -> list[int]:
        return []

    def revisions(self, number: int) -> list[Revision]:
        return [line for line in self._space.lines if line.number == number]

    def last_version(self, number: int) -> int:
        return max((line.version for line in self.revisions(number)), default=0)

    def log(self, filter: LogFilter, *, limit: int, newest: bool = True) -> list[Revision]:
        def fits(line: Revision) -> bool:
            change = line.change
            exact = ("batch", "session", "actor", "operation", "request")
            return (
                all(getattr(filter, name) in {None, getattr(change, name)} for name in exact)
                and (filter.since is None or change.at >= filter.since)
                and (filter.until is None or change.at < filter.until)
                and (filter.before is None or line.seq < filter.before)
                and (filter.after is None or line.seq > filter.after)
            )

        lines = [line for line in self._space.lines if fits(line)]
        return (lines[::-1] if newest else lines)[: max(0, limit)]

    def seq_at(self, moment: datetime) -> int:
        return max((line.seq for line in self._space.lines if line.change.at <= moment), default=0)

    def changed_after(self, seq: int, spec_folder: str | None = None) -> list[int]:
        numbers = sorted({line.number for line in self._space.lines[seq:]})
        if spec_folder is None:
            return numbers
        then = self.states_at(numbers, seq)

        def is_in_folder(number: int) -> bool:
            now, before = self._space.memories.get(number), then.get(number)
            return (now is not None and now.spec_folder == spec_folder) or (
                before is not None and before.record is not None and before.record.spec_folder == spec_folder
            )

        return [number for number in numbers if is_in_folder(number)]

    def states_at(self, numbers: Sequence[int], seq: int) -> dict[int, Revision]:
        wanted = set(numbers)
        return {line.number: line for line in self._space.lines[: max(0, seq)] if line.number in wanted}

    def with_several_versions(self) -> list[int]:
        versions: dict[int, set[int]] = {}
        for line in self._space.lines:
            versions.setdefault(line.number, set()).add(line.version)
        return sorted(record.number for record in self._space.indexed if len(versions[record.number]) > 1)

    def tombstone_since(self, identity: Identity) -> datetime | None:
        digests = tombstone_digests(self._space.secret, self._space.name, identity)
        return self._space.tombstones.get(digests.own)

    def links(self, memory: MemoryId) -> list[Link]:
        pack_id(memory)
        return sorted(
            (one for one in self._every_link() if memory in (one.source, one.target)),
            key=lambda one: (one.number, one.kind, one.target),
        )

    def _every_link(self) -> set[Link]:
        return {
            Link(record.number, record.id, kind, unpack_id(target))
            for record in self._space.memories.values()
            for kind, target in links_of(record)
        }

    def linked(
        self, memories: Collection[MemoryId], kinds: Collection[LinkKind] = LINK_KINDS, key_type: str | None = None
    ) -> list[Link]:
        for memory in memories:
            pack_id(memory)

        def has_type(number: int) -> bool:
            return key_type is None or (self._space.memories[number].key or "").startswith(f"{key_type}:")

        return sorted(
            one for one in self._every_link() if one.target in memories and one.kind in kinds and has_type(one.number)
        )

    def _holding(self, query: QueryTerms) -> dict[int, int]:
        """How many memories hold each term, of those that any holds."""
        held = Counter(term for entry in self._space.entries.values() for term in unpack_terms(entry.terms))
        return {term: held[term] for term in map(term_hash, query.words) if held[term]}

    def word_counts(self, words: Sequence[str]) -> WordCounts:
        entries = self._space.entries.values()
        length = sum(terms_length(entry.terms) for entry in entries)
        return WordCounts(len(entries), length, self._holding(QueryTerms(words)))

    def keyword_search(
        self, words: Sequence[str], filter: Filter, now: datetime, limit: int, counts: WordCounts | None = None
    ) -> KeywordSearch:
        query, counts = QueryTerms(words), counts or self.word_counts(words)
        memories = self._space.memories
        rows = [
            (number, entry.terms)
            for number, entry in self._space.entries.items()
            if matches_filter(memories[number], filter) and is_visible(memories[number], filter, now)
        ]
        scored = TermScorer(query, counts, self._holding(query)).scored(rows)
        best = sorted((Scored(*each) for each in scored), key=lambda one: (-one.score, -one.number))
        return KeywordSearch(best[: max(0, limit)], counts)

    def numbers_with_all(self, words: Sequence[str]) -> NumberSearch:
        query = QueryTerms(words)

        def holds(entry: Entry) -> bool:
            held = unpack_terms(entry.terms)
            return all(
                term in held or (term in query.parts and all(part in held for part in query.parts[term]))
                for term in query.terms
            )

        return NumberSearch([number for number, entry in self._space.entries.items() if query.terms and holds(entry)])

    def passage_vectors(self, generation: Generation, passage_hashes: Sequence[bytes]) -> dict[bytes, bytes]:
        known = {own: data for (name, own), (_, data) in self._space.vectors.items() if name == generation.name}
        return {own: known[own] for own in passage_hashes if own in known}

    def load(self) -> Load:
        space = self._space
        tokens = sum(entry.tokens for entry in space.entries.values())
        return Load(len(space.entries), tokens, space.max_items, space.max_tokens)

    def capacity(self, rule: EvictionRule) -> CapacityStats:
        found = self._space.indexed
        importance = [record.importance for record in found] or [0.0]
        return CapacityStats(
            load=self.load(),
            versions=len({(line.number, line.version) for line in self._space.lines if line.record}),
            protected=sum(one.importance >= rule.high or one.tier in rule.protected_tiers for one in found),
            evicted=sum(record.state == "evicted" for record in self._space.memories.values()),
            importance={
                "lowest": min(importance), "mean": sum(importance) / len(importance), "highest": max(importance),
            },
        )  # fmt: skip

    def eviction_candidates(self, rule: EvictionRule, limit: int) -> list[EvictionCandidate]:
        def order(record: Record) -> tuple[int, datetime, int]:
            rank = 0 if record.state == "superseded" else 1 if record.importance < rule.low else 2
            return rank, last_used(record), record.number

        def last_used(record: Record) -> datetime:
            return max(filter(None, (record.updated_at, record.accessed_at, record.recalled_at)))

        chosen = [
            record
            for record in map(self._with_use, self._space.indexed)
            if record.importance < rule.high
            and record.tier not in rule.protected_tiers
            and not (rule.models_only and self._is_of_people(record, set()))
        ]
        return [
            EvictionCandidate(
                each.number, each.importance, each.tier, each.state, self._space.entries[each.number].tokens,
                last_used(each),
            )
            for each in sorted(chosen, key=order)[: max(0, limit)]
        ]  # fmt: skip

    def _is_of_people(self, record: Record, seen: set[int]) -> bool:
        if record.number in seen:
            return False
        seen.add(record.number)
        changes = (line.change for line in self.revisions(record.number))
        if any(one.operation in _BY_PEOPLE and not one.surface.endswith(BY_MODEL) for one in changes):
            return True
        sources = (one for one in self._space.memories.values() if one.id in record.merged_from)
        return any(self._is_of_people(source, seen) for source in sources)


class MemoryWriter(MemoryReader):
    def __init__(self, beside: Beside, space: Space) -> None:
        super().__init__(beside, space)
        self.changed = False
        self.generations: list[Generation] = []
        # What happens beside the namespace, once it is committed.
        self.taken: list[Review] = []
        self.gone: list[int] = []

    def next_number(self) -> int:
        self.changed = True
        self._space.number += 1
        return self._space.number

    def put(self, record: Record, change: Change, entry: Entry) -> Record:
        space = self._space
        if record.namespace != space.name or not 0 < record.number <= space.number:
            raise InvalidInput(f"Memory {record.number} of {record.namespace!r} has no number of {space.name!r}.")
        if record.number not in space.memories and self.revisions(record.number):
            raise Conflict(f"Memory {record.number} was erased, and nothing can bring it back.")
        others = [one for one in space.memories.values() if one.number != record.number]
        if any(one.id == record.id or (record.key is not None and one.key == record.key) for one in others):
            raise Conflict("Another memory has this id or this key.")
        record = replace_record(record, seq=len(space.lines) + 1)
        body = encode_payload(record, change.provenance)
        if storable(body) != body:
            raise InvalidInput("A text holds half of a character, which cannot be kept.")
        stored, provenance = decode_payload(body)
        self._append(stored, replace(change, provenance=provenance), digest_of(os.urandom(SALT_BYTES), body.encode()))
        space.memories[record.number] = stored
        space.entries.pop(record.number, None)
        if record.state in INDEXED_STATES:
            space.entries[record.number] = entry
        return record

    def _append(self, record: Record, change: Change, digest: bytes, *, kept: bool = True) -> None:
        space, names = self._space, (change.actor, change.surface, change.session, change.request)
        if any("\x00" in (name or "") for name in names):
            raise InvalidInput("A name holds a NUL, which cannot be kept.", remedy="Take it out.")
        if change.request is not None and any(line.change.request == change.request for line in space.lines):
            raise Conflict(f"The idempotency key {change.request!r:.80} was used before.")
        seq, at = len(space.lines) + 1, to_micros(change.at)
        line = Line(seq, record.number, record.id, record.version, change.operation, *names, at, change.batch, digest)
        space.head = link(space.head, line)
        space.lines.append(
            Revision(
                space.name, seq, record.id, record.number, record.version, change, digest.hex(), space.head.hex(),
                record if kept else None,
            )
        )  # fmt: skip
        self.changed = True

    def put_vector(self, generation: Generation, passage_hash: bytes, vector: bytes) -> None:
        self.put_vectors(generation, [(passage_hash, vector)])

    def put_vectors(self, generation: Generation, vectors: Sequence[tuple[bytes, bytes]]) -> int:
        space, before = self._space, self._space.vector
        for _, vector in vectors:
            check_vector(vector, generation.dimensions)
        wanted = set(map(passage_hash, space.memories.values()))
        for own, vector in vectors:
            if own in wanted and (generation.name, own) not in space.vectors:
                space.vector += 1
                space.vectors[generation.name, own] = (space.vector, vector)
        if space.vector > before:
            self.changed = True
            self.generations.append(generation)
        return space.vector - before

    def drop_vectors(self, generation: Generation, limit: int) -> int:
        vectors = self._space.vectors
        dropped = list(islice((key for key in vectors if key[0] == generation.name), max(0, limit)))
        for key in dropped:
            del vectors[key]
        return len(dropped)

    def add_tombstone(self, identity: Identity, reason: str, at: datetime) -> None:
        del reason
        space, active = self._space, [one for one in self._space.memories.values() if one.state == "active"]
        digests = tombstone_digests(space.secret, space.name, identity)
        scope = identity[2:]
        same_text = [one for one in active if one.content_hash == identity.content_hash]
        ended: list[bytes] = []
        if not any(identity_of(one)[2:] == scope for one in same_text):
            ended.append(digests.in_scope)
        if identity.key is not None and not any(one.key == identity.key for one in same_text):
            ended.append(digests.own)
        for digest in ended:
            self.changed = True
            space.tombstones[digest] = max(at, space.tombstones.get(digest, at))

    def lift_tombstone(self, identity: Identity) -> datetime | None:
        digests = tombstone_digests(self._space.secret, self._space.name, identity)
        lifted = [at for digest in {*digests} if (at := self._space.tombstones.pop(digest, None))]
        return max(lifted, default=None)

    def touch(self, number: int, at: datetime) -> None:
        self.touched.append(Use(self._space.name, number, 0, None, 0, at))

    def take_review(self, review: Review) -> bool:
        noted = self._beside.reviews.get((self._space.name, review.number))
        if noted is None or noted.at != review.at or noted in self.taken:
            return False
        self.taken.append(noted)
        return True

    def set_limits(self, max_items: int | None, max_tokens: int | None) -> None:
        if any(limit is not None and limit < 1 for limit in (max_items, max_tokens)):
            raise InvalidInput("A limit is at least 1; None means no limit.")
        self.changed = True
        self._space.max_items, self._space.max_tokens = max_items, max_tokens

    def release_key(self, number: int) -> None:
        if record := self._space.memories.get(number):
            self._space.memories[number] = replace_record(record, key=None)

    def drop_payloads(self, number: int, seqs: Collection[int] | None = None) -> None:
        self._unpark_about(number)
        earlier = self.revisions(number)[:-1]
        self._drop(line for line in earlier if seqs is None or line.seq in seqs)

    def _drop(self, lines: Iterable[Revision]) -> None:
        """Without what these said, and the vectors of it that belong to no memory any more."""
        space = self._space
        passages: set[bytes] = set()
        for line in lines:
            self.changed = True
            if line.record is not None:
                passages.add(passage_hash(line.record))
            space.lines[line.seq - 1] = replace(line, record=None, change=replace(line.change, provenance={}))
        passages -= set(map(passage_hash, space.memories.values()))
        space.vectors = {key: held for key, held in space.vectors.items() if key[1] not in passages}

    def _unpark_about(self, number: int) -> None:
        self._space.parked = {id: one for id, one in self._space.parked.items() if one.memory != number}

    def park(self, parked: Parked) -> Parked | None:
        space = self._space
        if parked.memory is not None and parked.memory not in space.memories:
            return None
        about = (parked.purpose, parked.memory)
        earlier = [id for id, one in space.parked.items() if one.memory and (one.purpose, one.memory) == about]
        space.parked_id += not earlier
        kept = replace(parked, id=earlier[0] if earlier else space.parked_id)
        space.parked[kept.id] = kept
        return kept

    def unpark(self, id: int) -> None:
        self.changed = self._space.parked.pop(id, None) is not None or self.changed

    def erase(self, number: int, change: Change, *, traceless: bool = True) -> None:
        del traceless
        space, lines = self._space, self.revisions(number)
        if not lines or number not in space.memories:
            raise NotFound(f"There is no memory {number} to erase.")
        record = space.memories.pop(number)
        space.entries.pop(number, None)
        self._drop(lines)
        self._unpark_about(number)
        space.parked = space.parked if space.memories else {}
        self.gone.append(number)
        latest = replace_record(record, version=lines[-1].version)
        self._append(latest, change, digest_of(os.urandom(SALT_BYTES), b""), kept=False)
