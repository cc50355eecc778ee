"""A store in plain dictionaries: the smallest one that keeps what the port promises of every store.

It shows what a store has to do, and serves tests where no file matters. A namespace that was committed never changes: a
transaction works on a copy, and readers look at what was there when they began. Use is counted beside it.
"""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Collection, Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from perdure.clock import Clock, system_clock, to_micros
from perdure.embed.port import Generation
from perdure.errors import Conflict, StoreBusy, StoreClosed
from perdure.llm.port import Parked
from perdure.model import (
    BY_MODEL,
    Checkpoint,
    Record,
)
from perdure.providers.call import ProviderCall
from perdure.store.capabilities import VectorPage
from perdure.store.hash_chain import genesis
from perdure.store.port import (
    About,
    IndexChanges,
    IndexRow,
    Pending,
    Position,
    Review,
    Use,
    UseCount,
)
from perdure.store.rows import encode_json, storable
from perdure.store.stats import GenerationStats, NamespaceStats, StoreStats
from perdure.testing.memory_space import Beside, MemoryReader, MemoryWriter, Space, Used
from perdure.text.entry import passage, passage_hash
from perdure.text.introductions import find_introduction
from perdure.text.names_and_times import holds_name
from perdure.text.question_share import question_share
from perdure.visibility import kind_of, places_of

_PATIENCE: Final = 30.0
_CALLS_KEPT: Final = timedelta(days=400)
_HEAD_BYTES: Final = 8


class MemoryStore:
    """Gone when it is closed. Safe to use from any thread: one writes at a time, and readers wait for nobody."""

    def __init__(self, clock: Clock = system_clock) -> None:
        self._clock = clock
        self._writing = threading.Lock()
        self._closed = False
        self._spaces: dict[str, Space] = {}
        self._beside = Beside()
        self._generations: dict[str, Generation] = {}
        self._calibrations: dict[str, float] = {}
        self._serving: str | None = None
        self._calls: list[ProviderCall] = []
        self._notes: dict[tuple[str | None, str], str] = {}
        self._leases: dict[str, tuple[str, datetime]] = {}
        self._checkpoints: dict[tuple[str | None, str], Checkpoint] = {}

    @property
    def address(self) -> str:
        return ":memory:"

    def _space(self, namespace: str) -> Space:
        return self._open().get(namespace) or Space(namespace, genesis(namespace))

    def _open(self) -> dict[str, Space]:
        if self._closed:
            raise StoreClosed
        return self._spaces

    @contextmanager
    def read(self, namespace: str) -> Generator[MemoryReader]:
        reader = MemoryReader(self._beside, self._space(namespace))
        try:
            yield reader
        finally:
            reader.end()

    @contextmanager
    def write(
        self,
        namespace: str,
        about: Sequence[About] = (),  # noqa: ARG002 - a question costs nothing here
        *,
        frees_space: bool = False,  # noqa: ARG002 - nothing is kept in reserve
    ) -> Generator[MemoryWriter]:
        with self.write_together([namespace]) as (writer,):
            yield writer

    @contextmanager
    def write_together(
        self, namespaces: Sequence[str], *, patience: float | None = None
    ) -> Generator[Sequence[MemoryWriter]]:
        self._open()
        if not self._writing.acquire(timeout=_PATIENCE if patience is None else max(0.0, patience)):
            raise StoreBusy
        try:
            copies = [self._space(name).copied() for name in namespaces]
            writers = [MemoryWriter(self._beside, space) for space in copies]
            try:
                yield writers
            finally:
                for writer in writers:
                    writer.end()
            for space, writer in zip(copies, writers, strict=True):
                self._commit(space, writer)
        finally:
            self._writing.release()

    def _commit(self, space: Space, writer: MemoryWriter) -> None:
        if writer.changed or space.name in self._spaces:
            self._spaces = {**self._spaces, space.name: space}
        for generation in writer.generations:
            self._require(generation)
        for number in writer.gone:
            self._beside.used.pop((space.name, number), None)
            self._beside.reviews.pop((space.name, number), None)
        for review in writer.taken:
            self._beside.reviews.pop((review.namespace, review.number), None)
        self.note_use(writer.touched)

    def _require(self, generation: Generation) -> None:
        """The first generation of a store serves at once."""
        self._generations[generation.name] = generation
        self._serving = self._serving or generation.name

    def namespaces(self) -> list[str]:
        return list(self._open())

    def close(self) -> None:
        self._closed = True

    # -- what fills a recall index -------------------------------------------------------------------------------------

    def position(self, namespace: str, generation: Generation | None) -> Position:
        space = self._space(namespace)
        head = space.head[:_HEAD_BYTES] if space.lines else b""
        return Position(len(space.lines), space.vector if generation else 0, 0, head)

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
        space = self._space(namespace)
        chosen = [
            space.memories[number]
            for number in sorted(space.entries)
            if number > after and (not categories or space.memories[number].category in categories)
        ]
        if with_triggers:
            chosen = [
                one for one in chosen if one.trigger_phrases and one.state == "active" and one.tier != "deprecated"
            ]
        rows = [index_row(space, record, generation) for record in chosen[: max(0, limit)]]
        return rows if vectors else [row._replace(vector=None if row.vector is None else b"") for row in rows]

    def index_vectors(self, namespace: str, generation: Generation, after: int, limit: int) -> VectorPage:
        vectors = self._space(namespace).vectors.items()
        later = sorted((at, key[1], data) for key, (at, data) in vectors if key[0] == generation.name and at > after)
        page = later[:limit]
        return VectorPage({own: data for _, own, data in page}, page[-1][0] if page else after)

    def index_changes(self, namespace: str, generation: Generation | None, since: Position) -> IndexChanges:
        space = self._space(namespace)
        known = [line.hash for line in space.lines[since.seq - 1 : since.seq]] if since.seq else [since.head.hex()]
        anew = since.repairs != 0 or not known or known[0][: 2 * _HEAD_BYTES] != since.head.hex()
        since = Position() if anew else since
        changed = {line.number for line in space.lines[since.seq :]}
        if generation is not None:
            came = self.index_vectors(namespace, generation, since.vector, 1 << 62).vectors
            changed |= {number for number in space.entries if passage_hash(space.memories[number]) in came}
        rows = [index_row(space, space.memories[one], generation) for one in sorted(changed) if one in space.entries]
        return IndexChanges(rows, sorted(number for number in changed if number not in space.entries), anew)

    def use_counts(self, namespace: str, numbers: Sequence[int] | None = None) -> Sequence[UseCount]:
        self._open()
        return [
            (number, used.recalls, to_micros(used.last) if used.last else 0)
            for (name, number), used in sorted(self._beside.used.items())
            if name == namespace and (numbers is None or number in numbers)
        ]

    # -- models --------------------------------------------------------------------------------------------------------

    def pending(self, generation: Generation, limit: int, start: bytes = b"") -> list[Pending]:
        missing = [
            Pending(space.name, own, passage(record))
            for space in self._open().values()
            for own, record in sorted(space.passages().items(), key=lambda pair: pair[0])
            if (generation.name, own) not in space.vectors
        ]
        return sorted(missing, key=lambda one: one.passage_hash < start)[: max(0, limit)]

    def pending_count(self, generation: Generation) -> int:
        return len(self.pending(generation, 1 << 62))

    def serving_generation(self) -> Generation | None:
        self._open()
        return self._generations.get(self._serving) if self._serving else None

    def serve(self, generation: Generation, without: Collection[bytes] = ()) -> bool:
        if any(one.passage_hash not in without for one in self.pending(generation, 1 << 62)):
            return False
        self._require(generation)
        self._serving = generation.name
        return True

    def generations(self) -> list[GenerationStats]:
        spaces = self._open().values()
        counts = Counter(name for space in spaces for name, _ in space.vectors)
        return [
            GenerationStats(each, counts[name], counts[name] * each.dimensions * 4, name == self._serving)
            for name, each in self._generations.items()
        ]

    def drop_vectors(self, generation: Generation, limit: int) -> int:
        self._open()
        if generation.name == self._serving:
            raise Conflict(f"The vectors of {generation.name} answer, so they are not dropped.")
        dropped = 0
        for name in self.namespaces():
            with self.write(name) as writer:
                dropped += writer.drop_vectors(generation, limit - dropped)
        if dropped < limit:
            self._generations.pop(generation.name, None)
            self._calibrations.pop(generation.name, None)
        return dropped

    def calibration(self, generation: Generation) -> float | None:
        self._open()
        return self._calibrations.get(generation.name)

    def put_calibration(self, generation: Generation, unrelated: float) -> None:
        self._open()
        self._require(generation)
        self._calibrations.setdefault(generation.name, unrelated)

    def record_calls(self, calls: Sequence[ProviderCall]) -> None:
        self._calls += calls
        newest = max((call.at for call in self._calls), default=None)
        self._calls = [call for call in self._calls if newest is None or call.at >= newest - _CALLS_KEPT]

    def calls(self, since: datetime | None, limit: int | None = None) -> list[ProviderCall]:
        self._open()
        newest = [call for call in reversed(self._calls) if since is None or call.at >= since]
        return sorted(newest, key=lambda call: call.at, reverse=True)[:limit]

    def calls_total(self, since: datetime) -> tuple[int, float]:
        calls = self.calls(since)
        return sum(each.input_tokens + each.output_tokens for each in calls), sum(each.cost or 0.0 for each in calls)

    def park(
        self, namespace: str, *, purpose: str, memory: int | None, model: str, error: str, output: str, attempts: int,
        at: datetime,
    ) -> Parked | None:  # fmt: skip
        with self.write(namespace) as writer:
            if namespace not in self._spaces:
                return None
            return writer.park(
                Parked(
                    id=0, namespace=namespace, purpose=storable(purpose), memory=memory, model=storable(model),
                    error=storable(error), output=storable(output), attempts=attempts, at=at,
                )
            )  # fmt: skip

    def parked(self, namespace: str) -> list[Parked]:
        return sorted(self._space(namespace).parked.values(), key=lambda one: (one.at, one.id))

    def unpark(self, namespace: str, id: int) -> bool:
        with self.write(namespace) as writer:
            known = id in self._space(namespace).parked
            writer.unpark(id)
            return known

    # -- keeping it in order -------------------------------------------------------------------------------------------

    def due(self, now: datetime, limit: int) -> list[Record]:
        found = [
            (record.expires_at, place, record.number, record)
            for place, space in enumerate(self._open().values())
            for record in space.memories.values()
            if record.state == "active" and record.expires_at is not None and record.expires_at <= now
        ]
        return [each[-1] for each in sorted(found, key=lambda each: each[:3])[: max(0, limit)]]

    def purgeable(self, until: datetime, limit: int, *, by_models: bool = False) -> list[Record]:
        found: list[tuple[datetime, int, int, Record]] = []
        for place, space in enumerate(self._open().values()):
            for record in space.memories.values():
                line = space.lines[record.seq - 1]
                latest = max(each.change.at for each in space.lines[: record.seq])
                ours = by_models or not line.change.surface.endswith(BY_MODEL)
                if record.state == "evicted" and latest <= until and ours:
                    found.append((line.change.at, place, record.number, record))
        return [each[-1] for each in sorted(found, key=lambda each: each[:3])[: max(0, limit)]]

    def write_times_after(self, moment: datetime) -> list[datetime]:
        times = {line.change.at for space in self._open().values() for line in space.lines}
        return sorted(at for at in times if at > moment)

    def note_use(self, uses: Sequence[Use]) -> None:
        for use in uses:
            if use.namespace in self._spaces and use.number in self._spaces[use.namespace].memories:
                self._beside.used.setdefault((use.namespace, use.number), Used()).add(use)

    def flush_use(self, *, patience: float) -> bool:
        del patience
        return not self._closed

    def note_reviews(self, reviews: Sequence[Review]) -> None:
        for review in reviews:
            before = self._beside.reviews.get((review.namespace, review.number), review)
            first, last = min(before.first_at, review.first_at), max(before.at, review.at)
            if self._spaces.get(review.namespace) and review.number in self._spaces[review.namespace].memories:
                merged = review._replace(rank=min(before.rank, review.rank), first_at=first, at=last)
                self._beside.reviews[review.namespace, review.number] = merged

    def pending_reviews(self, namespace: str) -> list[Review]:
        self._open()
        own = (review for review in self._beside.reviews.values() if review.namespace == namespace)
        return sorted(own, key=lambda review: (review.at, review.number))

    def note(self, name: str, namespace: str | None = None) -> str | None:
        self._open()
        return self._notes.get((namespace, name))

    def put_note(self, name: str, value: str, namespace: str | None = None) -> None:
        self._open()
        self._notes[namespace, name] = value

    def lease(self, name: str, owner: str, seconds: float) -> bool:
        self._open()
        now = self._clock()
        holder, until = self._leases.get(name, (owner, now))
        if holder != owner and until > now:
            return False
        self._leases[name] = (owner, now + timedelta(seconds=seconds))
        return True

    def stats(self, generation: Generation | None) -> StoreStats:
        of = generation.name if generation else self._serving
        spaces = [
            NamespaceStats(
                name=space.name,
                states=dict(Counter(record.state for record in space.memories.values())),
                categories=dict(Counter(
                    one.category for one in space.memories.values() if one.category and one.state == "active"
                )),
                revision_count=len(space.lines),
                vectors_pending=sum((of, own) not in space.vectors for own in space.passages()),
                oldest=min((record.created_at for record in space.memories.values()), default=None),
                newest=max((record.created_at for record in space.memories.values()), default=None),
            )
            for space in self._open().values()
        ]  # fmt: skip
        size = sum(len(line.record.text) for space in self._spaces.values() for line in space.lines if line.record)
        return StoreStats(self.address, "dictionaries", 1, 1 + size, tuple(spaces), tuple(self.generations()))

    def put_checkpoint(self, checkpoint: Checkpoint) -> Checkpoint:
        own, name = checkpoint.namespace, checkpoint.name
        with self.write_together([own] if own is not None else []) as writers:
            for writer in writers:
                writer.changed = True
            if any(each == name and (own is None or of in (None, own)) for of, each in self._checkpoints):
                raise Conflict(f"There is a checkpoint called {name!r:.80} already.")
        spaces = [space for space in self._spaces.values() if own in (None, space.name)]
        found = [record for space in spaces for record in space.indexed]
        folder = checkpoint.spec_folder
        stored = replace(
            checkpoint,
            positions={space.name: len(space.lines) for space in spaces},
            memory_count=sum(folder in (None, record.spec_folder) for record in found),
        )
        encode_json(dict(stored.metadata))
        self._checkpoints[own, name] = stored
        return stored

    def checkpoints(self, namespace: str) -> list[Checkpoint]:
        self._open()
        known = [each for each in self._checkpoints.values() if each.namespace in (None, namespace)]
        known.sort(key=lambda each: each.name)
        return sorted(known, key=lambda each: each.created_at, reverse=True)

    def delete_checkpoint(self, namespace: str | None, name: str) -> bool:
        self._open()
        return self._checkpoints.pop((namespace, name), None) is not None


def index_row(space: Space, record: Record, generation: Generation | None) -> IndexRow:
    metadata, spoken = record.metadata, record.conversation_id is not None
    stability, places, speaker = metadata.get("stability"), places_of(record), metadata.get("speaker")
    own = passage_hash(record)
    return IndexRow(
        number=record.number,
        terms=space.entries[record.number].terms,
        vector=space.vectors.get((generation.name, own), (0, None))[1] if generation else None,
        active=record.state == "active",
        tier=record.tier,
        kind=kind_of(record.key or ""),
        valid_from=micros(record.valid_at),
        valid_until=micros(record.invalid_at),
        expires_at=micros(record.expires_at),
        dated=to_micros(record.valid_at or record.created_at),
        updated_at=to_micros(record.updated_at),
        category=record.category,
        observations=record.observation_count,
        confidence=record.confidence,
        importance=record.importance,
        anchor=record.anchor_id,
        conversation=record.conversation_id,
        session=record.session_id,
        speaker=None if speaker is None else str(speaker),
        question_share=question_share(record.text) if spoken else 0.0,
        stability=stability if isinstance(stability, int | float) and not isinstance(stability, bool) else None,
        trigger_phrases=record.trigger_phrases,
        passage=own,
        introduction=find_introduction(record.text, holds_names=holds_name(record.text)) if spoken else None,
        has_low_trust=record.trust == "low",
        told_in=None if places is None else encode_json(list(places)),
    )


def micros(moment: datetime | None) -> int | None:
    return None if moment is None else to_micros(moment)
