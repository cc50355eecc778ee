"""The one write path. Every change of a memory is a `Plan` that `apply_plan` carries out inside a transaction.

Slow work (index entry, vector) is done before the transaction begins. Inside it the memory is read again; if somebody
else changed it meanwhile, the plan is made again on the record as it is now.
"""

# The fields of a write have a text, and `remember` adds its hash.
# pyright: reportTypedDictNotRequiredAccess=false

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, cast

from perdure.buggify import point
from perdure.clock import local_day
from perdure.embed.port import Generation, passage_vectors
from perdure.errors import (
    CapacityExceeded,
    Conflict,
    EmbedderUnavailable,
    InvalidInput,
    NotAllowed,
    StoreDamaged,
    StoreRolledBack,
    VersionConflict,
    shown,
)
from perdure.ids import CAPTURED, content_hash, new_id
from perdure.jsonable import to_jsonable
from perdure.lifecycle.capacity import memories_to_evict
from perdure.lifecycle.keywords import keywords_at_write
from perdure.lifecycle.tier_policy import apply_tier
from perdure.lifecycle.write_context import WriteBatch
from perdure.model import (
    NOTHING,
    ORIGIN_FIELDS,
    SCOPE_FIELDS,
    SPEAKER,
    Identity,
    Json,
    Operation,
    Outcome,
    Record,
    Remembered,
    forgotten_as,
    identity_of,
    replace_record,
    same_history,
)
from perdure.remedies import Remedy, Run
from perdure.store.port import About, LogFilter, Reader, Writer
from perdure.text.entry import Entry, entry_of, passage
from perdure.text.windows import FEW_WINDOWS
from perdure.tiers import ONLY_PEOPLE, PROPOSED, offered_tier
from perdure.validation import (
    MAX_ITEMS,
    RecordFields,
    changes_content,
    check_fields,
    check_single_line,
    check_text,
    check_validity,
    check_version,
)
from perdure.visibility import kind_of, notes_on_times

if TYPE_CHECKING:
    from perdure.lifecycle.comparison import Comparison
    from perdure.services import Services

T = TypeVar("T")

# The tombstone of a text has a reason that must not quote the text.
_TOMBSTONE_REASONS: Final[dict[Operation, str]] = {
    "update": "corrected", "forget": "forgotten", "erase": "erased", "undo": "taken back", "rewind": "taken back",
}  # fmt: skip
# These also leave a tombstone for a memory that had expired or been evicted before.
_DELETING: Final[frozenset[Operation]] = frozenset({"forget", "erase"})
# These memories were not deleted on purpose, so an import may bring them back.
_LEAVES_NO_TOMBSTONE: Final[frozenset[Operation]] = frozenset({"expire", "evict"})
# What a model may fill, and not replace, by saying once more what is known.
_KEPT_FROM_MODELS: Final = ("title", "abstract", "summary", "reasoning", "category", "confidence", "references")
# How often a write that the store rolled back is tried again: nothing of it was kept.
RETRIES: Final = 2
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
        """The answer of an earlier call with this idempotency key, if there was one."""
        identity = identity_of_fields(self.fields)
        lines = writer.log(LogFilter(request=self.idempotency_key), limit=1)
        if not lines:
            return None
        number, written = lines[0].number, lines[0].record
        earlier = writer.by_number(number)
        if earlier is None:
            raise Conflict(
                f"This idempotency key stored memory #{number}, which was erased since.",
                remedy="Use a new key to store it again; nothing was changed.",
            )
        same_text = written is None or written.content_hash == identity.content_hash
        elsewhere = identity.key is None and written is not None and identity_of(written) != identity
        if not same_text or elsewhere or earlier.key != identity.key:
            raise Conflict(
                f"This idempotency key stored memory #{number}, which says something else, or says it elsewhere.",
                remedy="Use a new key for a new memory; nothing was changed.",
            )
        return Remembered(earlier, "repeated", None)


@dataclass(frozen=True, slots=True)
class Plan:
    """The intended write: the record before (None: insert) and after, and the operation that the log will show.

    `provenance` is kept with the line of the log. `displaced` is an evicted memory that gives up its key to this one.
    `leaves_tombstone` is false when a text ends as if it had never been said.
    """

    previous: Record | None
    record: Record
    operation: Operation
    outcome: Outcome
    notes: tuple[str, ...] = ()
    provenance: Mapping[str, Json] = field(default_factory=lambda: NOTHING)
    displaced: Record | None = None
    leaves_tombstone: bool = True


@dataclass(frozen=True, slots=True)
class PreparedWrite:
    """Computed before the transaction begins. `vector`, of this `generation`, holds those of all windows of the
    memory. It is None when none is needed, or when it is `vector_pending`; `failure` is what the embedder said.
    """

    entry: Entry
    vector: bytes | None = None
    generation: Generation | None = None
    vector_pending: bool = False
    failure: str = ""


@dataclass(frozen=True, slots=True)
class WriteResult:
    """The record as it was written, since when its text had a tombstone, and what was evicted to make room."""

    record: Record
    tombstone_since: datetime | None = None
    evicted: tuple[Record, ...] = ()


Find: TypeAlias = Callable[[Reader], Record | None]
Planner: TypeAlias = Callable[[Record | None, datetime], Plan]


def remember(
    services: Services, namespace: str, request: WriteRequest, comparison: Comparison | None = None
) -> Remembered:
    """Store a memory: a new one, one more observation of the same text, or a new version of its key."""
    fields, identity = request.fields, identity_of_fields(request.fields)

    def plan(existing: Record | None, at: datetime) -> Plan:
        # What was evicted says nothing about the memory that takes its key.
        before = None if existing and existing.state == "evicted" else existing
        allowed, notes = apply_tier(services, fields, at, before)
        planned = plan_write(existing, namespace, allowed, at, force_new_version=request.force_new_version)
        planned = add_keywords(planned) if add_keywords else planned
        return replace(planned, notes=(*notes, *planned.notes)) if notes else planned

    with services.store.read(namespace) as reader:
        existing = lookup(reader, identity)
    category = fields.get("category", existing.category if existing else None)
    wants_keywords = category in services.settings.keyword_categories
    add_keywords = keywords_at_write(services, namespace, fields, existing) if wants_keywords else None
    find = partial(lookup, identity=identity)
    # As `retry_when_rolled_back`, without a call: this is what is done most often.
    for _ in range(RETRIES):
        with suppress(StoreRolledBack):
            return write(services, namespace, existing, find, plan, request, comparison)
    return write(services, namespace, existing, find, plan, request, comparison)


def retry_when_rolled_back(act: Callable[[], T]) -> T:
    """Try again what the store has rolled back: others were in the way, or another server of the database took over.
    `act` is one write transaction, with whatever leads to it.
    """
    for _ in range(RETRIES):
        with suppress(StoreRolledBack):
            return act()
    return act()


def apply_change(
    services: Services,
    record: Record,
    plan_on: Callable[[Record, datetime], Plan],
    comparison: Comparison | None = None,
) -> Remembered:
    """Change one memory that is there already."""

    def plan(current: Record | None, at: datetime) -> Plan:
        return plan_on(require_present(current, record.number), at)

    def find(reader: Reader) -> Record | None:
        return reader.by_number(record.number)

    return retry_when_rolled_back(partial(write, services, record.namespace, record, find, plan, None, comparison))


def write(
    services: Services,
    namespace: str,
    existing: Record | None,
    find: Find,
    plan_on: Planner,
    request: WriteRequest | None = None,
    comparison: Comparison | None = None,
) -> Remembered:
    """Plan and prepare on `existing` outside the transaction, then `find` it again inside. If somebody else was faster,
    the plan is made again inside the transaction, and nothing is embedded or compared there.
    """
    batch = services.context.batch(request.fields.get("session_id") if request else None)
    plan = plan_on(existing, batch.at)
    if plan.outcome == "unchanged":
        return Remembered(plan.record, plan.outcome, None, notes=plan.notes)
    prepared = prepare(services, plan)
    if comparison and (observed := comparison.observe(plan, prepared)):
        return observed
    key = request.idempotency_key if request else None
    number = existing.number if existing else None
    about = [About(identity, key, number) for identity in forgotten_as(plan.record)]
    with services.store.write(namespace, about) as writer:
        if request and request.idempotency_key and (repeated := request.earlier_answer(writer)):
            return repeated
        current = find(writer)
        if request and request.expected_version is not None:
            request.require_expected_version(current)
        if current is not existing and not is_same(current, existing):
            plan, comparison = plan_on(current, batch.at), None
            if plan.outcome == "unchanged":
                return Remembered(plan.record, plan.outcome, None, notes=plan.notes)
            prepared = prepare(services, plan, prepared)
        if plan.previous:
            plan = require_unique(writer, plan, plan.previous)
        plan = comparison.mark(writer, plan) if comparison else plan
        result = apply_plan(services, writer, plan, batch, prepared, idempotency_key=key)
        found = comparison.propose(writer, batch, result.record) if comparison else ()
        if request and request.force_new_version:
            writer.touch(result.record.number, batch.at)
            result = replace(result, record=replace_record(result.record, accessed_at=batch.at))
    return replace(answer(plan, result, prepared, batch), contradicts=found)


def answer(plan: Plan, result: WriteResult, prepared: PreparedWrite, batch: WriteBatch) -> Remembered:
    """What a write answers: the record, and notes on everything that its caller may not expect."""
    notes = list(plan.notes)
    if result.tombstone_since and plan.operation != "restore":
        notes.append(
            f"This text was forgotten or corrected on {local_day(result.tombstone_since)}; it is remembered again."
        )
    if prepared.vector_pending and prepared.generation:
        later = "recall finds it by keyword now, and by meaning after `perdure work`"
        notes.append(f"Stored without a vector: {later}.{prepared.failure}")
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
    if plan.displaced:
        keyless = replace_record(plan.displaced, key=None)
        apply_plan(services, writer, Plan(plan.displaced, keyless, "annotate", "annotated"), batch)
    if previous is None:
        record = replace_record(record, number=writer.next_number())
    elif plan.operation == "update":
        # A version that was taken back keeps its number for ever.
        record = replace_record(record, version=writer.last_version(record.number) + 1)
    entry = prepared.entry if prepared else entry_of(record, services.tokens.count)
    record = writer.put(record, batch.change(plan.operation, idempotency_key, plan.provenance), entry)
    if previous is not None and not services.settings.versioning:
        writer.drop_payloads(record.number)
    ended = previous if plan.leaves_tombstone else None
    tombstone_since = update_tombstones(writer, plan.operation, ended, record, batch.at)
    if prepared and prepared.vector is not None and prepared.generation is not None:
        writer.put_vector(prepared.generation, entry.passage_hash, prepared.vector)
    evicted: tuple[Record, ...] = ()
    if room and plan.operation in _GROWING:
        evicted = make_room(services, writer, batch, [record], previous)
    return WriteResult(record, tombstone_since, evicted)


def make_room(
    services: Services, writer: Writer, batch: WriteBatch, written: Sequence[Record], previous: Record | None = None
) -> tuple[Record, ...]:
    """Evict what the namespace has no room for any more, never what was just written. CapacityExceeded takes the write
    back when evicting is not enough; but a correction that makes a memory shorter is always welcome.
    """
    load, settings = writer.load(), services.settings
    if not (load.max_items or load.max_tokens or settings.max_items or settings.max_tokens):
        return ()
    try:
        chosen = memories_to_evict(services, writer, load, written)
    except CapacityExceeded:
        count = services.tokens.count
        if previous and previous.state == "active" and count(written[0].text) <= count(previous.text):
            return ()
        raise
    evicted: list[Record] = []
    for record in chosen:
        plan = Plan(record, replace_record(record, state="evicted"), "evict", "updated")
        evicted.append(apply_plan(services, writer, plan, batch).record)
        point("evict: put")
        if not services.grace and services.context.is_person:
            writer.erase(record.number, batch.change("erase"), traceless=False)
            point("evict: erased")
    return tuple(evicted)


def update_tombstones(
    writer: Writer, operation: Operation, before: Record | None, after: Record | None, at: datetime
) -> datetime | None:
    """Called after the write that made `after` of `before` (None: no memory). A text is alive while an active memory
    has it, with its key or in its scope. A text that the write ended gets a tombstone there; a text that it brought to
    life loses its tombstone, and the answer is since when it had one.
    """
    if operation in _LEAVES_NO_TOMBSTONE:
        return None
    ended = before if before and (operation in _DELETING or before.state == "active") else None
    alive = after if after and after.state == "active" else None
    if ended and alive and ended.content_hash == alive.content_hash:
        return None
    for identity in forgotten_as(ended) if ended else ():
        writer.add_tombstone(identity, _TOMBSTONE_REASONS.get(operation, "replaced"), at)
    return max(filter(None, map(writer.lift_tombstone, forgotten_as(alive))), default=None) if alive else None


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
    chosen = services.embedders.current()
    generation = chosen.generation
    if overtaken or chosen.embedder is None or generation is None:
        return PreparedWrite(entry, generation=generation, vector_pending=True)
    try:
        vectors = passage_vectors(chosen.embedder, [passage(plan.record)], None, generation, FEW_WINDOWS)[0]
    except EmbedderUnavailable as error:
        failure = f" {error.note}"
        return PreparedWrite(entry, generation=generation, vector_pending=True, failure=failure)
    if chosen.is_unmeasured:
        services.measure(chosen.embedder)
    return PreparedWrite(entry, vectors.tobytes(), generation)


def identity_of_fields(fields: RecordFields) -> Identity:
    """What `identity_of` says of the record that these fields make."""
    return Identity(fields["content_hash"], fields.get("key"), *map(fields.get, SCOPE_FIELDS))


def lookup(reader: Reader, identity: Identity) -> Record | None:
    """The memory that is meant when this is said: the one with the key, else the active one with this text in this
    scope.
    """
    return reader.by_content(identity) if identity.key is None else reader.by_key(identity.key)


def require_unique(writer: Writer, plan: Plan, before: Record) -> Plan:
    """Conflict when a change would give a memory the key of another, or make it say what another says in the same
    scope. An evicted memory gives up its key.
    """
    record = plan.record
    holder = writer.by_key(record.key) if record.key is not None and record.key != before.key else None
    if holder and holder.number != record.number:
        if holder.state == "evicted":
            return replace(plan, displaced=holder)
        raise Conflict(
            f"The key {record.key!r} names memory #{holder.number}, which is {holder.state}.",
            remedy="Choose another key; nothing was changed.",
        )
    came_to_life = before.state != "active" or identity_of(before) != identity_of(record)
    if record.key is None and record.state == "active" and came_to_life:
        twin = writer.by_content(identity_of(record))
        if twin and twin.number != record.number:
            raise Conflict(
                f"Memory #{twin.number} says the same, so #{record.number} would be its twin.",
                remedy=Remedy(
                    f"Keep #{twin.number}, or forget it first: ",
                    Run("forget", twin.number),
                    "; nothing was changed.",
                ),
            )
    return plan


def require_present(record: Record | None, number: int) -> Record:
    if record is None:
        raise Conflict(f"Memory #{number} was erased meanwhile.")
    return record


def is_unchanged(reader: Reader, record: Record, *, if_damaged: bool = False) -> bool:
    """Whether a memory is still as it was read. `if_damaged` is the answer for one that cannot be read any more."""
    try:
        return is_same(reader.by_number(record.number), record)
    except StoreDamaged:
        return if_damaged


def plan_write(
    existing: Record | None, namespace: str, fields: RecordFields, at: datetime, *, force_new_version: bool = False
) -> Plan:
    """Pure. A memory is inserted, observed once more, or gets a new version. Fields that are not given stay as they
    are, except the times of validity: a new version is a new statement. The origin of a memory stays whatever is given.
    """
    if existing is None or existing.state == "evicted":
        values = cast("dict[str, Any]", {"created_at": at, "updated_at": at} | fields)
        record = Record(id=new_id(), number=0, namespace=namespace, **values)
        plan = Plan(None, record, "insert", "inserted", displaced=existing)
    elif (
        not force_new_version
        and existing.state == "active"
        and existing.content_hash == fields["content_hash"]
        # Without a key, case and white space do not count; a text with a key is taken to the letter.
        and (existing.key is None or existing.text == fields["text"])
    ):
        plan = plan_observation(existing, fields, at)
    else:
        plan = plan_version(existing, fields, at)
    check_validity(plan.record.valid_at, plan.record.invalid_at)
    if "valid_at" in fields or "expires_at" in fields:
        plan = replace(plan, notes=(*plan.notes, *notes_on_times(fields, at)))
    return plan


def plan_observation(existing: Record, fields: RecordFields, at: datetime) -> Plan:
    """The same words once more, from wherever. Other words about them (title, abstract, summary, reasoning) make a
    version; but a model that says in a session what is known fills only what is empty: it may not remember how well it
    was said before.
    """
    kept = [*ORIGIN_FIELDS, "source"]
    if fields.get("source") == CAPTURED:
        kept += [name for name in _KEPT_FROM_MODELS if getattr(existing, name)]
    begins, ends = fields.get("valid_at"), fields.get("invalid_at")
    # A time that was not known is learned, unless it contradicts that the statement was made as true before.
    if existing.valid_at or (begins and begins > existing.created_at):
        kept.append("valid_at")
    if ends and existing.valid_at and ends <= existing.valid_at:
        kept.append("invalid_at")
    given, provenance, notes = keep_origin(existing, fields, kept)
    changes: dict[str, Any] = {**given, "observation_count": existing.observation_count + 1, "updated_at": at}
    if existing.text != fields["text"]:
        notes.append("Already stored with different case or spacing; the original wording is kept.")
        changes["text"] = existing.text
    if "metadata" in given:
        # Whether a tier is proposed was settled before.
        kept_entries = {name: value for name, value in existing.metadata.items() if name != PROPOSED}
        changes["metadata"] = {**kept_entries, **(given["metadata"] or {})}
    if "expires_at" not in fields and existing.expires_at and existing.expires_at <= at:
        changes["expires_at"] = None
    for name, more in (("tags", fields.get("tags", ())), ("evidence", fields.get("evidence", ()))):
        together = tuple(dict.fromkeys((*getattr(existing, name), *more)))
        # Perdure itself may have written more evidence than a caller can.
        most = max(MAX_ITEMS, len(getattr(existing, name)))
        if len(together) > most:
            notes.append(f"A memory has at most {MAX_ITEMS} {name}: the newest were left out.")
        changes[name] = together[:most]
    record = replace_record(existing, **changes)
    if not changes_content({name: value for name, value in changes.items() if getattr(existing, name) != value}):
        return Plan(existing, record, "observe", "observed", tuple(notes), provenance)
    record = replace_record(record, version=existing.version + 1)
    return Plan(existing, record, "update", "updated", tuple(notes), provenance)


def plan_version(existing: Record, fields: RecordFields, at: datetime) -> Plan:
    """Other words under the same key, or the same ones as a new statement."""
    given, provenance, notes = keep_origin(existing, fields, ORIGIN_FIELDS)
    returns = existing.state != "active"
    changes: dict[str, Any] = {"updated_at": at}
    if returns or existing.text != fields["text"]:
        changes |= {"valid_at": None, "invalid_at": None}
    if existing.expires_at and existing.expires_at <= at:
        changes["expires_at"] = None
    if returns and existing.tier == ONLY_PEOPLE and "tier" not in fields:
        # A person agreed to the tier of the memory that was deleted, not of the one that comes back.
        changes["tier"] = "normal"
        promote = f"`perdure promote {existing.number}` changes that"
        notes.append(f"It was constitutional and comes back as normal: {promote}.")
    changes |= {**given, "version": existing.version + 1, "state": "active"}
    return Plan(existing, replace_record(existing, **changes), "update", "updated", tuple(notes), provenance)


def keep_origin(
    record: Record, fields: RecordFields, kept: Sequence[str]
) -> tuple[RecordFields, dict[str, Json], list[str]]:
    """Pure: the fields of a memory that is said again, without those that it keeps as they are; these as the provenance
    of this saying; and a note when some of them are different.
    """
    given = {name: value for name, value in fields.items() if name not in kept}
    told: dict[str, Any] = {name: value for name in kept if (value := fields.get(name)) is not None}
    own: dict[str, Any] = {name: getattr(record, name) for name in told}
    if "metadata" in fields:
        metadata = fields["metadata"] or {}
        speaker = {SPEAKER: record.metadata[SPEAKER]} if SPEAKER in record.metadata else {}
        if SPEAKER in metadata:
            told[SPEAKER], own[SPEAKER] = metadata[SPEAKER], record.metadata.get(SPEAKER)
        given["metadata"] = {name: value for name, value in metadata.items() if name != SPEAKER} | speaker
    different = [
        f"{name} ({'none' if own[name] is None else to_jsonable(own[name])})"
        for name, value in told.items()
        if value != own[name]
    ]
    listed = (
        f"It keeps its own {', '.join(different)}; what you gave is in its history: perdure history {record.number}"
    )
    return cast("RecordFields", given), to_jsonable(told), [listed] if different else []


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
    if checked.get("key"):
        require_own_key(services, checked["key"])
    # The hash says whether a text is stored already; a megabyte should be hashed once.
    checked["content_hash"] = content_hash(checked["text"])
    key = None if idempotency_key is None else check_single_line(idempotency_key, "idempotency_key")
    if key is not None:
        require_no_secret(services, key, "idempotency key")
    expected = None if expected_version is None else check_version(expected_version, "expected_version")
    return WriteRequest(checked, key, force_new_version=force_new_version, expected_version=expected), notes


def require_own_key(services: Services, key: str | None) -> None:
    """A model that could write messages, episodes and proposals under their keys could make a person answer a question
    that nobody asked, or leave a conversation no room.
    """
    if key and not services.context.is_person and (kind := kind_of(key)):
        raise NotAllowed(
            f"A model cannot write under {shown(key)}: Perdure itself gives such keys, to {kind}s.",
            remedy="Choose another key, or correct the memory by its number; nothing was changed.",
        )


def require_no_secret(services: Services, name: str, what: str) -> None:
    """A name cannot be redacted: it would name something else."""
    if services.settings.redact and services.redact(name).text != name:
        raise InvalidInput(f"The {what} holds a secret.", remedy="Choose one that may be seen; nothing was changed.")


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
    from perdure.text.secrets import redact_nested

    kinds: list[str] = []
    safe = {name: redact_nested(value, services.redact, kinds) for name, value in checked.items()}
    if not kinds:
        return checked, ()
    if key := checked.get("key"):
        require_no_secret(services, key, "key")
    return cast("RecordFields", safe), (f"Redacted before storing: {', '.join(dict.fromkeys(kinds))}.",)


def is_same(current: Record | None, read: Record | None) -> bool:
    if current is None or read is None:
        return current is read
    # After a backup was restored, another change may have the same position in the log.
    return current.seq == read.seq and same_history(current, read)
