"""How a memory comes to be: inserted, or recognised and observed once more, or a new version of its key."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TypeVar

from perdure.draft import Clean
from perdure.embed.port import Embedder
from perdure.errors import EmbedderUnavailable
from perdure.ids import Reference, content_hash, new_id
from perdure.lifecycle.author import Author, Batch
from perdure.model import Outcome, Record, Remembered
from perdure.store.port import Store, Writer
from perdure.text.entry import Entry, entry_of
from perdure.text.passage import passage

T = TypeVar("T")

PENDING = "Stored without a vector: found by keyword now, by meaning after `perdure work`."


@dataclass(frozen=True, slots=True)
class Prepared:
    """Everything that takes time, done before the transaction begins."""

    entry: Entry
    vector: bytes | None


def remember(
    store: Store, embedder: Embedder | None, author: Author, namespace: str, clean: Clean, request: str | None = None
) -> Remembered:
    batch = author.batch()
    draft = draft_record(namespace, clean, batch.at)
    prepared = Prepared(entry_of(draft), None) if _is_known(store, draft) else prepare(embedder, draft)
    with store.write(namespace) as writer:
        earlier = writer.by_request(request) if request else None
        if earlier:
            return Remembered(earlier, "repeated", batch.id)
        record, outcome = settle(writer, draft, prepared, batch, request)
        if prepared.vector is not None and embedder:
            writer.put_vector(embedder.generation, prepared.entry.passage_hash, prepared.vector)
    pending = prepared.vector is None and outcome != "observed"
    return Remembered(record, outcome, batch.id, pending, (PENDING,) if pending and embedder else ())


def draft_record(namespace: str, clean: Clean, at: datetime) -> Record:
    """The record as it will be if it is new; its number is given out by the store."""
    fields: Clean = {"created_at": at, "updated_at": at} | clean
    return Record(id=new_id(), number=0, namespace=namespace, content_hash=content_hash(clean["text"]), **fields)


def prepare(embedder: Embedder | None, record: Record) -> Prepared:
    """An embedder that is down never fails a write: the vector comes later."""
    vector: bytes | None = None
    if embedder is not None:
        try:
            vector = embedder.embed_passages([passage(record)])[0].tobytes()
        except EmbedderUnavailable:
            vector = None
    return Prepared(entry_of(record), vector)


def settle(
    writer: Writer, draft: Record, prepared: Prepared, batch: Batch, request: str | None = None
) -> tuple[Record, Outcome]:
    """Inside the transaction, where alone it is certain what is there already."""
    existing = writer.by_key(draft.key) if draft.key else writer.by_content(draft.content_hash)
    if existing is None:
        record = replace(draft, number=writer.next_number())
        return writer.put(record, batch.change("insert", request), prepared.entry), "inserted"
    if existing.state == "active" and existing.content_hash == draft.content_hash:
        seen = observed(existing, draft, batch.at)
        return writer.put(seen, batch.change("observe", request), entry_of(seen)), "observed"
    record = replace(
        draft,
        id=existing.id,
        number=existing.number,
        version=existing.version + 1,
        created_at=existing.created_at,
        observation_count=existing.observation_count,
        validation_count=existing.validation_count,
    )
    return writer.put(record, batch.change("update", request), prepared.entry), "updated"


def observed(existing: Record, again: Record, at: datetime) -> Record:
    """Said again: it counts once more, and brings its tags and evidence along."""
    return replace(
        existing,
        observation_count=existing.observation_count + 1,
        tags=_union(existing.tags, again.tags),
        evidence=_union(existing.evidence, again.evidence),
        updated_at=at,
    )


def _is_known(store: Store, draft: Record) -> bool:
    """A look before embedding; the transaction looks again."""
    reference = Reference("", key=draft.key) if draft.key else Reference("", hash=draft.content_hash)
    return any(
        found.state == "active" and found.key == draft.key and found.content_hash == draft.content_hash
        for found in store.find(draft.namespace, reference)
    )


def _union(first: Iterable[T], second: Iterable[T]) -> tuple[T, ...]:
    return tuple(dict.fromkeys((*first, *second)))
