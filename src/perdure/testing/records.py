"""Short ways to write memories into a store, below the façade, and to say what was written."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any, cast

from perdure.embed.port import Generation
from perdure.ids import content_hash, new_id
from perdure.model import BY_MODEL, Change, Finding, Operation, Record
from perdure.store.capabilities import Doctor
from perdure.store.port import Reader, Store, Writer
from perdure.text.entry import entry_of, passage_hash

NAMESPACE = "default"
NOON = datetime(2026, 3, 14, 12, tzinfo=UTC)
GENERATION = Generation("testing", "words", 4, "1")


def change(
    operation: Operation = "insert", *, request: str | None = None, batch: str | None = None, by_model: bool = False
) -> Change:
    surface = f"test{BY_MODEL}" if by_model else "test"
    return Change(operation, NOON, batch or new_id(), "tester", surface, "session-1", request)


def draft(text: str, namespace: str = NAMESPACE, **fields: Any) -> Record:
    """A record without a number: the store gives it out."""
    given: dict[str, Any] = {"id": new_id(), "created_at": NOON, "updated_at": NOON} | fields
    return Record(number=0, namespace=namespace, text=text, content_hash=content_hash(text), **given)


def insert(writer: Writer, record: Record, *, request: str | None = None) -> Record:
    record = replace(record, number=writer.next_number())
    return writer.put(record, change(request=request), entry_of(record))


def remember(store: Store, text: str, namespace: str = NAMESPACE, **fields: Any) -> Record:
    with store.write(namespace) as writer:
        return insert(writer, draft(text, namespace, **fields))


class _SingleReads:
    def __init__(self, store: Store, namespace: str) -> None:
        self._store = store
        self._namespace = namespace

    def __getattr__(self, method: str) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            with self._store.read(self._namespace) as reader:
                return getattr(reader, method)(*arguments, **options)

        return call


def read_once(store: Store, namespace: str = NAMESPACE) -> Reader:
    """A reader of which every call is a read of its own, for a single look."""
    return cast("Reader", _SingleReads(store, namespace))


def amend(store: Store, record: Record, operation: Operation = "annotate", **fields: Any) -> Record:
    """The record as it becomes; a new text is a new version."""
    if "text" in fields:
        operation = "update"
        fields |= {"content_hash": content_hash(fields["text"]), "version": record.version + 1}
    changed = replace(record, **fields)
    with store.write(record.namespace) as writer:
        return writer.put(changed, change(operation), entry_of(changed))


def vector(*values: float) -> bytes:
    return array("f", values or (1.0, 0.0, 0.0, 0.0)).tobytes()


def embed(store: Store, records: Sequence[Record], generation: Generation = GENERATION) -> int:
    """Give every record's passage a vector, as `work` does."""
    data = vector(*[1.0] + [0.0] * (generation.dimensions - 1))
    stored = 0
    for record in records:
        with store.write(record.namespace) as writer:
            stored += writer.put_vectors(generation, [(passage_hash(record), data)])
    return stored


def problems(store: Store) -> list[Finding]:
    """What a store that can be examined finds wrong with itself."""
    return [finding for finding in store.check() if finding.level == "problem"] if isinstance(store, Doctor) else []


def repair(store: Store) -> list[Finding]:
    """What a store that can be repaired could not mend."""
    return [finding for finding in store.repair() if finding.level == "problem"] if isinstance(store, Doctor) else []
