"""How memories become again what they were: any number of them, by appending, all in one transaction or not at all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol, TypeAlias

from perdure.buggify import point
from perdure.errors import NotAllowed
from perdure.ids import ContentHash, Reference
from perdure.lifecycle.tier_policy import ONLY_PEOPLE
from perdure.lifecycle.tombstone import settle
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import (
    INDEXED_STATES,
    Operation,
    Record,
    RevertResult,
    Revision,
    Skipped,
    replace_record,
    same_history,
)
from perdure.store.port import LogFilter, Position, Store, Writer
from perdure.text.entry import Entry, entry_of

if TYPE_CHECKING:
    from perdure.services import Services

Holder: TypeAlias = Callable[[str], Record | None]

_ATTEMPTS: Final = 3
_FEW: Final = 1000

# What a person agreed to when a memory became constitutional.
_agreed: Final = attrgetter(
    "text", "title", "abstract", "summary", "reasoning", "tier", "key", "valid_at", "invalid_at", "expires_at", "state"
)


@dataclass(frozen=True, slots=True)
class Aim:
    """What memories should become: a record out of their past, or None for what should not be there.

    `current` has the record of each as it is now, `left` those that cannot be brought back.
    """

    goals: Mapping[int, Record | None] = field(default_factory=dict[int, Record | None])
    current: Mapping[int, Record] = field(default_factory=dict[int, Record])
    left: tuple[Skipped, ...] = ()
    notes: tuple[str, ...] = ()


class Intent(Protocol):
    """What is to be taken back in one namespace."""

    @property
    def namespace(self) -> str: ...

    @property
    def operation(self) -> Operation: ...

    def plan(self) -> Aim:
        """Read from the store as it is at this moment."""
        ...

    def selects(self, line: Revision) -> bool:
        """Whether a line that was written after the plan was made may have changed it."""
        ...


class Step(NamedTuple):
    before: Record
    after: Record
    removal: bool


@dataclass(frozen=True, slots=True)
class Draft:
    """One namespace's part, as far as it could be prepared when the log stood at `seen`."""

    intent: Intent
    aim: Aim
    seen: Position
    steps: Sequence[Step] = ()
    entries: Mapping[int, Entry] = field(default_factory=dict[int, Entry])
    notes: tuple[str, ...] = ()

    @property
    def where(self) -> str:
        return f"In namespace {self.intent.namespace!r}"

    @property
    def count(self) -> str:
        removed = sum(step.removal for step in self.steps)
        return f"{len(self.steps) - removed:,} as they were, {removed:,} removed."


def rewind(services: Services, intents: Sequence[Intent], *, dry_run: bool = False) -> RevertResult:
    """Planned outside the transaction and checked inside it. When others write too fast for that, it is planned inside
    the transaction, where nobody else can. Nothing to do leaves `batch` of the answer empty.
    """
    batch = services.context.batch()
    for _ in range(_ATTEMPTS):
        drafts = [_drafted(services, intent) for intent in intents]
        if dry_run or not any(draft.steps for draft in drafts):
            return _answer(None, drafts)
        point("rewind: planned")
        with _writing(services, drafts) as writers:
            if all(_still_true(services.store, draft) for draft in drafts):
                return _answer(batch.id, [_write(services, *each, batch) for each in zip(writers, drafts, strict=True)])
    with services.store.write_together([intent.namespace for intent in intents]) as writers:
        drafts = [Draft(intent, intent.plan(), Position()) for intent in intents]
        drafts = [_write(services, *each, batch) for each in zip(writers, drafts, strict=True)]
    return _answer(batch.id if any(draft.steps for draft in drafts) else None, drafts)


def _drafted(services: Services, intent: Intent) -> Draft:
    seen = services.store.position(intent.namespace, None)
    aim = intent.plan()
    steps, notes = steps_of(aim, _holder(services.store, intent.namespace))
    _require_leave(services, steps)
    entries = _entries(services, steps)
    waiting = _waiting(services, intent.namespace, steps, entries)
    return Draft(intent, aim, seen, steps, entries, (*notes, *waiting))


def _writing(services: Services, drafts: Sequence[Draft]) -> AbstractContextManager[Sequence[Writer]]:
    return services.store.write_together([draft.intent.namespace for draft in drafts])


def steps_of(aim: Aim, holder: Holder) -> tuple[list[Step], tuple[str, ...]]:
    """Pure but for `holder`, who says which memory has a key now. What is as it should be needs no step."""
    restored, notes = _with_keys(aim, holder)
    needed = {record.key for record in restored.values()} - {None}
    steps: list[Step] = []
    for number in sorted(aim.goals):
        before = aim.current[number]
        after = restored.get(number)
        if after is None:
            freed: dict[str, None] = {"key": None} if before.key in needed else {}
            after = replace_record(before, state="deleted", **freed)
        if not same_history(before, after):
            steps.append(Step(before, after, number not in restored))
    return steps, notes


def _with_keys(aim: Aim, holder: Holder) -> tuple[dict[int, Record], tuple[str, ...]]:
    """What comes back, each with its key if it can have it: not when a memory has it that stays as it is."""
    restored = {number: goal for number, goal in aim.goals.items() if goal is not None}
    taken: set[str] = set()
    lost: list[str] = []
    # Who has its key already keeps it; of others that had the same one at different times, the first gets it.
    for number in sorted(restored, key=lambda number: (restored[number].key != aim.current[number].key, number)):
        key = restored[number].key
        if key is None:
            continue
        if key not in taken and (key == aim.current[number].key or _may_go(aim, restored, key, holder(key))):
            taken.add(key)
        else:
            restored[number] = replace_record(restored[number], key=None)
            lost.append(f"#{number} is without its key {key!r}, which another memory has now.")
    return restored, tuple(lost)


def _may_go(aim: Aim, restored: Mapping[int, Record], key: str, held_by: Record | None) -> bool:
    if held_by is None:
        return True
    number = held_by.number
    return number in aim.goals and (number not in restored or restored[number].key != key)


def _write(services: Services, writer: Writer, draft: Draft, batch: WriteBatch) -> Draft:
    steps, notes = steps_of(draft.aim, writer.by_key)
    _require_leave(services, steps)
    change = batch.change(draft.intent.operation)
    for before, after, _ in steps:
        if before.key is not None and before.key != after.key:
            writer.release_key(before.number)
    point("rewind: keys released")
    for count, (_, after, _) in enumerate(steps):
        if count == len(steps) // 2:
            point("rewind: half written")
        writer.put(after, change, draft.entries.get(after.number) or _entry(services, after))
        if not services.settings.versioning:
            writer.drop_payloads(after.number)
    point("rewind: records written")
    _settle(writer, draft.intent.operation, steps, batch.at)
    point("rewind: written")
    return replace(draft, steps=steps, notes=draft.notes or notes)


def _settle(writer: Writer, operation: Operation, steps: Iterable[Step], at: datetime) -> None:
    ended: set[ContentHash] = set()
    alive: set[ContentHash] = set()
    for before, after, _ in steps:
        settle(writer, operation, before, after, at)
        ended |= {before.content_hash} if before.state == "active" else set()
        alive |= {after.content_hash} if after.state == "active" else set()
    # What one memory ceased to say another may say again, and was settled before it.
    for content_hash in ended & alive:
        writer.lift_tombstone(content_hash)


def _still_true(store: Store, draft: Draft) -> bool:
    """Inside the transaction nobody else writes, so what the store says now stays true until its end."""
    intent, seen = draft.intent, draft.seen
    now = store.position(intent.namespace, None)
    if now.repairs != seen.repairs or now.seq < seen.seq:
        return False
    if now.seq == seen.seq:
        return True
    since = store.log(intent.namespace, LogFilter(after=seen.seq), limit=_FEW)
    touched = any(line.number in draft.aim.goals or intent.selects(line) for line in since)
    return not touched and len(since) < _FEW


def _require_leave(services: Services, steps: Iterable[Step]) -> None:
    for before, after, _ in () if services.context.is_person else steps:
        if (_binds(before) or _binds(after)) and _agreed(before) != _agreed(after):
            raise NotAllowed(f"Memory #{after.number} is or was constitutional, and only a person may change that.")


def _binds(record: Record) -> bool:
    return record.tier == ONLY_PEOPLE and record.state == "active"


def _holder(store: Store, namespace: str) -> Holder:
    def holder(key: str) -> Record | None:
        return next(iter(store.find(namespace, Reference("", key=key))), None)

    return holder


def _entries(services: Services, steps: Iterable[Step]) -> dict[int, Entry]:
    return {after.number: _entry(services, after) for _, after, _ in steps}


def _entry(services: Services, record: Record) -> Entry:
    return entry_of(record, services.tokens.count)


def _waiting(
    services: Services, namespace: str, steps: Iterable[Step], entries: Mapping[int, Entry]
) -> tuple[str, ...]:
    """Vectors outlive the words they stand for, so mostly none is missing."""
    found = {entries[after.number].passage_hash for _, after, _ in steps if after.state in INDEXED_STATES}
    if services.embedder is None or not found:
        return ()
    missing = len(found - services.store.passage_vectors(namespace, services.embedder.generation, list(found)).keys())
    said = "1 memory waits for its vector" if missing == 1 else f"{missing:,} memories wait for their vectors"
    return (f"{said}: found by keyword now, by meaning after `perdure work`.",) if missing else ()


def _answer(batch: str | None, drafts: Sequence[Draft]) -> RevertResult:
    """Of several namespaces each says its own; of one there is nothing to tell apart."""
    several = len(drafts) > 1
    return RevertResult(
        batch,
        tuple(step.after.number for draft in drafts for step in draft.steps if not step.removal),
        tuple(step.after.number for draft in drafts for step in draft.steps if step.removal),
        tuple(
            replace(left, reason=f"{draft.where}: {left.reason}") if several else left
            for draft in drafts
            for left in draft.aim.left
        ),
        tuple(
            f"{draft.where}: {note}" if several else note
            for draft in drafts
            for note in (*draft.aim.notes, *((draft.count,) if several and draft.steps else ()), *draft.notes)
        ),
    )
