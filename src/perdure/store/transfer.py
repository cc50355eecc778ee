"""Moving a store: the log itself travels, so that its chain comes out the same, and beside it what no line holds.

Memories, tags, links and words are made from the lines by whoever receives them. A namespace arrives in one
transaction; one that is there already gets the lines that it lacks, if it has none of its own.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, runtime_checkable

from perdure.clock import from_micros
from perdure.embed.port import Generation
from perdure.errors import Conflict, InvalidInput, StoreDamaged, StoreError
from perdure.model import Change, Checkpoint, Record
from perdure.remedies import Remedy, Run
from perdure.store.doctor.chain import line_of
from perdure.store.erasure import ERASE
from perdure.store.hash_chain import Line, LogEnd
from perdure.store.port import Store
from perdure.store.rows import Row, decode_payload
from perdure.text.entry import Entry, entry_of
from perdure.text.tokens import estimate
from perdure.values import value_class

if TYPE_CHECKING:
    from perdure.llm.port import Parked

LINES_AT_A_TIME: Final = 500
VECTORS_AT_A_TIME: Final = 1000


class LoggedLine(NamedTuple):
    """A line of a log with its payload, if that was not erased or dropped."""

    line: Line
    hash: bytes
    salt: bytes | None
    body: str | None

    def change(self, provenance: Mapping[str, object]) -> Change:
        line = self.line
        names = (line.batch, line.actor, line.surface, line.session, line.request)
        return Change(line.operation, from_micros(line.at), *names, provenance)  # pyright: ignore[reportArgumentType]


@value_class(kw_only=True)
class NamespaceExtras:
    """What a namespace has beside its log. Times are microseconds since 1970. The rows are those of the tables without
    their namespace: `uses` number, recalls, recalled_at, accesses, accessed_at; `reviews` number, first_at, at, rank;
    `tombstones` digest, at, reason. `tokens` are counted per memory.
    """

    secret: bytes
    number: int
    unversioned: int
    max_items: int | None
    max_tokens: int | None
    tokens: Mapping[int, int]
    uses: Sequence[Row]
    reviews: Sequence[Row]
    tombstones: Sequence[Row]
    checkpoints: Sequence[Checkpoint]
    parked: Sequence[Parked]


class VectorRow(NamedTuple):
    position: int
    passage_hash: bytes
    data: bytes


class Receiver(Protocol):
    """A writer that takes what another store had."""

    def replay(self, logged: LoggedLine, record: Record | None, entry: Entry | None) -> None:
        """Append the line as it was, and make the memory what it says. `record` is None where the payload is gone."""
        ...

    def put_extras(self, extras: NamespaceExtras, *, is_new: bool) -> None:
        """Take everything that the log does not hold, in place of what was there."""
        ...

    def take_vectors(self, generation: Generation, vectors: Sequence[VectorRow]) -> int:
        """Those of earlier texts as well, which no memory has now; how many were new."""
        ...

    def drop_payloads(self, number: int, seqs: Sequence[int] | None = None) -> None: ...


@runtime_checkable
class Transfer(Protocol):
    """A store that can be moved, and moved to."""

    def log_end(self, namespace: str) -> LogEnd | None:
        """None where there is no such namespace."""
        ...

    def logged_lines(self, namespace: str, after: int, limit: int) -> list[LoggedLine]: ...

    def extras(self, namespace: str) -> NamespaceExtras: ...

    def vector_rows(self, namespace: str, generation: Generation, after: int, limit: int) -> list[VectorRow]: ...

    def receiving(self, namespace: str) -> AbstractContextManager[Receiver]:
        """A write transaction; what it receives is there whole or not at all."""
        ...

    def copy_checkpoint(self, checkpoint: Checkpoint) -> None:
        """Keep a checkpoint of everything as it is, unless there is one of its name."""
        ...


@value_class
class CopiedNamespace:
    """How many lines and vectors were new there."""

    name: str
    new_lines: int
    new_vectors: int


Told = Callable[[CopiedNamespace], None]


def transfer_of(store: Store) -> Transfer:
    if isinstance(store, Transfer):
        return store
    raise InvalidInput("That store cannot be moved.", remedy=Remedy("Use ", Run("export"), " and ", Run("import"), "."))


def copy_store(source: Store, target: Store, namespaces: Sequence[str] | None, told: Told) -> list[CopiedNamespace]:
    """Copy these namespaces, or all, and prove the copy. What is there already is not written again."""
    giving, taking = transfer_of(source), transfer_of(target)
    names = source.namespaces() if namespaces is None else list(namespaces)
    for name in names:
        _require_namespace(giving, name)
        _require_continuation(giving, taking, name)
    serving = source.serving_generation()
    stats = sorted(source.generations(), key=lambda each: each.generation != serving)
    for each in stats:
        unrelated = source.calibration(each.generation)
        if unrelated is not None:
            target.put_calibration(each.generation, unrelated)
    copied: list[CopiedNamespace] = []
    for name in names:
        copied.append(_copy_namespace(giving, taking, name, [each.generation for each in stats]))
        told(copied[-1])
    if namespaces is None:
        for checkpoint in {one.name: one for name in names for one in source.checkpoints(name)}.values():
            if checkpoint.namespace is None:
                taking.copy_checkpoint(checkpoint)
        if not target.calls(None, 1) and (calls := source.calls(None)):
            target.record_calls(calls[::-1])
            target.flush_use(patience=5.0)
        if serving is not None:
            target.serve(serving)
    _verify(giving, taking, source, target, names)
    return copied


def missing_lines(source: Store, target: Store | None, namespaces: Sequence[str] | None) -> list[CopiedNamespace]:
    """How many lines a copy would bring. Vectors are not counted."""
    giving, taking = transfer_of(source), None if target is None else transfer_of(target)
    found: list[CopiedNamespace] = []
    for name in source.namespaces() if namespaces is None else namespaces:
        end = _require_namespace(giving, name)
        if taking is not None:
            _require_continuation(giving, taking, name)
        there = taking.log_end(name) if taking is not None else None
        found.append(CopiedNamespace(name, end.seq - (there.seq if there else 0), 0))
    return found


def _require_namespace(giving: Transfer, name: str) -> LogEnd:
    end = giving.log_end(name)
    if end is None:
        raise InvalidInput(
            f"There is no namespace {name!r:.80} to copy.", remedy=Remedy(Run("namespaces"), " lists them.")
        )
    return end


def _require_continuation(giving: Transfer, taking: Transfer, name: str) -> None:
    """Conflict when the target has lines that the source has not."""
    end = taking.log_end(name)
    if end is None or not end.seq:
        return
    lines = giving.logged_lines(name, end.seq - 1, 1)
    if not lines or lines[0].line.seq != end.seq or lines[0].hash != end.head:
        raise Conflict(
            f"The namespace {name!r:.80} has changes there that are not here.",
            remedy="Copy into an empty store, or name other namespaces; nothing was changed.",
        )


def _copy_namespace(
    giving: Transfer, taking: Transfer, name: str, generations: Sequence[Generation]
) -> CopiedNamespace:
    end = taking.log_end(name)
    is_new = end is None or not end.seq
    after = end.seq if end else 0
    extras = giving.extras(name)
    lines = vectors = 0
    dropped: dict[int, list[int]] = {}
    with taking.receiving(name) as receiver:
        while page := giving.logged_lines(name, after, LINES_AT_A_TIME):
            for logged in page:
                _replay(receiver, logged, extras, name)
                lines += 1
            after = page[-1].line.seq
            if not is_new:
                for logged in page:
                    dropped.setdefault(logged.line.number, [])
        for number, seqs in _dropped_before(giving, name, dropped, end).items():
            receiver.drop_payloads(number, seqs)
        receiver.put_extras(extras, is_new=is_new)
        for generation in generations:
            position = 0
            while rows := giving.vector_rows(name, generation, position, VECTORS_AT_A_TIME):
                vectors += receiver.take_vectors(generation, rows)
                position = rows[-1].position
    return CopiedNamespace(name, lines, vectors)


def _replay(receiver: Receiver, logged: LoggedLine, extras: NamespaceExtras, name: str) -> None:
    record: Record | None = None
    entry: Entry | None = None
    if logged.body is not None and logged.line.operation != ERASE:
        record = decode_payload(logged.body).record
        tokens = extras.tokens.get(record.number)
        entry = entry_of(record, estimate if tokens is None else lambda _: tokens)
    try:
        receiver.replay(logged, record, entry)
    except InvalidInput as error:
        raise InvalidInput(
            f"Memory {logged.line.number} of {name!r:.80} cannot be kept there: {error.sentence}",
            remedy=error.cli_remedy,
        ) from error


def _dropped_before(
    giving: Transfer, name: str, touched: Mapping[int, object], end: LogEnd | None
) -> dict[int, list[int]]:
    """Of memories that were changed since the last copy: the earlier lines whose payloads are gone since."""
    gone: dict[int, list[int]] = {}
    if not touched or end is None:
        return gone
    after = 0
    while page := giving.logged_lines(name, after, LINES_AT_A_TIME):
        for logged in page:
            if logged.line.seq <= end.seq and logged.line.number in touched and logged.body is None:
                gone.setdefault(logged.line.number, []).append(logged.line.seq)
        after = page[-1].line.seq
        if after >= end.seq:
            break
    return gone


def _verify(giving: Transfer, taking: Transfer, source: Store, target: Store, names: Sequence[str]) -> None:
    """StoreDamaged when the copy is not what was copied: the ends of the logs, the counts, and a sample of answers."""
    wanted = {stats.name: (stats.states, stats.categories) for stats in source.stats(None).namespaces}
    found = {stats.name: (stats.states, stats.categories) for stats in target.stats(None).namespaces}
    for name in names:
        # Whoever wrote to the source meanwhile is ahead of the copy, and that is no fault of it.
        end, there = giving.log_end(name), taking.log_end(name)
        if there is None or end is None or (end.seq == there.seq and end.head != there.head) or end.seq < there.seq:
            raise StoreDamaged(f"The log of {name!r:.80} did not arrive as it was.")
        if end.seq == there.seq and wanted.get(name) != found.get(name):
            raise StoreDamaged(f"The counts of {name!r:.80} are not what they were.")
        if end.seq == there.seq:
            _compare_sample(source, target, name)


def _compare_sample(source: Store, target: Store, name: str) -> None:
    last = source.position(name, None).seq
    numbers = sorted({1 + step * max(1, last // 20) for step in range(20)})
    with source.read(name) as here, target.read(name) as there:
        for number in numbers:
            if here.last_version(number) != there.last_version(number):
                raise StoreDamaged(f"The history of memory {number} of {name!r:.80} did not arrive as it was.")
        if here.fetch(numbers) != there.fetch(numbers):
            raise StoreDamaged(f"The memories of {name!r:.80} did not arrive as they were.")


def logged_line(row: Row) -> LoggedLine:
    """From the columns of `perdure.store.doctor.chain.line_of`, with the body as text."""
    line, stored, salt, _ = line_of(row)
    return LoggedLine(line, stored, salt, row[-1])


def require_hash(head: bytes, logged: LoggedLine) -> None:
    """The line was appended to the log that it comes from, or the chain would be another one."""
    if head != logged.hash:
        raise StoreError(f"Line {logged.line.seq} does not continue the log.", remedy="Copy into an empty store.")
