"""How a memory comes to be: inserted, or recognised and observed once more, or a new version of its key."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Final

from perdure.embed.port import checked_passages
from perdure.errors import CapacityExceeded, Conflict, EmbedderUnavailable, VersionConflict
from perdure.ids import Reference, content_hash, new_id
from perdure.lifecycle.eviction import make_room
from perdure.lifecycle.tier_policy import ONLY_PEOPLE, chosen
from perdure.lifecycle.tombstone import remembered_again, settle
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import Operation, Outcome, Record, Remembered, replace_record, same_history
from perdure.store.port import Store, Writer
from perdure.text.entry import Entry, entry_of, passage
from perdure.tiers import offered_tier
from perdure.validation import MAX_ITEMS, RecordFields, check_validity

if TYPE_CHECKING:
    from perdure.services import Services

PENDING: Final = "Stored without a vector: found by keyword now, by meaning after `perdure work`."

_LATER: Final = (
    "It becomes true on {:%Y-%m-%d}. Until then recall shows neither it nor what it replaces, unless it is asked with "
    "as_of (--as-of)."
)

# What adds up when a memory is said again; whatever else is said about it replaces what was known.
_GATHERED: Final = ("tags", "evidence")
# What belongs to one statement and not to the next: when it is true.
_OF_ITS_TIME: Final = ("valid_at", "invalid_at")
# What takes room that was not taken before.
_GROWING: Final[frozenset[Operation]] = frozenset({"insert", "update", "restore"})


@dataclass(frozen=True, slots=True)
class Saying:
    """What one call says. `afresh` makes a new version of the key whatever is there; `expected` is the version that
    must be there, 0 for none that is alive.
    """

    clean: RecordFields
    request: str | None = None
    afresh: bool = False
    expected: int | None = None


@dataclass(frozen=True, slots=True)
class Plan:
    """What a call will make of what is there: `basis` is that, or None for a new memory."""

    basis: Record | None
    record: Record
    operation: Operation
    outcome: Outcome
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that takes time, done before the transaction begins. No vector: not needed, or not to be had."""

    entry: Entry
    vector: bytes | None
    pending: bool


@dataclass(frozen=True, slots=True)
class Written:
    """What a write did: the record as it is now, when its text had been buried, and what had to go to make room."""

    record: Record
    tombstone_since: datetime | None = None
    evicted: tuple[Record, ...] = ()


def remember(services: Services, namespace: str, saying: Saying) -> Remembered:
    store, batch = services.store, services.context.batch()
    clean = hashed(saying.clean)

    def plan_on(existing: Record | None) -> Plan:
        fields, notes = chosen(services, clean, batch.at, existing)
        plan = plan_for(existing, namespace, fields, batch.at, afresh=saying.afresh)
        return replace(plan, notes=(*notes, *plan.notes)) if notes else plan

    plan = plan_on(_look(store, namespace, clean))
    prepared = prepare(services, plan)
    with store.write(namespace) as writer:
        earlier = writer.by_request(saying.request) if saying.request else None
        if earlier:
            return _repeated(writer, earlier, saying)
        existing = look_again(writer, clean)
        _require_version(existing, saying)
        if _changed(existing, plan.basis):
            plan = plan_on(existing)
            prepared = prepare_again(services, plan, prepared)
        written = write(services, writer, plan, prepared, batch, saying.request)
        if saying.afresh:
            writer.touch(written.record.number, batch.at)
            written = replace(written, record=replace_record(written.record, accessed_at=batch.at))
    return answer(services, plan, prepared, written, batch)


def hashed(clean: RecordFields) -> RecordFields:
    """With the hash that says whether this text is known; a megabyte should be hashed once."""
    return clean | {"content_hash": content_hash(clean["text"])}


def plan_for(
    existing: Record | None, namespace: str, clean: RecordFields, at: datetime, *, afresh: bool = False
) -> Plan:
    """Pure: new, said again, or a new version. What a caller does not mention stays as it is, but for when it is true:
    a new version is a new statement.
    """
    if existing is None:
        plan = _new(namespace, clean, at)
    elif not afresh and _says_the_same(existing, clean):
        plan = _observed(existing, clean, at)
    else:
        plan = _restated(existing, clean, at)
    check_validity(plan.record.valid_at, plan.record.invalid_at)
    begins = clean.get("valid_at")
    if begins and begins > at:
        plan = replace(plan, notes=(*plan.notes, _LATER.format(begins)))
    return plan


def _new(namespace: str, clean: RecordFields, at: datetime) -> Plan:
    fields: RecordFields = {"created_at": at, "updated_at": at} | clean
    return Plan(None, Record(id=new_id(), number=0, namespace=namespace, **fields), "insert", "inserted")


def _restated(existing: Record, clean: RecordFields, at: datetime) -> Plan:
    back = existing.state != "active"
    notes: tuple[str, ...] = ()
    fields: RecordFields = {"updated_at": at}
    if back or existing.text != clean["text"]:
        fields |= dict.fromkeys(_OF_ITS_TIME)
    if existing.expires_at and existing.expires_at <= at:
        fields["expires_at"] = None
    if back and existing.tier == ONLY_PEOPLE and "tier" not in clean:
        # What a person agreed to ended with the memory.
        fields["tier"] = "normal"
        notes = (f"It was constitutional and comes back as normal: `perdure promote {existing.number}` changes that.",)
    fields |= clean | {"version": existing.version + 1, "state": "active"}
    return Plan(existing, replace_record(existing, **fields), "update", "updated", notes)


def _says_the_same(existing: Record, clean: RecordFields) -> bool:
    """Without a key, case and white space do not count; what has a key is taken to the letter."""
    if existing.state != "active" or existing.content_hash != clean["content_hash"]:
        return False
    return existing.key is None or existing.text == clean["text"]


def _observed(existing: Record, clean: RecordFields, at: datetime) -> Plan:
    notes: list[str] = []
    if existing.text != clean["text"]:
        notes.append("It was known in other letters; the first wording stays.")
    fields = clean | {"text": existing.text, "observation_count": existing.observation_count + 1, "updated_at": at}
    if "expires_at" not in clean and existing.expires_at and existing.expires_at <= at:
        fields["expires_at"] = None
    for name in _GATHERED:
        together = tuple(dict.fromkeys((*getattr(existing, name), *clean.get(name, ()))))
        if len(together) > MAX_ITEMS:
            notes.append(f"More than {MAX_ITEMS} {name}: the newest were left out.")
        fields[name] = together[:MAX_ITEMS]
    return Plan(existing, replace_record(existing, **fields), "observe", "observed", tuple(notes))


def look_again(writer: Writer, clean: RecordFields) -> Record | None:
    """Inside the transaction, where alone it is certain what is there already."""
    key = clean.get("key")
    return writer.by_key(key) if key else writer.by_content(clean["content_hash"])


def write(
    services: Services,
    writer: Writer,
    plan: Plan,
    prepared: Prepared,
    batch: WriteBatch,
    request: str | None = None,
    *,
    room: bool = True,
) -> Written:
    """Carry out a plan inside the transaction, with all that follows from it: tombstones, and room for what grew. Who
    writes many says `room=False` and makes it once for all.
    """
    basis, record = plan.basis, plan.record
    if basis is None:
        record = replace_record(record, number=writer.next_number())
    elif plan.operation == "update":
        # A version that was taken back keeps its number for ever.
        record = replace_record(record, version=writer.last_version(record.number) + 1)
    record = writer.put(record, batch.change(plan.operation, request), prepared.entry)
    if basis is not None and not services.settings.versioning:
        writer.drop_payloads(record.number)
    tombstone_since = settle(writer, plan.operation, basis, record, batch.at)
    if prepared.vector is not None and services.embedder is not None:
        writer.put_vector(services.embedder.generation, prepared.entry.passage_hash, prepared.vector)
    evicted = _make_room(services, writer, plan, record, batch) if room and plan.operation in _GROWING else ()
    return Written(record, tombstone_since, evicted)


def _make_room(services: Services, writer: Writer, plan: Plan, record: Record, batch: WriteBatch) -> tuple[Record, ...]:
    """A correction that makes a memory shorter is welcome even where nothing may go."""
    try:
        return make_room(services, writer, batch, {record.number})
    except CapacityExceeded:
        count, basis = services.tokens.count, plan.basis
        if basis and basis.state == "active" and count(record.text) <= count(basis.text):
            return ()
        raise


def answer(services: Services, plan: Plan, prepared: Prepared, written: Written, batch: WriteBatch) -> Remembered:
    notes = list(plan.notes)
    if written.tombstone_since and plan.operation != "restore":
        notes.append(remembered_again(written.tombstone_since))
    if prepared.pending and services.embedder:
        notes.append(PENDING)
    return Remembered(
        written.record,
        plan.outcome,
        batch.id,
        prepared.pending,
        tuple(notes),
        written.evicted,
        offered_tier(written.record),
    )


def prepare(services: Services, plan: Plan) -> Prepared:
    """An embedder that is down never fails a write: the vector comes later."""
    entry = entry_of(plan.record, services.tokens.count)
    if plan.basis is not None and plan.basis.state == "active" and passage(plan.basis) == passage(plan.record):
        return Prepared(entry, None, pending=False)
    if services.embedder is None:
        return Prepared(entry, None, pending=True)
    try:
        vector = checked_passages(services.embedder, [passage(plan.record)])[0].tobytes()
    except EmbedderUnavailable:
        return Prepared(entry, None, pending=True)
    return Prepared(entry, vector, pending=False)


def prepare_again(services: Services, plan: Plan, before: Prepared) -> Prepared:
    """Somebody was faster: the words once more, the vector only if it is still the right one."""
    entry = entry_of(plan.record, services.tokens.count)
    if entry.passage_hash == before.entry.passage_hash:
        return Prepared(entry, before.vector, before.pending)
    return Prepared(entry, None, pending=True)


def _look(store: Store, namespace: str, clean: RecordFields) -> Record | None:
    """A look before embedding; the transaction looks again."""
    key = clean.get("key")
    reference = Reference("", key=key) if key else Reference("", hash=clean["content_hash"])
    found = store.find(namespace, reference)
    return next((one for one in found if key or (one.key is None and one.state == "active")), None)


def _require_version(existing: Record | None, saying: Saying) -> None:
    expected, key = saying.expected, saying.clean.get("key")
    alive = existing if existing and existing.state == "active" else None
    if expected is None or expected == (alive.version if alive else 0):
        return
    if alive:
        raise VersionConflict(f"{key} has version {alive.version} now, not {expected or 'none'}.")
    raise VersionConflict(
        f"{key} is {existing.state}; its last version was {existing.version}." if existing else f"There is no {key}.",
        remedy="Say 0 for a memory that is not there, or that should come back; nothing was changed.",
    )


def _repeated(writer: Writer, earlier: Record, saying: Saying) -> Remembered:
    said, clean = writer.record_of_request(saying.request or ""), saying.clean
    another_text = said is not None and said.content_hash != content_hash(clean["text"])
    if another_text or ("key" in clean and earlier.key != clean["key"]):
        raise Conflict(
            f"This idempotency key stored memory #{earlier.number}, which says something else.",
            remedy="Use a new key for a new memory; nothing was changed.",
        )
    return Remembered(earlier, "repeated", None)


def _changed(now: Record | None, before: Record | None) -> bool:
    return now is not before and (now is None or before is None or not same_history(now, before))
