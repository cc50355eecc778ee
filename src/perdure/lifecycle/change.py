"""How a memory changes after it was made: corrected, forgotten, brought back. Each change is one revision."""

from __future__ import annotations

from dataclasses import replace

from perdure.draft import Clean, changes_content
from perdure.embed.port import Embedder
from perdure.errors import Conflict
from perdure.ids import content_hash
from perdure.lifecycle.author import Author
from perdure.lifecycle.remember import PENDING, prepare
from perdure.model import Record, Remembered, State
from perdure.store.port import Store
from perdure.text.entry import entry_of

_RESTORABLE: frozenset[State] = frozenset({"deleted", "expired", "evicted"})


def update(store: Store, embedder: Embedder | None, author: Author, found: Record, clean: Clean) -> Remembered:
    """Prepared outside the transaction on what was read; if someone else was faster, prepared again on theirs."""
    batch = author.batch()
    while True:
        _require(found, "active", "corrected")
        clean = {name: value for name, value in clean.items() if getattr(found, name) != value}
        if not clean:
            return Remembered(found, "unchanged", batch.id, notes=("Nothing to change.",))
        content = changes_content(clean)
        changed = replace(found, **clean, content_hash=content_hash(clean.get("text", found.text)))
        if content:
            changed = replace(changed, version=found.version + 1, updated_at=batch.at)
        prepared = prepare(embedder, changed)
        with store.write(found.namespace) as writer:
            current = writer.by_number(found.number)
            if current is not None and current.seq == found.seq:
                if changed.key != found.key and changed.key and writer.by_key(changed.key):
                    raise Conflict(f"The key {changed.key!r} names another memory.", remedy="Choose another key.")
                record = writer.put(changed, batch.change("update" if content else "annotate"), prepared.entry)
                if prepared.vector is not None and embedder:
                    writer.put_vector(embedder.generation, prepared.entry.passage_hash, prepared.vector)
                pending = prepared.vector is None
                outcome = "updated" if content else "annotated"
                return Remembered(record, outcome, batch.id, pending, (PENDING,) if pending and embedder else ())
        if current is None:
            raise Conflict(f"Memory #{found.number} was erased meanwhile.")
        found = current


def forget(store: Store, author: Author, found: Record) -> Record:
    """Soft: it leaves every list and every search, and can be restored."""
    change = author.batch().change("forget")
    with store.write(found.namespace) as writer:
        current = writer.by_number(found.number) or found
        if current.state == "deleted":
            raise Conflict(
                f"Memory #{found.number} is forgotten already.", remedy=f"Bring it back: perdure restore {found.number}"
            )
        gone = replace(current, state="deleted")
        return writer.put(gone, change, entry_of(gone))


def restore(store: Store, author: Author, found: Record) -> Record:
    change = author.batch().change("restore")
    with store.write(found.namespace) as writer:
        current = writer.by_number(found.number) or found
        if current.state not in _RESTORABLE:
            raise Conflict(
                f"Memory #{found.number} is {current.state}, so there is nothing to restore.",
                remedy=f"See what happened to it: perdure history {found.number}",
            )
        back = replace(current, state="active")
        return writer.put(back, change, entry_of(back))


def _require(record: Record, state: State, what: str) -> None:
    if record.state != state:
        raise Conflict(
            f"Memory #{record.number} is {record.state} and cannot be {what}.",
            remedy=f"Bring it back first: perdure restore {record.number}",
        )
