"""A record as a row of the memory table and as the payload of a revision, and back. It is the same in every store."""

from __future__ import annotations

import json
import math
import struct
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from operator import attrgetter, itemgetter
from typing import Any, Final, NamedTuple, TypeAlias, cast
from zlib import crc32

from perdure.clock import format_time, from_micros, to_micros
from perdure.errors import InvalidInput, StoreDamaged
from perdure.ids import UUID, MemoryId
from perdure.model import LIST_FIELDS, USE_FIELDS, Json, Record, record_of
from perdure.remedies import Remedy, Run
from perdure.text.entry import Entry
from perdure.values import field_names

Value: TypeAlias = "str | int | float | bytes | None"
Row: TypeAlias = tuple[Any, ...]

# A row begins with its slot: the number of the memory in these bits and above them, in a store that numbers its
# namespaces, the id of the namespace.
NUMBER_BITS: Final = 32
NUMBER_MASK: Final = (1 << NUMBER_BITS) - 1

RESTORE: Final = Remedy(
    "Run ",
    Run("doctor", repair=True),
    ": it brings a memory back from its history. If that is damaged as well, bring the store back from a backup.",
)
_ID_BYTES: Final = 16
FLOAT_BYTES: Final = 4
_ESCAPED_NUL: Final = r"\u0000"
_ESCAPED_BACKSLASH: Final = r"\\"

_TIMES: Final = ("created_at", "updated_at", "valid_at", "invalid_at", "expires_at")
_FIELDS: Final = tuple(sorted(set(field_names(Record)) - set(USE_FIELDS)))
_values: Final = attrgetter(*_FIELDS)

# An Entry in the order of the entry table.
entry_columns: Final[Callable[[Entry], Row]] = attrgetter(
    "terms", "title", "text", "keywords", "reasoning", "tags", "anchor", "folder", "tokens"
)

# The columns that the checksum covers, in the order of the statements `put_memory` and `select_memory`.
_COVERED: Final = (
    "key", "version", "seq", "state", "tier", "category", "context_type", "source", "source_project",
    "conversation_id", "session_id", "channel", "spec_folder", "file_path", "anchor_id", "trust", "importance",
    "confidence", "observation_count", "validation_count", "created_at", "updated_at", "valid_at", "invalid_at",
    "expires_at", "text", "title", "abstract", "summary", "reasoning", "tags", "keywords", "references",
    "trigger_phrases", "evidence", "metadata", "supersedes", "merged_from",
)  # fmt: skip
_covered_values: Final = attrgetter(*_COVERED)
_TIME_COLUMNS: Final = tuple(map(_COVERED.index, _TIMES))
_LIST_COLUMNS: Final = tuple(map(_COVERED.index, LIST_FIELDS))
_METADATA: Final = _COVERED.index("metadata")
_JSON_COLUMNS: Final = (*_LIST_COLUMNS, _METADATA)
_FLOAT_COLUMNS: Final = tuple(map(_COVERED.index, ("importance", "confidence")))
# Of the statement `select_memory`: where the checksum stands, where the covered columns end, and where those of use do.
_CHECKSUM: Final = 4
_COVERED_END: Final = _CHECKSUM + 1 + len(_COVERED)
# The columns that came with the sixth schema, which the checksum covers only where they hold something: rows of before
# keep theirs.
_ADDED: Final = 2
_USE_END: Final = _COVERED_END + len(USE_FIELDS)
_UNUSED: Final = (0, None, 0, None)
_DECODED: Final = (*_COVERED, *USE_FIELDS, "id", "number", "namespace", "content_hash")
# From the order of what is decoded to that of a record's fields.
_in_order: Final[Callable[[Row], Row]] = itemgetter(*(_DECODED.index(name) for name in field_names(Record)))


def _plain(value: object) -> object:
    """Mappings and sequences that are not the built-in ones."""
    if isinstance(value, Mapping):
        return dict(cast("Mapping[str, object]", value))
    if isinstance(value, Sequence):
        return list(cast("Sequence[object]", value))
    raise TypeError(f"{type(value).__name__} is not JSON")


_json: Final = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":"), default=_plain
).encode


def slot_of(namespace: int, number: int) -> int:
    return namespace << NUMBER_BITS | number


def range_of(namespace: int) -> tuple[int, int]:
    """The first and the last slot of a namespace."""
    return namespace << NUMBER_BITS, namespace << NUMBER_BITS | NUMBER_MASK


def pack_id(memory: str) -> bytes:
    try:
        packed = bytes.fromhex(memory.replace("-", ""))
    except ValueError as error:
        raise InvalidInput(f"{memory[:80]!r} is not an id.") from error
    if len(packed) != _ID_BYTES:
        raise InvalidInput(f"{memory[:80]!r} is not an id.")
    return packed


def unpack_id(packed: bytes) -> MemoryId:
    text = packed.hex()
    return MemoryId(f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}")


def pack_name(name: str) -> bytes | str:
    """Of a batch or of what a link leads to: sixteen bytes when it is an id, as it nearly always is."""
    return bytes.fromhex(name.replace("-", "")) if UUID.fullmatch(name) else name


def unpack_name(packed: bytes | str) -> str:
    return packed if isinstance(packed, str) else unpack_id(packed)


def encode_row(record: Record, slot: int, passage_hash: bytes) -> Row:
    """In the order of the statement `put_memory`, from the slot on."""
    hashes = (pack_id(record.id), bytes.fromhex(record.content_hash), passage_hash)
    values: list[Any] = list(_covered_values(record))
    for column in _TIME_COLUMNS:
        if (moment := values[column]) is not None:
            values[column] = to_micros(moment)
    for column in _JSON_COLUMNS:
        # Empty lists and mappings are stored as NULL.
        values[column] = encode_json(collection) if (collection := values[column]) else None
    for column in _FLOAT_COLUMNS:
        # SQLite gives back 1 as 1.0 and -0.0 as 0.0.
        values[column] += 0.0
    covered = tuple(values)
    summed = covered[:-_ADDED] if covered[-1] is covered[-2] is None else covered
    return (slot, *hashes, _checksum(slot, hashes, summed), *covered)


class Unwritten(NamedTuple):
    """Use of one memory that was counted and is not in the file yet. Times are microseconds since 1970.

    A reader may see the file as it was before the last counts were written, or with them. `least_recalls` and
    `least_accesses` are what the file counts with them: so a reader neither misses them nor adds them twice.
    """

    recalls: int = 0
    recalled_at: int | None = None
    accesses: int = 0
    accessed_at: int | None = None
    least_recalls: int = 0
    least_accesses: int = 0


ALL_WRITTEN: Final[Mapping[int, Unwritten]] = {}


def newest_time(first: int | None, second: int | None) -> int | None:
    if first is None or second is None:
        return second if first is None else first
    return max(first, second)


def decode_row(row: Row, namespace: str, unwritten: Mapping[int, Unwritten] = ALL_WRITTEN) -> Record:
    """From the statement `select_memory`. A row that is not as it was written is never served."""
    record = decode_sound(row, namespace, unwritten)
    if record is None:
        number = row[0] & NUMBER_MASK
        raise StoreDamaged(f"Memory {number} of {namespace!r} is not as it was written.", remedy=RESTORE)
    return record


def decode_sound(row: Row | None, namespace: str, unwritten: Mapping[int, Unwritten] = ALL_WRITTEN) -> Record | None:
    """The record, or None when the row is not as it was written, or could not even be read. Use that is not in the file
    yet is added.
    """
    if row is None or not is_sound(row):
        return None
    number = row[0] & NUMBER_MASK
    values: list[Any] = list(row[_CHECKSUM + 1 : _COVERED_END])
    for column in _TIME_COLUMNS:
        if (micros := values[column]) is not None:
            values[column] = from_micros(micros)
    for column in _LIST_COLUMNS:
        values[column] = tuple(json.loads(items)) if (items := values[column]) else ()
    values[_METADATA] = json.loads(entries) if (entries := values[_METADATA]) else {}
    recall_count, recalled_at, access_count, accessed_at = row[_COVERED_END:_USE_END]
    try:
        if unwritten and (counted := unwritten.get(number)):
            recall_count = max(recall_count or 0, counted.least_recalls) + counted.recalls
            recalled_at = newest_time(recalled_at, counted.recalled_at)
            access_count = max(access_count or 0, counted.least_accesses) + counted.accesses
            accessed_at = newest_time(accessed_at, counted.accessed_at)
        use = (
            int(recall_count or 0),
            None if recalled_at is None else from_micros(recalled_at),
            int(access_count or 0),
            None if accessed_at is None else from_micros(accessed_at),
        )
    except (TypeError, ValueError, OverflowError):
        # No checksum covers the counts of use: one that makes no sense is ignored, and the memory is kept.
        use = _UNUSED
    return record_of(_in_order((*values, *use, unpack_id(row[1]), number, namespace, row[2].hex())))


def is_sound(row: Row) -> bool:
    end = _COVERED_END - (_ADDED if row[_COVERED_END - 1] is row[_COVERED_END - 2] is None else 0)
    try:
        return _checksum(row[0], row[1:_CHECKSUM], row[_CHECKSUM + 1 : end]) == row[_CHECKSUM]
    except TypeError:
        return False


class Payload(NamedTuple):
    """What a line of the log holds: the record as it became, and where its author said that it came from."""

    record: Record
    provenance: Mapping[str, Json]


def encode_payload(record: Record, provenance: Mapping[str, Json] | None = None) -> str:
    """The whole record but its use, canonical: keys sorted, nothing empty, times in ISO 8601. InvalidInput when a text
    holds a NUL.
    """
    values: dict[str, object] = {
        name: value
        for name, value in zip(_FIELDS, _values(record), strict=True)
        if value is not None and value not in ((), {})
    }
    for name in _TIMES:
        moment = values.get(name)
        if isinstance(moment, datetime):
            values[name] = format_time(moment)
    if provenance:
        values["provenance"] = provenance
    body = encode_json(values)
    # A text that shows the escape of a NUL holds none: there the backslash is escaped itself.
    if _ESCAPED_NUL in body and _ESCAPED_NUL in body.replace(_ESCAPED_BACKSLASH, ""):
        raise InvalidInput("A text holds a NUL, which cannot be kept.", remedy="Take it out.")
    return body


def decode_payload(body: str | bytes) -> Payload:
    try:
        values: dict[str, Any] = json.loads(body)
        provenance = values.pop("provenance", {})
        for name in _TIMES:
            if name in values:
                values[name] = datetime.fromisoformat(values[name])
        for name in LIST_FIELDS:
            if name in values:
                values[name] = tuple(values[name])
        return Payload(Record(**values), provenance)
    except (ValueError, TypeError, AttributeError) as error:
        raise StoreDamaged("A revision's payload cannot be read.") from error


def encode_json(value: Json | Mapping[str, object]) -> str:
    try:
        return _json(value)
    except (ValueError, TypeError, RecursionError) as error:
        raise InvalidInput(f"The metadata cannot be kept as JSON: {error}.") from error


def _checksum(slot: int, hashes: Row, covered: Row) -> int:
    # One template for all columns: a call for each of them takes twice as long.
    text = ("%s" + "\x1f%s" * len(covered)) % (slot, *covered)
    return crc32(text.encode(), crc32(b"".join(hashes)))


def check_vector(vector: bytes, dimensions: int) -> None:
    """Raises InvalidInput unless these are vectors of this many dimensions."""
    if not vector or len(vector) % (dimensions * FLOAT_BYTES):
        raise InvalidInput(f"A vector of {len(vector)} bytes does not have {dimensions} dimensions.")
    windows = struct.iter_unpack(f"<{dimensions}f", vector)
    if not all(0.0 < math.hypot(*window) < math.inf for window in windows):
        raise InvalidInput("A vector that is zero, or not of finite numbers, has no direction.")


def storable(text: str) -> str:
    """Without halves of surrogate pairs and NULs, which cannot be stored."""
    return text.encode("utf-8", "replace").decode().replace("\x00", "\N{REPLACEMENT CHARACTER}")


def has_dimensions(vector: bytes, dimensions: int) -> bool:
    """Whether it is one vector of so many dimensions or, of a passage that was too long for one, several."""
    return len(vector) > 0 and len(vector) % (dimensions * FLOAT_BYTES) == 0


def vector_checksum(passage_hash: bytes, vector: bytes) -> int:
    """The passage is part of it, so that two vectors that changed places are noticed."""
    return crc32(vector, crc32(passage_hash))


def is_sound_vector(checksum: int, passage_hash: bytes, vector: bytes) -> bool:
    """Vectors of the first schema have a checksum of themselves alone."""
    return checksum in (vector_checksum(passage_hash, vector), crc32(vector))
