"""The comparisons that `work` makes: of memories that were written many at a time, or while comparing would have taken
long.

Nothing is queued. A line of the log that brought new words, and does not say what they were compared with, is the job;
a note in the store says up to which position of the log everything has been looked at.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from perdure.errors import EmbedderUnavailable, StoreReadOnly
from perdure.ids import LEARNED
from perdure.learn.compare import (
    MAX_ENDED_AT_ONCE,
    NEAREST,
    Neighbour,
    contraries_of,
    contrary_of,
    find_neighbours,
    in_order,
    is_statement,
    judge_pairs,
    propose_conflict,
)
from perdure.learn.similar import vectors_of
from perdure.lifecycle.write import is_unchanged
from perdure.lifecycle.write_context import COMPARED_WITH
from perdure.model import Operation, Record
from perdure.store.port import LogFilter
from perdure.values import replace

if TYPE_CHECKING:
    from perdure.embed.port import Generation, Vectors
    from perdure.lifecycle.write_context import WriteBatch
    from perdure.services import Services
    from perdure.store.port import Progress

# How many memories one run compares, and how many of them at once.
_MOST: Final = 1_000
_GROUP: Final = 64
# So many lines of the log are read at once; fewer than the other are looked at again each time.
_LINES: Final = 1_000
_FEW_LINES: Final = 200
# The note about a namespace that says how far it was looked at.
_COMPARED: Final = "compared"
_BRING_WORDS: Final[frozenset[Operation]] = frozenset({"insert", "update", "restore", "undo", "rewind"})


class ComparisonRun(NamedTuple):
    """How many memories were compared, how many pairs were proposed, and what a person should hear."""

    compared: int = 0
    proposed: int = 0
    notes: tuple[str, ...] = ()


class Waiting(NamedTuple):
    """The memories of a namespace that nobody has compared, each with the position of its line. `seq` is the position
    up to which there are no others, and `is_all` that the log ends there.
    """

    records: Sequence[tuple[int, Record]]
    seq: int
    is_all: bool


def uncompared(services: Services, namespace: str) -> int | None:
    """How many memories wait, as far as they are counted; None where nobody compares."""
    if comparing_generation(services) is None:
        return None
    found = waiting(services, namespace, compared_until(services, namespace))
    while not found.records and not found.is_all:
        found = waiting(services, namespace, found.seq)
    return len(found.records)


def comparing_generation(services: Services) -> Generation | None:
    """By whose vectors memories are compared; None where they are not."""
    generation = services.embedders.current().generation if services.judge else None
    return generation if generation is not None and generation.provider == "local" else None


def compared_until(services: Services, namespace: str) -> int:
    """Up to which position of the log everything has been looked at. A log that was restored may be shorter."""
    seen = int(services.store.note(_COMPARED, namespace) or 0)
    return seen if seen <= services.store.position(namespace, None).seq else 0


def waiting(services: Services, namespace: str, seen: int) -> Waiting:
    now = services.context.clock()
    with services.store.read(namespace) as reader:
        lines = reader.log(LogFilter(after=seen), limit=_LINES, newest=False)
        told = {line.number: line for line in lines if line.change.operation in _BRING_WORDS}
        left = {number: line for number, line in told.items() if COMPARED_WITH not in line.change.provenance}
        current = {record.number: record for record in reader.fetch(list(left))}
    records = [
        (line.seq, record)
        for number, line in left.items()
        # A later line may have changed the words.
        if (record := current.get(number)) and line.record and line.record.content_hash == record.content_hash
        # Consolidation has compared what it learned.
        if record.source != LEARNED and is_statement(record, now)
    ]
    return Waiting(sorted(records, key=lambda one: one[0]), lines[-1].seq if lines else seen, len(lines) < _LINES)


def compare_waiting(services: Services, limit: int | None, progress: Progress | None) -> ComparisonRun:
    """In every namespace, the oldest first."""
    generation = comparing_generation(services)
    most = _MOST if limit is None else limit // NEAREST
    compared = proposed = 0
    if generation is None:
        return ComparisonRun()
    batch = replace(services.context, surface="work", is_person=False).batch()
    for namespace in services.store.namespaces():
        seen = noted = compared_until(services, namespace)
        while compared < most:
            found = waiting(services, namespace, seen)
            group, seq = found.records[: min(_GROUP, most - compared)], found.seq
            with services.store.read(namespace) as reader:
                vectors = vectors_of(reader, [record for _, record in group], generation)
            ready = [(record, vector) for (_, record), vector in zip(group, vectors, strict=True) if vector is not None]
            if len(ready) < len(group) or len(group) < len(found.records):
                # Those without a vector are compared when they have one; the others come next.
                first_left = next((place for place, vector in enumerate(vectors) if vector is None), len(group))
                ready = ready[:first_left]
                seq = found.records[first_left][0] - 1
            try:
                proposed += compare_group(services, namespace, ready, generation, batch)
            except EmbedderUnavailable as error:
                return ComparisonRun(compared, proposed, (error.note,))
            compared += len(ready)
            seen = seq
            if ready or seen - noted > _FEW_LINES:
                noted = seen
                with suppress(StoreReadOnly):
                    services.store.put_note(_COMPARED, str(seen), namespace)
            if progress and ready:
                progress(compared, most)
            if not ready and (found.is_all or found.records):
                break
    is_full = compared >= most > 0 and limit is None
    notes = ("Some memories were not compared yet; run `perdure work` again.",) if is_full else ()
    return ComparisonRun(compared, proposed, notes)


def ends_few(services: Services, record: Record, generation: Generation) -> bool:
    """Whether a memory ends no more of its neighbours than one statement can. Who looks from the older one sees one."""
    with services.store.read(record.namespace) as reader:
        vector = vectors_of(reader, [record], generation)[0]
    near = find_neighbours(services, record, vector, generation)[1] if vector is not None else []
    judged = list(zip(near, judge_pairs(services, [(record, each) for each in near]), strict=True)) if near else []
    contraries = (contrary_of(record, each, verdict) for each, verdict in judged)
    return sum(each is not None and each.seems_ended for each in contraries) <= MAX_ENDED_AT_ONCE


def compare_group(
    services: Services,
    namespace: str,
    group: Sequence[tuple[Record, Vectors]],
    generation: Generation,
    batch: WriteBatch,
) -> int:
    """How many pairs were proposed."""
    pairs: list[tuple[Record, Neighbour]] = []
    for place, (record, vector) in enumerate(group):
        # Those that come later in the group look at this one themselves.
        later = [other.number for other, _ in group[place + 1 :]]
        pairs += ((record, near) for near in find_neighbours(services, record, vector, generation, later)[1])
    verdicts = judge_pairs(services, pairs) if pairs else []
    judged = [(record, (near, verdict)) for (record, near), verdict in zip(pairs, verdicts, strict=True)]
    found = [
        (record, contrary)
        for record, _ in group
        for contrary in contraries_of(record, (both for one, both in judged if one is record))
    ]
    newer = {
        each.other.record.id: each.other.record
        for record, each in found
        if each.seems_ended and in_order(record, each.other.record)[1] is not record
    }
    careless = {id for id, record in newer.items() if not ends_few(services, record, generation)}
    found = [(record, each) for record, each in found if each.other.record.id not in careless or not each.seems_ended]
    if not found:
        return 0
    with services.store.write(namespace) as writer:
        proposed = [
            propose_conflict(services, writer, batch, record, contrary)
            for record, contrary in found
            if is_unchanged(writer, record)
        ]
    return sum(each is not None for each in proposed)
