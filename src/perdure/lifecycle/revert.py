"""Reverting memories to an earlier state, for `undo` and for checkpoints. Nothing is removed from the log: the earlier
state is written once more, for all memories in one transaction or for none.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from operator import attrgetter
from typing import TYPE_CHECKING, Final, Protocol

from perdure.buggify import point
from perdure.clock import local_day
from perdure.errors import NotAllowed
from perdure.lifecycle.model_rights import require_no_person
from perdure.lifecycle.write import Plan, PreparedWrite, apply_plan, retry_when_rolled_back
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import (
    INDEXED_STATES,
    Identity,
    Operation,
    Record,
    RevertResult,
    Revision,
    Skipped,
    identity_of,
    replace_record,
    same_history,
)
from perdure.store.port import LogFilter, Position, Reader, Store, Writer
from perdure.text.entry import entry_of
from perdure.tiers import ONLY_PEOPLE

if TYPE_CHECKING:
    from perdure.services import Services

DAMAGED: Final = "It is damaged; `perdure doctor --repair` may bring it back."

_MAX_ATTEMPTS: Final = 3
_MAX_NEW_LINES: Final = 1000
_LISTED: Final = 5

# A person agreed to these fields when a memory became constitutional.
_agreed: Final = attrgetter(
    "text", "title", "abstract", "summary", "reasoning", "tier", "key", "valid_at", "invalid_at", "expires_at", "state"
)


@dataclass(frozen=True, slots=True)
class RevertPlan:
    """The target of each memory: a record out of its past, or None for a memory that should not be there.

    `current` has the record of each memory as it is now, `skipped` names the memories that cannot be reverted.
    """

    targets: Mapping[int, Record | None] = field(default_factory=dict[int, Record | None])
    current: Mapping[int, Record] = field(default_factory=dict[int, Record])
    skipped: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


class RevertSource(Protocol):
    """One namespace to revert: a batch in it, a session, or everything since a checkpoint."""

    @property
    def namespace(self) -> str: ...

    @property
    def operation(self) -> Operation: ...

    def plan(self, reader: Reader) -> RevertPlan: ...

    def may_change_plan(self, line: Revision) -> bool:
        """Whether a line that was written after the plan was made may change it."""
        ...


@dataclass(frozen=True, slots=True)
class PreparedRevert:
    """The writes of one namespace, prepared when its log stood at `position`."""

    source: RevertSource
    plan: RevertPlan
    position: Position
    writes: Sequence[Plan] = ()
    prepared: Mapping[int, PreparedWrite] = field(default_factory=dict[int, PreparedWrite])
    notes: tuple[str, ...] = ()

    def is_current(self, store: Store, writer: Writer) -> bool:
        """Whether nothing was written since that may change the plan."""
        now = store.position(self.source.namespace, None)
        if now.repairs != self.position.repairs or now.seq < self.position.seq:
            return False
        lines = writer.log(LogFilter(after=self.position.seq), limit=_MAX_NEW_LINES)
        changed = any(line.number in self.plan.targets or self.source.may_change_plan(line) for line in lines)
        return not changed and len(lines) < _MAX_NEW_LINES


def revert(services: Services, sources: Sequence[RevertSource], *, dry_run: bool = False) -> RevertResult:
    """The writes are planned outside the transaction and checked inside it. When others write too fast for that, they
    are planned inside the transaction. `batch` of the answer is None when there is nothing to write.
    """
    return retry_when_rolled_back(partial(_revert, services, sources, dry_run=dry_run))


def _revert(services: Services, sources: Sequence[RevertSource], *, dry_run: bool) -> RevertResult:
    store, batch = services.store, services.context.batch()
    namespaces = [source.namespace for source in sources]
    for _ in range(_MAX_ATTEMPTS):
        prepared = [_prepare(services, source) for source in sources]
        if dry_run or not any(each.writes for each in prepared):
            return _result(None, prepared)
        point("rewind: planned")
        with store.write_together(namespaces) as writers:
            pairs = list(zip(writers, prepared, strict=True))
            if all(each.is_current(store, writer) for writer, each in pairs):
                return _result(batch.id, [_apply(services, writer, each, batch) for writer, each in pairs])
    with store.write_together(namespaces) as writers:
        written = [
            _apply(services, writer, PreparedRevert(source, source.plan(writer), Position()), batch)
            for writer, source in zip(writers, sources, strict=True)
        ]
    return _result(batch.id if any(each.writes for each in written) else None, written)


def plan_writes(plan: RevertPlan, operation: Operation, reader: Reader) -> tuple[list[Plan], tuple[str, ...]]:
    """Pure but for two questions to the reader: who has a key, and who says a text. A memory that is as it should be
    needs no write. A memory that comes back gets its key unless another memory has it that stays as it is; the notes
    name the keys that are lost, and the memories that say the same afterwards.
    """
    restored = {number: target for number, target in plan.targets.items() if target is not None}
    notes: list[str] = []
    taken: set[str] = set()
    # A memory that has its key already keeps it; of several that had the same key at different times, the first wins.
    for number in sorted(restored, key=lambda number: (restored[number].key != plan.current[number].key, number)):
        key = restored[number].key
        if key is None:
            continue
        owner = None if key == plan.current[number].key else reader.by_key(key)
        gives_up = owner is None or (
            owner.number in plan.targets and (owner.number not in restored or restored[owner.number].key != key)
        )
        if key not in taken and gives_up:
            taken.add(key)
        else:
            restored[number] = replace_record(restored[number], key=None)
            notes.append(f"#{number} is without its key {key!r}, which another memory has now.")
    writes: list[Plan] = []
    for number in sorted(plan.targets):
        before = plan.current[number]
        after = restored.get(number)
        # What is taken back was never said. What was said before, and is over again, keeps its tombstone.
        ends_again = after is not None and after.version >= before.version
        if after is None:
            after = replace_record(before, state="deleted", key=None if before.key in taken else before.key)
        if not same_history(before, after):
            writes.append(Plan(before, after, operation, "updated", leaves_tombstone=ends_again))
    twins = find_twins(writes, reader)
    if twins:
        listed = ", ".join(f"#{number} and #{twin}" for number, twin in twins[:_LISTED])
        more = f" and {len(twins) - _LISTED:,} more pairs" if len(twins) > _LISTED else ""
        notes.append(f"Two memories say the same now: {listed}{more}. Forget one of them if you need it once.")
    return writes, tuple(notes)


def find_twins(writes: Sequence[Plan], reader: Reader) -> list[tuple[int, int]]:
    """The memories without a key that come to life beside another one that says the same in the same scope."""
    written = {plan.record.number for plan in writes}
    said: dict[Identity, int] = {}
    twins: list[tuple[int, int]] = []
    for plan in writes:
        before, record = plan.previous, plan.record
        if record.key is not None or record.state != "active":
            continue
        identity = identity_of(record)
        first = said.setdefault(identity, record.number)
        if before and (before.state != "active" or identity_of(before) != identity):
            other = reader.by_content(identity)
            first = other.number if other and other.number not in written else first
        if first != record.number:
            twins.append((record.number, first))
    return twins


def why_missing(lines: Sequence[Revision]) -> str:
    """Why a memory with these lines in the log has no record any more."""
    changes = [line.change for line in lines]
    erased = next((change for change in reversed(changes) if change.operation == "erase"), None)
    if erased is None:
        return DAMAGED
    # An evicted memory may have given up its key in between.
    before = next((each for each in reversed(changes) if each.operation not in {"erase", "annotate"}), erased)
    if before.operation == "evict":
        return f"It was evicted on {local_day(before.at)} to make room, and is not kept any more."
    return f"It was erased by {erased.actor} on {local_day(erased.at)}."


def _prepare(services: Services, source: RevertSource) -> PreparedRevert:
    store, embedder = services.store, services.embedder
    position = store.position(source.namespace, None)
    with store.read(source.namespace) as reader:
        plan = source.plan(reader)
        writes, notes = plan_writes(plan, source.operation, reader)
        _require_permission(services, reader, plan, writes)
    prepared = {write.record.number: PreparedWrite(entry_of(write.record, services.tokens.count)) for write in writes}
    indexed = {
        prepared[write.record.number].entry.passage_hash for write in writes if write.record.state in INDEXED_STATES
    }
    if embedder and indexed:
        # Vectors outlive the texts they were made of, so mostly none is missing.
        with store.read(source.namespace) as reader:
            missing = len(indexed - reader.passage_vectors(embedder.generation, list(indexed)).keys())
        if missing:
            waiting = (
                "1 memory waits for its vector" if missing == 1 else f"{missing:,} memories wait for their vectors"
            )
            notes = (*notes, f"{waiting}: found by keyword now, by meaning after `perdure work`.")
    return PreparedRevert(source, plan, position, writes, prepared, notes)


def _apply(services: Services, writer: Writer, prepared: PreparedRevert, batch: WriteBatch) -> PreparedRevert:
    writes, notes = plan_writes(prepared.plan, prepared.source.operation, writer)
    _require_permission(services, writer, prepared.plan, writes)
    for plan in writes:
        if plan.previous and plan.previous.key is not None and plan.previous.key != plan.record.key:
            writer.release_key(plan.record.number)
    point("rewind: keys released")
    for count, plan in enumerate(writes):
        if count == len(writes) // 2:
            point("rewind: half written")
        apply_plan(services, writer, plan, batch, prepared.prepared.get(plan.record.number))
    point("rewind: written")
    return replace(prepared, writes=writes, notes=prepared.notes or notes)


def _require_permission(services: Services, reader: Reader, reverted: RevertPlan, writes: Iterable[Plan]) -> None:
    for plan in () if services.context.is_person else writes:
        number = plan.record.number
        records = [record for record in (plan.previous, plan.record) if record]
        binding = any(record.tier == ONLY_PEOPLE and record.state == "active" for record in records)
        if binding and len({_agreed(record) for record in records}) > 1:
            raise NotAllowed(f"Memory #{number} is or was constitutional, and only a person may change that.")
        target = reverted.targets[number]
        require_no_person(reader.revisions(number), number, since=0 if target is None else target.seq)


def _result(batch: str | None, prepared: Sequence[PreparedRevert]) -> RevertResult:
    """With several namespaces, each reason and each note names its own, and `parts` say what was done in each."""
    reverted: list[int] = []
    removed: list[int] = []
    skipped: list[Skipped] = []
    notes: list[str] = []
    parts: dict[str, RevertResult] = {}
    for each in prepared:
        where = f"In namespace {each.source.namespace!r}: " if len(prepared) > 1 else ""
        numbers = [plan.record.number for plan in each.writes]
        gone = [number for number in numbers if each.plan.targets[number] is None]
        reverted += [number for number in numbers if each.plan.targets[number] is not None]
        removed += gone
        skipped += [replace(one, reason=f"{where}{one.reason}") for one in each.plan.skipped]
        counted = [f"{len(numbers) - len(gone):,} as they were, {len(gone):,} removed."] if where and numbers else []
        notes += [f"{where}{note}" for note in (*each.plan.notes, *counted, *each.notes)]
        if where and (numbers or each.plan.skipped):
            parts[each.source.namespace] = _result(batch, [each])
    return RevertResult(batch, tuple(reverted), tuple(removed), tuple(skipped), tuple(notes), parts)
