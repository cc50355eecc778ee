"""Generations of vectors, and which passages still have no vector."""

from __future__ import annotations

from typing import Final

from perdure.embed.port import Generation
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.sql import SQL

FLOAT_BYTES: Final = 4

# The id of a generation that no vector has yet, so that everything is pending.
NO_GENERATION: Final = -1


def generation_id(connection: Database, generation: Generation | None) -> int:
    known = generation and connection.execute(SQL["generation_id"], (generation.name,)).get
    return known or NO_GENERATION


def pending_count(connection: Database, generation: int, namespace: int) -> int:
    return connection.execute(SQL["pending_count"], {"namespace": namespace, "generation": generation}).get
