"""Tokens in a table of the database, so that every server of a fleet knows them.

A server looks at the table when it last did so two seconds ago: a new token is good, and a revoked one refused, on
every server within that time. Where the database cannot be reached nobody is let in.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Final, cast

from perdure.auth.authorise import SCOPES, AccessToken, Scope
from perdure.auth.tokens import KeptToken, Tokens, name_taken
from perdure.clock import Clock, from_micros, to_micros
from perdure.store.postgres.connection import Row
from perdure.store.postgres.pool import SHARED, PostgresPool
from perdure.store.postgres.sql import token_queries

LOOK_SECONDS: Final = 2.0


class TokenTable(Tokens):
    def __init__(self, pool: PostgresPool, clock: Clock, seconds: Callable[[], float] = time.monotonic) -> None:
        super().__init__(clock)
        self._pool = pool
        self._sql = token_queries(pool.address.schema)
        self._seconds = seconds
        self._lock = threading.Lock()
        self._kept: Mapping[str, KeptToken] = {}
        self._current_until: float | None = None

    @property
    def is_current(self) -> bool:
        until = self._current_until
        return until is not None and self._seconds() < until

    def _read(self) -> Mapping[str, KeptToken]:
        if self.is_current:
            return self._kept
        with self._lock:
            # Of all who wait here, one asks.
            if not self.is_current:
                # What is revoked while the answer is on its way may be missing in it, so the time counts from here.
                begun = self._seconds()
                (rows,) = self._pool.ask(SHARED, (self._sql["tokens"], None))
                self._kept = {row[0]: _kept(row) for row in rows}
                self._current_until = begun + LOOK_SECONDS
            return self._kept

    def _add(self, kept: KeptToken) -> None:
        token = kept.token
        bindings = {
            "id": token.id,
            "name": token.name,
            "scopes": list(token.scopes),
            "namespaces": None if token.namespaces is None else list(token.namespaces),
            "writer": token.writer,
            "digest": kept.digest,
            "created_at": to_micros(token.created_at),
            "expires_at": None if token.expires_at is None else to_micros(token.expires_at),
        }
        with self._pool.writing(SHARED) as transaction:
            if not transaction.ask(self._sql["add_token"], bindings):
                raise name_taken(token.name)
        self._current_until = None

    def _revoke(self, id: str, at: datetime) -> None:
        with self._pool.writing(SHARED) as transaction:
            transaction.send(self._sql["revoke_token"], {"id": id, "at": to_micros(at)})
        self._current_until = None


def _kept(row: Row) -> KeptToken:
    id, name, scopes, namespaces, writer, digest, created_at, expires_at, revoked_at = row
    token = AccessToken(
        id,
        name,
        cast("tuple[Scope, ...]", tuple(scope for scope in SCOPES if scope in scopes)),
        None if namespaces is None else tuple(namespaces),
        "person" if writer == "person" else "model",
        from_micros(created_at),
        None if expires_at is None else from_micros(expires_at),
        None if revoked_at is None else from_micros(revoked_at),
    )
    return KeptToken(token, digest)
