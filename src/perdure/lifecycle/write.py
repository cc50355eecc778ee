"""The one write path. Every change of a memory is a `Plan` that `apply_plan` carries out inside a transaction.

Slow work (index entry, vector) is done before the transaction begins. Inside it the memory is read again; if somebody
else changed it meanwhile, the plan is made again on the record as it is now.
"""

# The fields of a write have a text, and `remember` adds its hash.
# pyright: reportTypedDictNotRequiredAccess=false

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from perdure.buggify import point
from perdure.clock import local_day
from perdure.embed.port import checked_vectors
from perdure.errors import CapacityExceeded, Conflict, EmbedderUnavailable, InvalidInput, StoreDamaged, VersionConflict
from perdure.ids import content_hash, new_id
from perdure.lifecycle.capacity import memories_to_evict
from perdure.lifecycle.tier_policy import ONLY_PEOPLE, apply_tier
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import Operation, Outcome, Record, Remembered, replace_record, same_history
from perdure.store.port import LogFilter, Reader, Writer
from perdure.text.entry import Entry, entry_of, passage
from perdure.tiers import offered_tier
from perdure.validation import (
    MAX_ITEMS,
    RecordFields,
    check_fields,
    check_int,
    check_single_line,
    check_text,
    check_validity,
)

if TYPE_CHECKING:
    from perdure.services import Services

# The tombstone of a text has a reason that must not quote the text.
_TOMBSTONE_REASONS: Final[dict[Operation, str]] = {
    "update": "corrected", "forget": "forgotten", "erase": "erased", "undo": "taken back", "rewind": "taken back",
}  # fmt: skip
# These also leave a tombstone for a memory that had expired or been evicted before.
_DELETING: Final[frozenset[Operation]] = frozenset({"forget", "erase"})
# Nobody deleted these memories on purpose, so an import may bring them back.
_LEAVES_NO_TOMBSTONE: Final[frozenset[Operation]] = frozenset({"expire", "evict"})
# These operations may need more room than before.
_GROWING: Final[frozenset[Operation]] = frozenset({"insert", "update", "restore"})


@dataclass(frozen=True, slots=True)
class WriteRequest:
    """One validated write. `force_new_version`: write a version even if the text is unchanged. `expected_version`: a
    compare-and-set guard; 0 means that the key must not be active.
    """

    fields: RecordFields
    idempotency_key: str | None = None
    force_new_version: bool = False
    expected_version: int | None = None

    def require_expected_version(self, existing: Record | None) -> None:
        active = existing if existing and existing.state == "active" else None
        expected, key = self.expected_version, self.fields.get("key")
        if expected == (active.version if active else 0):
            return
        if active:
            raise VersionConflict(f"{key} has version {active.version} now, not {expected or 'none'}.")
        last = f"{key} is {existing.state}; its last version was {existing.version}." if existing else None
        raise VersionConflict(
            last or f"There is no {key}.",
            remedy="Say 0 for a memory that is not there, or that should come back; nothing was changed.",
        )

    def earlier_answer(self, writer: Writer) -> Remembered | None:
        """The answer of an earlier call with this idempotency key, unless its memory was erased since."""
        lines = writer.log(LogFilter(request=self.idempotency_key), limit=1)
        earlier = writer.by_number(lines[0].number) if lines else None
        if earlier is None:
            return None
        written = lines[0].record
        other_text = written is not None and written.content_hash != content_hash(self.fields["text"])
        if other_text or ("key" in self.fields and earlier.key != self.fields["key"]):
            raise Conflict(
                f"This idempotency key stored memory #{earlier.number}, which says something else.",
                remedy="Use a new key for a new memory; nothing was changed.",
            )
        return Remembered(earlier, "repeated", None)


@dataclass(frozen=True, slots=True)
class Plan:
    """The intended write: the record before (None: insert) and after, and the operation that the log will show."""

    previous: Record | None
    record: Record
    operation: Operation
    outcome: Outcome
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """Computed before the transaction begins. `vector` is None when none is needed, or when it is `vector_pending`."""

    entry: Entry
    vector: bytes | None = None
    vector_pending: bool = False


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The record as it was written, since when its text had a tombstone, and what was evicted to make room."""

    record: Record
    tombstone_since: datetime | None = None
    evicted: tuple[Record, ...] = ()


Find: TypeAlias = Callable[[Reader], Record | None]
Planner: TypeAlias = Callable[[Record | None, datetime], Plan]


def remember(services: Services, namespace: str, request: WriteRequest) -> Remembered:
    """Store a memory: a new one, one more observation of the same text, or a new version of its key."""
    # The hash says whether a text is stored already; a megabyte should be hashed once.
    fields = request.fields | {"content_hash": content_hash(request.fields["text"])}

    def plan(existing: Record | None, at: datetime) -> Plan:
        allowed, notes = apply_tier(services, fields, at, existing)
        planned = plan_write(existing, namespace, allowed, at, force_new_version=request.force_new_version)
        return replace(planned, notes=(*notes, *planned.notes)) if notes else planned

    with services.store.read(namespace) as reader:
        existing = lookup(reader, fields)
    return write(services, namespace, existing, partial(lookup, fields=fields), plan, request)


def apply_change(services: Services, record: Record, plan_on: Callable[[Record, datetime], Plan]) -> Remembered:
    """Change one memory that is there already."""

    def plan(current: Record | None, at: datetime) -> Plan:
        if current is None:
            raise Conflict(f"Memory #{record.number} was erased meanwhile.")
        return plan_on(current, at)

    return write(services, record.namespace, record, lambda reader: reader.by_number(record.number), plan)


def write(
    services: Services,
    namespace: str,
    existing: Record | None,
    find: Find,
    plan_on: Planner,
    request: WriteRequest | None = None,
) -> Remembered:
    """Plan and prepare on `existing` outside the transaction, then `find` it again inside. If somebody else was faster,
    the plan is made again inside, where nobody else can write, and nothing is embedded there.
    """
    batch = services.context.batch()
    plan = plan_on(existing, batch.at)
    if plan.outcome == "unchanged":
        return Remembered(plan.record, plan.outcome, None, notes=plan.notes)
    prepared = prepare(services, plan)
    with services.store.write(namespace) as writer:
        if request and request.idempotency_key and (repeated := request.earlier_answer(writer)):
            return repeated
        current = find(writer)
        if request and request.expected_version is not None:
            request.require_expected_version(current)
        if not _is_same(current, existing):
            plan = plan_on(current, batch.at)
            if plan.outcome == "unchanged":
                return Remembered(plan.record, plan.outcome, None, notes=plan.notes)
            prepared = prepare(services, plan, prepared)
        new_key = plan.record.key
        owner = writer.by_key(new_key) if plan.previous and new_key and new_key != plan.previous.key else None
        if plan.previous and owner and owner.number != plan.previous.number:
            raise Conflict(f"The key {new_key!r} names another memory.", remedy="Choose another key.")
        key = request.idempotency_key if request else None
        result = apply_plan(services, writer, plan, batch, prepared, idempotency_key=key)
        if request and request.force_new_version:
            writer.touch(result.record.number, batch.at)
            result = replace(result, record=replace_record(result.record, accessed_at=batch.at))
    notes = list(plan.notes)
    if result.tombstone_since and plan.operation != "restore":
        notes.append(
            f"This text was forgotten or corrected on {local_day(result.tombstone_since)}; it is remembered again."
        )
    if prepared.vector_pending and services.embedder:
        notes.append("Stored without a vector: recall finds it by keyword now, and by meaning after `perdure work`.")
    record = result.record
    return Remembered(
        record, plan.outcome, batch.id, prepared.vector_pending, tuple(notes), result.evicted, offered_tier(record)
    )


def apply_plan(
    services: Services,
    writer: Writer,
    plan: Plan,
    batch: WriteBatch,
    prepared: PreparedWrite | None = None,
    *,
    idempotency_key: str | None = None,
    room: bool = True,
) -> WriteResult:
    """Carry out a plan inside a transaction, with everything that follows from it: payloads, tombstones, vector, room.
    A caller that writes many memories says `room=False` and makes room once for all.
    """
    previous, record = plan.previous, plan.record
    if previous is None:
        record = replace_record(record, number=writer.next_number())
    elif plan.operation == "update":
        # A version that was taken back keeps its number for ever.
        record = replace_record(record, version=writer.last_version(record.number) + 1)
    entry = prepared.entry if prepared else entry_of(record, services.tokens.count)
    record = writer.put(record, batch.change(plan.operation, idempotency_key), entry)
    if previous is not None and not services.settings.versioning:
        writer.drop_payloads(record.number)
    tombstone_since = update_tombstones(writer, plan.operation, previous, record, batch.at)
    if prepared and prepared.vector is not None and services.embedder is not None:
        writer.put_vector(services.embedder.generation, entry.passage_hash, prepared.vector)
    evicted: tuple[Record, ...] = ()
    if room and plan.operation in _GROWING:
        evicted = make_room(services, writer, batch, record, previous)
    return WriteResult(record, tombstone_since, evicted)


def make_room(
    services: Services, writer: Writer, batch: WriteBatch, written: Record, previous: Record | None = None
) -> tuple[Record, ...]:
    """Evict what the namespace has no room for any more, never the record that was just written. CapacityExceeded takes
    the write back when evicting is not enough; but a correction that makes a memory shorter is always welcome.
    """
    load, settings = writer.load(), services.settings
    if not (load.max_items or load.max_tokens or settings.max_items or settings.max_tokens):
        return ()
    try:
        chosen = memories_to_evict(services, writer, load, written)
    except CapacityExceeded:
        count = services.tokens.count
        if previous and previous.state == "active" and count(written.text) <= count(previous.text):
            return ()
        raise
    evicted: list[Record] = []
    for record in chosen:
        plan = Plan(record, replace_record(record, state="evicted"), "evict", "updated")
        evicted.append(apply_plan(services, writer, plan, batch).record)
        point("evict: put")
        if not services.grace:
            writer.erase(record.number, batch.change("erase"), traceless=False)
            point("evict: erased")
    return tuple(evicted)


def update_tombstones(
    writer: Writer, operation: Operation, before: Record | None, after: Record | None, at: datetime
) -> datetime | None:
    """Called after the write that made `after` of `before` (None: no memory). A text is alive while an active memory
    has it. A text that the write ended gets a tombstone; a text that it brought to life loses its tombstone, and the
    answer is since when it had one.
    """
    if operation in _LEAVES_NO_TOMBSTONE:
        return None
    ended = before.content_hash if before and (operation in _DELETING or before.state == "active") else None
    alive = after.content_hash if after and after.state == "active" else None
    if ended == alive:
        return None
    if ended:
        writer.add_tombstone(ended, _TOMBSTONE_REASONS.get(operation, "replaced"), at)
    return writer.lift_tombstone(alive) if alive else None


def prepare(services: Services, plan: Plan, overtaken: PreparedWrite | None = None) -> PreparedWrite:
    """Compute the index entry and the vector. An embedder that is down never fails a write: the vector comes later.

    `overtaken` was prepared for a plan that somebody else overtook: its vector is used if it fits, none is computed.
    """
    entry = entry_of(plan.record, services.tokens.count)
    if overtaken and overtaken.entry.passage_hash == entry.passage_hash:
        return replace(overtaken, entry=entry)
    previous = plan.previous
    if previous is not None and previous.state == "active" and passage(previous) == passage(plan.record):
        return PreparedWrite(entry)
    if overtaken or services.embedder is None:
        return PreparedWrite(entry, vector_pending=True)
    try:
        vector = checked_vectors(services.embedder, [passage(plan.record)])[0].tobytes()
    except EmbedderUnavailable:
        return PreparedWrite(entry, vector_pending=True)
    return PreparedWrite(entry, vector)


def lookup(reader: Reader, fields: RecordFields) -> Record | None:
    """The memory that these fields would change: the one with their key, or the active one with their text."""
    key = fields.get("key")
    return reader.by_key(key) if key else reader.by_content(fields["content_hash"])


def is_unchanged(reader: Reader, record: Record, *, if_damaged: bool = False) -> bool:
    """Whether a memory is still as it was read. `if_damaged` is the answer for one that cannot be read any more."""
    try:
        return _is_same(reader.by_number(record.number), record)
    except StoreDamaged:
        return if_damaged


def plan_write(
    existing: Record | None, namespace: str, fields: RecordFields, at: datetime, *, force_new_version: bool = False
) -> Plan:
    """Pure. A memory is inserted, observed once more, or gets a new version. Fields that are not given stay as they
    are, except the times of validity: a new version is a new statement.
    """
    notes: list[str] = []
    if existing is None:
        values = cast("dict[str, Any]", {"created_at": at, "updated_at": at} | fields)
        plan = Plan(None, Record(id=new_id(), number=0, namespace=namespace, **values), "insert", "inserted")
    elif (
        not force_new_version
        and existing.state == "active"
        and existing.content_hash == fields["content_hash"]
        # Without a key, case and white space do not count; a text with a key is taken to the letter.
        and (existing.key is None or existing.text == fields["text"])
    ):
        changes: dict[str, Any] = {**fields, "observation_count": existing.observation_count + 1, "updated_at": at}
        if existing.text != fields["text"]:
            notes.append("Already stored with different case or spacing; the original wording is kept.")
            changes["text"] = existing.text
        if "expires_at" not in fields and existing.expires_at and existing.expires_at <= at:
            changes["expires_at"] = None
        for name, given in (("tags", fields.get("tags", ())), ("evidence", fields.get("evidence", ()))):
            together = tuple(dict.fromkeys((*getattr(existing, name), *given)))
            if len(together) > MAX_ITEMS:
                notes.append(f"A memory has at most {MAX_ITEMS} {name}: the newest were left out.")
            changes[name] = together[:MAX_ITEMS]
        plan = Plan(existing, replace_record(existing, **changes), "observe", "observed")
    else:
        returns = existing.state != "active"
        changes = {"updated_at": at}
        if returns or existing.text != fields["text"]:
            changes |= {"valid_at": None, "invalid_at": None}
        if existing.expires_at and existing.expires_at <= at:
            changes["expires_at"] = None
        if returns and existing.tier == ONLY_PEOPLE and "tier" not in fields:
            # A person agreed to the tier of the memory that was deleted, not of the one that comes back.
            changes["tier"] = "normal"
            promote = f"`perdure promote {existing.number}` changes that"
            notes.append(f"It was constitutional and comes back as normal: {promote}.")
        changes |= {**fields, "version": existing.version + 1, "state": "active"}
        plan = Plan(existing, replace_record(existing, **changes), "update", "updated")
    check_validity(plan.record.valid_at, plan.record.invalid_at)
    begins = fields.get("valid_at")
    if begins and begins > at:
        notes.append(
            f"It becomes true on {local_day(begins)}. Until then recall shows neither it nor what it replaces, unless "
            "it is asked with as_of (--as-of)."
        )
    return replace(plan, notes=tuple(notes)) if notes else plan


def check_request(
    services: Services,
    text: str,
    fields: Mapping[str, object],
    idempotency_key: str | None = None,
    expected_version: int | None = None,
    *,
    force_new_version: bool = False,
) -> tuple[WriteRequest, tuple[str, ...]]:
    """One checked write, and a note when secrets were taken out."""
    checked, notes = check_write(services, text, fields)
    if force_new_version and checked.get("key") is None:
        raise InvalidInput("A memory is upserted under a key.", remedy="Write it as type:identifier, or use remember.")
    key = None if idempotency_key is None else check_single_line(idempotency_key, "idempotency_key")
    expected = None if expected_version is None else check_int(expected_version, "expected_version", 0, 2**31)
    return WriteRequest(checked, key, force_new_version=force_new_version, expected_version=expected), notes


def check_write(
    services: Services, text: object, fields: Mapping[str, object], *, partial: bool = False
) -> tuple[RecordFields, tuple[str, ...]]:
    """The fields of a write, checked and without secrets, and one note that names the kinds of secrets, if there were
    any. A `partial` write may be without a text: then the text stays.
    """
    checked: RecordFields = {} if partial and text is None else {"text": check_text(text)}
    checked |= check_fields(fields, services.settings.categories, services.context.clock)
    if checked.get("metadata", {}) is None:
        checked["metadata"] = {}
    if not services.settings.redact:
        return checked, ()
    from perdure.text.secrets import redact

    kinds: list[str] = []

    def redacted(value: Any) -> Any:
        if isinstance(value, str):
            result = redact(value)
            if result.text != value:  # a text that was redacted long ago names its kinds too
                kinds.extend(result.found)
            return result.text
        if isinstance(value, tuple):
            return tuple(dict.fromkeys(redacted(item) for item in cast("tuple[Any, ...]", value)))
        if isinstance(value, list):
            return [redacted(item) for item in cast("list[Any]", value)]
        if isinstance(value, dict):
            return {redacted(name): redacted(item) for name, item in cast("dict[Any, Any]", value).items()}
        return value

    safe = cast("RecordFields", redacted(checked))
    if not kinds:
        return checked, ()
    if safe.get("key") != checked.get("key"):
        raise InvalidInput("The key holds a secret.", remedy="Choose a key that may be seen; nothing was changed.")
    return safe, (f"Redacted before storing: {', '.join(dict.fromkeys(kinds))}.",)


def _is_same(current: Record | None, read: Record | None) -> bool:
    if current is None or read is None:
        return current is read
    # After a backup was restored, another change may have the same position in the log.
    return current.seq == read.seq and same_history(current, read)
