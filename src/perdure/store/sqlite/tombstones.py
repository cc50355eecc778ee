"""Texts that must not come back, known only by a digest that nobody can guess without the store's secret."""

from __future__ import annotations

import hmac
from datetime import datetime

from perdure.clock import from_micros, to_micros
from perdure.errors import StoreDamaged
from perdure.ids import ContentHash
from perdure.store.sqlite.database import Database
from perdure.store.sqlite.sql import SQL


def bury(
    connection: Database, namespace: tuple[int, str], content_hash: ContentHash, reason: str, at: datetime
) -> None:
    """`namespace` is its id and its name."""
    row = (namespace[0], _digest(connection, namespace[1], content_hash), to_micros(at), reason)
    connection.execute(SQL["bury"], row)


def buried_at(connection: Database, namespace: tuple[int, str], content_hash: ContentHash) -> datetime | None:
    digest = _digest(connection, namespace[1], content_hash)
    at: int | None = connection.execute(SQL["buried_at"], (namespace[0], digest)).get
    return None if at is None else from_micros(at)


def unbury(connection: Database, namespace: tuple[int, str], content_hash: ContentHash) -> None:
    connection.execute(SQL["unbury"], (namespace[0], _digest(connection, namespace[1], content_hash)))


def _digest(connection: Database, name: str, content_hash: ContentHash) -> bytes:
    secret = connection.execute(SQL["get_meta"], ("secret",)).get
    if not isinstance(secret, bytes):
        raise StoreDamaged("The store has lost its secret, so nobody can say what was forgotten.")
    return hmac.digest(secret, name.encode() + b"\x00" + content_hash.encode(), "sha256")
