"""Texts that must not come back, known only by a digest that nobody can guess without the store's secret."""

from __future__ import annotations

import hmac
from datetime import datetime
from typing import Final

from perdure.clock import from_micros, to_micros
from perdure.errors import StoreDamaged
from perdure.ids import ContentHash
from perdure.store.sqlite.apsw_types import Database
from perdure.store.sqlite.sql import SQL

_BURY: Final = SQL["bury"]
_BURIED: Final = SQL["buried_at"]
_UNBURY: Final = SQL["unbury"]


class Tombstones:
    """The tombstones of one namespace, by its id and its name, for as long as one transaction lasts."""

    def __init__(self, connection: Database, namespace: int, name: str) -> None:
        self._connection = connection
        self._namespace = namespace
        self._name = name.encode()
        self._secret: bytes | None = None

    def add_tombstone(self, content_hash: ContentHash, reason: str, at: datetime) -> None:
        self._connection.execute(_BURY, (self._namespace, self.digest(content_hash), to_micros(at), reason))

    def tombstone_since(self, content_hash: ContentHash) -> datetime | None:
        at: int | None = self._connection.execute(_BURIED, (self._namespace, self.digest(content_hash))).get
        return None if at is None else from_micros(at)

    def lift_tombstone(self, content_hash: ContentHash) -> None:
        self._connection.execute(_UNBURY, (self._namespace, self.digest(content_hash)))

    def digest(self, content_hash: ContentHash) -> bytes:
        if self._secret is None:
            self._secret = _secret_of(self._connection)
        return hmac.digest(self._secret, self._name + b"\x00" + content_hash.encode(), "sha256")


def _secret_of(connection: Database) -> bytes:
    """Read once in a transaction and never kept longer: a store that is brought back from a backup gets that one's."""
    secret = connection.execute(SQL["get_meta"], ("secret",)).get
    if not isinstance(secret, bytes):
        raise StoreDamaged("The store has lost its secret, so nobody can say what was forgotten.")
    return secret
