"""Checks of the content: every record against its log, and everything derived against the records."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from perdure.errors import StoreDamaged
from perdure.ids import content_hash
from perdure.model import INDEXED_STATES, Finding, Record
from perdure.store.queries import load_queries
from perdure.store.sqlite.apsw_types import Database, Row
from perdure.store.sqlite.checkpoints import decode_checkpoint
from perdure.store.sqlite.hash_chain import Line
from perdure.store.sqlite.rows import (
    NUMBER_BITS,
    NUMBER_MASK,
    RESTORE,
    decode_payload,
    decode_sound,
    entry_columns,
    range_of,
    unpack_id,
    unpack_name,
)
from perdure.store.sqlite.skip_unreadable import rows_after
from perdure.store.sqlite.vectors import is_sound_vector
from perdure.text.entry import entry_of, terms_length
from perdure.text.passage import passage_hash
from perdure.text.tokens import estimate

CHECKS: Final = load_queries(Path(__file__).with_name("checks.sql"))

REPAIR: Final = "Run `perdure doctor --repair`: it is rebuilt from the records."
REPAIR_ERASED: Final = "Run `perdure doctor --repair`: it erases the rest."
FORGET_CHECKPOINT: Final = "Delete it with `perdure checkpoint delete`, or bring the store back from a backup."
RESCUE: Final = "Export what can be read with `perdure export`, and bring the store back from a backup."
_SHOWN: Final = 5
# Of `examine_memory`: the hash that a vector is found by, and the columns behind the record's own.
_PASSAGE: Final = 3
_ENTRY: Final = 45
_TOKENS: Final = 53
_TAGS: Final = 54
_NAMESPACE: Final = 55
# No tokenizer makes more of one character; a count beyond that would drive every other memory out.
_TOKENS_PER_CHARACTER: Final = 32


@dataclass(slots=True)
class Tally:
    """How many are wrong, and the first few of them by name."""

    check: str
    remedy: str
    count: int = 0
    names: list[str] = field(default_factory=list[str])

    def add(self, name: str) -> None:
        self.count += 1
        if self.count <= _SHOWN:
            self.names.append(name)

    def finding(self, good: str, bad: str) -> Finding:
        if not self.count:
            return Finding(self.check, "ok", good)
        return Finding(self.check, "problem", f"{bad}: {self.shown}.", self.remedy)

    @property
    def shown(self) -> str:
        more = ", …" if self.count > _SHOWN else ""
        return f"{self.count} ({', '.join(self.names)}{more})"


def examine_records(connection: Database) -> list[Finding]:
    """One pass over all records, which answers four questions."""
    damaged, history = Tally("records", RESTORE), Tally("history", RESTORE)
    entries, tags = Tally("entries", REPAIR), Tally("tags", REPAIR)
    names = namespace_names(connection)
    for slot in [slot for (slot,) in connection.execute(CHECKS["entries_left_over"])]:
        entries.add(name_of(names, slot))
    for slot in [slot for (slot,) in connection.execute(CHECKS["tags_left_over"])]:
        tags.add(name_of(names, slot))
    for slot in [*(slot for namespace in names for slot in missing(connection, namespace)), *_nowhere(connection)]:
        damaged.add(name_of(names, slot))
    for namespace, name in names.items():
        for slot, row in examined(connection, namespace):
            shown = name_of(names, slot)
            record = sound_record(row, name)
            if row is None or record is None:
                damaged.add(shown)
                continue
            if not history_agrees(record, row):
                history.add(shown)
            if not entry_agrees(record, row):
                entries.add(shown)
            if not _tags_agree(record, row):
                tags.add(shown)
    return [
        damaged.finding("Every memory is as it was written.", "Memories that are missing or not as they were written"),
        history.finding("Every memory is the newest line of its history.", "Memories that differ from their history"),
        entries.finding("The keyword index holds what the memories say.", "Memories with a wrong entry in the index"),
        tags.finding("The tags are those of the memories.", "Memories whose tags are filed wrongly"),
    ]


def examine_erasures(connection: Database) -> Finding:
    left = Tally("erased", REPAIR_ERASED)
    names = namespace_names(connection)
    for slot in [slot for namespace in names for slot in erased_and_there(connection, namespace)]:
        left.add(name_of(names, slot))
    return left.finding("Nothing is left of what was erased.", "Erased memories of which something is left")


def missing(connection: Database, namespace: int) -> list[int]:
    """Slots of memories that should be there."""
    return [slot for (slot,) in connection.execute(CHECKS["memories_missing"], {"namespace": namespace})]


def _nowhere(connection: Database) -> Iterator[int]:
    return (slot for (slot,) in connection.execute(CHECKS["memories_nowhere"]))


def erased_and_there(connection: Database, namespace: int) -> dict[int, int]:
    """Slots of memories that should not be there, and the position of the line that erased each."""
    return dict(connection.execute(CHECKS["erased_and_there"], {"namespace": namespace}).fetchall())


def examined(connection: Database, namespace: int) -> Iterator[tuple[int, Row | None]]:
    """The rows of `examine_memory` by slot; None for a record that cannot be read."""
    first, last = range_of(namespace)
    return rows_after(
        first,
        lambda slot: connection.execute(CHECKS["examine_memory"], {"after": slot, "last": last}),
        lambda slot: connection.execute(CHECKS["next_memory"], (slot, last)).get,
    )


def entry_agrees(record: Record, row: Row) -> bool:
    """An entry that should not be there at all was counted as left over."""
    if record.state not in INDEXED_STATES:
        return True
    terms, *texts, _ = entry_columns(entry_of(record))
    same = row[_ENTRY:_TOKENS] == (terms, *(text.encode() for text in texts))
    return same and _plausible(record, row[_TOKENS])


def entry_as_it_should_be(record: Record, row: Row) -> Row:
    """The tokens were counted by whoever wrote it, and only when they cannot be right they are estimated."""
    kept: int = row[_TOKENS]
    own = row[_ENTRY] == entry_of(record).terms and _plausible(record, kept)
    return entry_columns(entry_of(record, (lambda _: kept) if own else estimate))


def _plausible(record: Record, tokens: object) -> bool:
    return isinstance(tokens, int) and 0 <= tokens <= _TOKENS_PER_CHARACTER * (len(record.text) + 1)


def has_entry(row: Row) -> bool:
    return row[_ENTRY] is not None


def examine_statistics(connection: Database) -> list[Finding]:
    """The namespace's own row: handed-out numbers and counts."""
    wrong = Tally("statistics", REPAIR)
    counters = Tally("counters", REPAIR)
    for namespace, name, _, number, _, *counted, vector, tokens in connection.execute(CHECKS["counters"]).fetchall():
        first, last = range_of(namespace)
        if (*counted, tokens) != count_entries(connection, namespace):
            wrong.add(repr(name))
        bindings = {"namespace": namespace, "first": first, "last": last}
        ((newest, newest_vector),) = connection.execute(CHECKS["newest_of_namespace"], bindings).fetchall()
        if not newest <= number <= NUMBER_MASK or not newest_vector <= vector <= NUMBER_MASK:
            counters.add(repr(name))
    return [
        wrong.finding("The statistics of the index are right.", "Namespaces with wrong index statistics"),
        counters.finding("No number can be given out twice.", "Namespaces that would give out a number twice"),
    ]


def count_entries(connection: Database, namespace: int) -> tuple[int, int, int]:
    """How many, their words, and their tokens."""
    documents = words = sum_of_tokens = 0
    for packed, tokens in connection.execute(CHECKS["entry_terms"], range_of(namespace)):
        documents += 1
        words += terms_length(packed)
        sum_of_tokens += tokens
    return documents, words, sum_of_tokens


def examine_checkpoints(connection: Database) -> Finding:
    """A position beyond the end of its log stands for nothing."""
    wrong = Tally("checkpoints", FORGET_CHECKPOINT)
    ends = {name: seq for _, name, seq, *_ in connection.execute(CHECKS["counters"])}
    names = namespace_names(connection)
    for row in connection.execute(CHECKS["examine_checkpoints"]).fetchall():
        try:
            positions = decode_checkpoint(row, names).positions
        except StoreDamaged:
            positions = None
        if positions is None or any(seq > ends[name] for name, seq in positions.items()):
            wrong.add(repr(row[1]))
    return wrong.finding("Every checkpoint is a position in the log.", "Checkpoints that are no position in the log")


def bad_vectors(connection: Database) -> Iterator[int]:
    """Ids of vectors that are not what was stored, are there twice, or are no vectors."""
    import numpy as np

    for vector_id, namespace, passage, checksum, data, dimensions in connection.execute(CHECKS["examine_vectors"]):
        sound = is_sound_vector(checksum, passage, data) and dimensions is not None and len(data) == 4 * dimensions
        if not sound or namespace != vector_id >> NUMBER_BITS:
            yield vector_id
            continue
        numbers = np.frombuffer(data, "<f4")
        if not (np.isfinite(numbers).all() and numbers.any()):
            yield vector_id
    for (vector_id,) in connection.execute(CHECKS["duplicate_vectors"]):
        yield vector_id


def examine_vectors(connection: Database) -> Finding:
    bad = Tally("vectors", REPAIR)
    for (name,) in connection.execute(CHECKS["bad_generations"]):
        bad.add(f"all of {name!r}")
    for vector_id in bad_vectors(connection):
        bad.add(str(vector_id & NUMBER_MASK))
    return bad.finding("Every vector is as it was stored.", "Vectors that are not as they were stored")


def namespace_names(connection: Database) -> dict[int, str]:
    return {namespace: name for namespace, name, *_ in connection.execute(CHECKS["counters"])}


def name_of(names: dict[int, str], slot: int) -> str:
    namespace, number = slot >> 32, slot & NUMBER_MASK
    return f"{number} of {names.get(namespace, '?')!r}"


def sound_record(row: Row | None, namespace: str) -> Record | None:
    """None when the row, or only one of its hashes, is not as it was written."""
    record = decode_sound(row, namespace)
    if row is None or record is None or row[_NAMESPACE] != row[0] >> NUMBER_BITS:
        return None
    hashes = (content_hash(record.text), passage_hash(record))
    return record if hashes == (record.content_hash, row[_PASSAGE]) else None


def history_agrees(record: Record, row: Row) -> bool:
    newest, body = row[-2:]
    if newest != record.seq:
        return False
    try:
        return body is None or decode_payload(body) == record
    except StoreDamaged:
        return False


def _tags_agree(record: Record, row: Row) -> bool:
    try:
        return set(json.loads(row[_TAGS])) == set(record.tags)
    except ValueError:
        return False


def line_of(row: Row) -> tuple[Line, bytes, bytes, bytes | None]:
    """From `examine_revisions`: the line, the hash stored with it, and the salt and the body of its payload."""
    seq, number, memory, version, operation, actor, surface, session, request, at, batch, digest, stored, salt, body = (
        row
    )
    line = Line(
        seq, number, unpack_id(memory), version, operation, actor, surface, session, request, at, unpack_name(batch),
        digest,
    )  # fmt: skip
    return line, stored, salt, body
