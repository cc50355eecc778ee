"""How a memory comes to be: inserted, or recognised and observed once more, or a new version of its key."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from perdure.draft import MAX_ITEMS, Clean, check_validity
from perdure.embed.checked import checked_passages
from perdure.embed.port import Embedder
from perdure.errors import Conflict, EmbedderUnavailable
from perdure.ids import Reference, content_hash, new_id
from perdure.lifecycle.author import Batch
from perdure.lifecycle.engine import Engine
from perdure.model import Operation, Outcome, Record, Remembered, evolve
from perdure.store.port import Store, Writer
from perdure.text.entry import Entry, entry_of
from perdure.text.passage import passage

PENDING = "Stored without a vector: found by keyword now, by meaning after `perdure work`."

# What adds up when a memory is said again; whatever else is said about it replaces what was known.
_GATHERED = ("tags", "evidence")


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


def remember(engine: Engine, namespace: str, clean: Clean, request: str | None = None) -> Remembered:
    store, embedder = engine.store, engine.embedder
    batch = engine.author.batch()
    clean = hashed(clean)
    plan = plan_for(_look(store, namespace, clean), namespace, clean, batch.at)
    prepared = prepare(embedder, plan)
    with store.write(namespace) as writer:
        earlier = writer.by_request(request) if request else None
        if earlier:
            return _repeated(earlier, clean, batch)
        existing = look_again(writer, clean)
        if _changed(existing, plan.basis):
            plan = plan_for(existing, namespace, clean, batch.at)
            prepared = prepare_again(plan, prepared)
        record = write(writer, plan, prepared, batch, request)
        put_vector(writer, embedder, prepared)
    notes = (*plan.notes, PENDING) if prepared.pending and embedder else plan.notes
    return Remembered(record, plan.outcome, batch.id, prepared.pending, notes)


def hashed(clean: Clean) -> Clean:
    """With the hash that says whether this text is known; a megabyte should be hashed once."""
    return clean | {"content_hash": content_hash(clean["text"])}


def plan_for(existing: Record | None, namespace: str, clean: Clean, at: datetime) -> Plan:
    """Pure: new, said again, or a new version. What a caller does not mention stays as it is."""
    if existing is None:
        plan = _new(namespace, clean, at)
    elif _says_the_same(existing, clean):
        plan = _observed(existing, clean, at)
    else:
        fields = clean | {"version": existing.version + 1, "updated_at": clean.get("updated_at", at), "state": "active"}
        plan = Plan(existing, evolve(existing, **fields), "update", "updated")
    check_validity(plan.record.valid_at, plan.record.invalid_at)
    return plan


def _new(namespace: str, clean: Clean, at: datetime) -> Plan:
    fields: Clean = {"created_at": at, "updated_at": at} | clean
    return Plan(None, Record(id=new_id(), number=0, namespace=namespace, **fields), "insert", "inserted")


def _says_the_same(existing: Record, clean: Clean) -> bool:
    """Without a key, case and white space do not count; what has a key is taken to the letter."""
    if existing.state != "active" or existing.content_hash != clean["content_hash"]:
        return False
    return existing.key is None or existing.text == clean["text"]


def _observed(existing: Record, clean: Clean, at: datetime) -> Plan:
    notes: list[str] = []
    if existing.text != clean["text"]:
        notes.append("It was known in other letters; the first wording stays.")
    fields = clean | {"text": existing.text, "observation_count": existing.observation_count + 1, "updated_at": at}
    for name in _GATHERED:
        together = tuple(dict.fromkeys((*getattr(existing, name), *clean.get(name, ()))))
        if len(together) > MAX_ITEMS:
            notes.append(f"More than {MAX_ITEMS} {name}: the newest were left out.")
        fields[name] = together[:MAX_ITEMS]
    return Plan(existing, evolve(existing, **fields), "observe", "observed", tuple(notes))


def look_again(writer: Writer, clean: Clean) -> Record | None:
    """Inside the transaction, where alone it is certain what is there already."""
    key = clean.get("key")
    return writer.by_key(key) if key else writer.by_content(clean["content_hash"])


def write(writer: Writer, plan: Plan, prepared: Prepared, batch: Batch, request: str | None = None) -> Record:
    new = plan.basis is None
    record = evolve(plan.record, number=writer.next_number()) if new else plan.record
    return writer.put(record, batch.change(plan.operation, request), prepared.entry)


def prepare(embedder: Embedder | None, plan: Plan) -> Prepared:
    """An embedder that is down never fails a write: the vector comes later."""
    entry = entry_of(plan.record)
    if plan.basis is not None and plan.basis.state == "active" and passage(plan.basis) == passage(plan.record):
        return Prepared(entry, None, pending=False)
    if embedder is None:
        return Prepared(entry, None, pending=True)
    try:
        vector = checked_passages(embedder, [passage(plan.record)])[0].tobytes()
    except EmbedderUnavailable:
        return Prepared(entry, None, pending=True)
    return Prepared(entry, vector, pending=False)


def prepare_again(plan: Plan, before: Prepared) -> Prepared:
    """Somebody was faster: the words once more, the vector only if it is still the right one."""
    entry = entry_of(plan.record)
    if entry.passage_hash == before.entry.passage_hash:
        return Prepared(entry, before.vector, before.pending)
    return Prepared(entry, None, pending=True)


def put_vector(writer: Writer, embedder: Embedder | None, prepared: Prepared) -> None:
    if prepared.vector is not None and embedder is not None:
        writer.put_vector(embedder.generation, prepared.entry.passage_hash, prepared.vector)


def _look(store: Store, namespace: str, clean: Clean) -> Record | None:
    """A look before embedding; the transaction looks again."""
    key = clean.get("key")
    reference = Reference("", key=key) if key else Reference("", hash=clean["content_hash"])
    found = store.find(namespace, reference)
    return next((one for one in found if key or (one.key is None and one.state == "active")), None)


def _repeated(earlier: Record, clean: Clean, batch: Batch) -> Remembered:
    if earlier.version == 1 and earlier.content_hash != clean["content_hash"]:
        raise Conflict(
            f"This idempotency key stored memory #{earlier.number}, which says something else.",
            remedy="Use a new key for a new memory; nothing was changed.",
        )
    return Remembered(earlier, "repeated", batch.id)


def _changed(now: Record | None, before: Record | None) -> bool:
    return (now and now.seq) != (before and before.seq)
