"""Vectors, kept by generation and passage: their checksums, and which passages still have none."""

from __future__ import annotations

from typing import Final
from zlib import crc32

from perdure.embed.port import Generation
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.sql import SQL

FLOAT_BYTES: Final = 4

# The id of a generation that no vector has yet, so that everything is pending.
NO_GENERATION: Final = -1


def generation_id(connection: Database, generation: Generation | None) -> int:
    known = generation and connection.execute(SQL["generation_id"], (generation.name,)).get
    return known or NO_GENERATION


def vector_checksum(passage_hash: bytes, vector: bytes) -> int:
    """The passage is part of it, so that two vectors that changed places are noticed."""
    return crc32(vector, crc32(passage_hash))


def is_sound_vector(checksum: int, passage_hash: bytes, vector: bytes) -> bool:
    """Vectors of the first schema have a checksum of themselves alone."""
    return checksum in (vector_checksum(passage_hash, vector), crc32(vector))


def pending_count(connection: Database, generation: int, namespace: int) -> int:
    return connection.execute(SQL["pending_count"], {"namespace": namespace, "generation": generation}).get
