"""Vectors, kept by generation and passage: written here, and what is still missing is found here."""

from __future__ import annotations

import math
import struct
from collections.abc import Iterable
from typing import Final
from zlib import crc32

from perdure.embed.port import Generation
from perdure.errors import InvalidInput, StoreDamaged
from perdure.model import Record
from perdure.store.port import Pending
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.rows import NUMBER_BITS, decode_row, slot_of
from perdure.store.sqlite.skip_unreadable import UNREADABLE
from perdure.store.sqlite.sql import SQL
from perdure.text.passage import passage

_FLOAT_BYTES: Final = 4
_PUT: Final = SQL["put_vector"]
_EXISTS: Final = SQL["passage_exists"]
_PENDING: Final = SQL["pending"]
_PASSAGE: Final = SQL["passage_vector"]
_BY_SLOT: Final = f"{SQL['select_memory']} {SQL['by_slot']}"

# A generation that no vector has: everything is pending.
NO_GENERATION: Final = -1


def generation_id(connection: Database, generation: Generation | None) -> int:
    found = generation and connection.execute(SQL["generation_id"], (generation.name,)).get
    return found or NO_GENERATION


def ensure_generation(connection: Database, generation: Generation) -> int:
    found = generation_id(connection, generation)
    if found != NO_GENERATION:
        return found
    row = (generation.name, generation.provider, generation.model, generation.dimensions, generation.version)
    return connection.execute(SQL["create_generation"], row).get


def put_vector(
    connection: Database, vector_id: int, generation: tuple[int, int], passage_hash: bytes, vector: bytes
) -> bool:
    """`generation` is its id and its dimensions. False when the passage has a vector already."""
    known, dimensions = generation
    if len(vector) != dimensions * _FLOAT_BYTES:
        raise InvalidInput(f"A vector of {len(vector)} bytes does not have {dimensions} dimensions.")
    if not 0.0 < math.hypot(*struct.unpack(f"<{dimensions}f", vector)) < math.inf:
        raise InvalidInput("A vector that is zero, or not of finite numbers, has no direction.")
    row = (vector_id, vector_id >> NUMBER_BITS, known, passage_hash, _checksum(passage_hash, vector), vector)
    connection.execute(_PUT, row)
    return connection.changes() > 0


def put_vectors(connection: Database, generation: Generation, vectors: Iterable[tuple[int, bytes, bytes]]) -> int:
    """(namespace, passage hash, vector) rows; how many were new and still wanted."""
    known = (ensure_generation(connection, generation), generation.dimensions)
    newest: dict[int, int] = {}
    count = 0
    for namespace, passage_hash, vector in vectors:
        if namespace not in newest:
            newest[namespace] = connection.execute(SQL["newest_vector"], (namespace,)).get
        vector_id = slot_of(namespace, newest[namespace] + 1)
        wanted = connection.execute(_EXISTS, (namespace, passage_hash)).get
        if wanted and put_vector(connection, vector_id, known, passage_hash, vector):
            newest[namespace] += 1
            count += 1
    for namespace, vector in newest.items():
        connection.execute(SQL["touch_namespace"], (vector, namespace))
    return count


def pending(connection: Database, generation: Generation, limit: int) -> list[Pending]:
    known = generation_id(connection, generation)
    found: list[Pending] = []
    for namespace, name in connection.execute(SQL["namespace_names"]).fetchall():
        for _, passage_hash, slot in connection.execute(_PENDING, {"namespace": namespace, "generation": known}):
            if len(found) >= limit:
                return found
            record = sound(connection, name, slot)
            if record is not None:
                found.append(Pending(name, passage_hash, passage(record)))
    return found


def sound(connection: Database, name: str, slot: int) -> Record | None:
    try:
        rows = connection.execute(_BY_SLOT, (slot,)).fetchall()
        return decode_row(rows[0], name) if rows else None
    except (StoreDamaged, *UNREADABLE):
        return None


def passage_vectors(
    connection: Database, namespace: int, generation: Generation, passage_hashes: Iterable[bytes]
) -> dict[bytes, bytes]:
    """One that is not as it was stored is no vector."""
    known = generation_id(connection, generation)
    found: dict[bytes, bytes] = {}
    for passage_hash in passage_hashes:
        for checksum, data in connection.execute(_PASSAGE, (namespace, known, passage_hash)):
            if len(data) == generation.dimensions * _FLOAT_BYTES and is_own(checksum, passage_hash, data):
                found[passage_hash] = data
    return found


def _checksum(passage_hash: bytes, vector: bytes) -> int:
    """With the passage in it, so that two vectors that changed places are found."""
    return crc32(vector, crc32(passage_hash))


def is_own(checksum: int, passage_hash: bytes, vector: bytes) -> bool:
    """Vectors of the first schema have a checksum of themselves alone."""
    return checksum in (_checksum(passage_hash, vector), crc32(vector))


def pending_count(connection: Database, generation: int, namespace: int) -> int:
    return connection.execute(SQL["pending_count"], {"namespace": namespace, "generation": generation}).get
