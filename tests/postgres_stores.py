"""Empty stores on the test server. Making tables takes 30 ms, so they are emptied and used again."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING, Any, LiteralString, cast

import psycopg
from postgres_server import citus_shards

from perdure.location import locate
from perdure.store.postgres.address import Address, parse_address
from perdure.store.postgres.migrate import NAMESPACE_TABLES, migrate
from perdure.store.postgres.store import PostgresStore

if TYPE_CHECKING:
    from postgres_server import PostgresServer

_CONTENT = (*NAMESPACE_TABLES, "generation", "serving", "provider_call", "lease", "token")


class EmptyStores:
    """Schemas of one kind on one server. A schema is free again when the store that used it is closed."""

    def __init__(
        self,
        server: PostgresServer,
        *,
        partitions: int = 0,
        role: str | None = None,
        prepare: str = "on",
        pgvector: bool = False,
        pooled: bool = False,
    ):
        self._server = server
        self._database = server.database_with_pgvector() if pgvector else "postgres"
        self._partitions = partitions
        self._role = role
        self._prepare = prepare
        self._pooler = {"port": str(server.pooler().port)} if pooled else dict[str, str]()
        self._prefix = f"t{partitions}{role or ''}{prepare}{'p' if pooled else ''}_"
        self._count = 0
        self._free: list[str] = []
        self._used: dict[PostgresStore, str] = {}
        if role is not None:
            server.make_role(role)

    def url(self, schema: str, user: str | None = None) -> str:
        options = {"schema": schema} | ({"prepare": "off"} if self._prepare == "off" else {}) | self._pooler
        return self._server.url(self._database, user=user or self._role or "perdure", **options)

    def new_schema(self) -> str:
        """An empty one."""
        for store, schema in list(self._used.items()):
            if store._pool._closed:
                del self._used[store]
                # Stores of one address share what they counted, and the next one here is another store.
                store._use.clear()
                self._free.append(schema)
        if self._free:
            schema = self._free.pop()
            self._empty(schema)
            return schema
        self._count += 1
        schema = f"{self._prefix}{self._count}"
        # Not through a pooler: a migration has settings of its own.
        location = locate(self._server.url(self._database, schema=schema))
        shards = citus_shards()
        partitions = 0 if shards else self._partitions
        address = parse_address(location.address, location.shown)
        migrate(address, partitions=partitions, shards=shards, role=self._role)
        return schema

    def _empty(self, schema: str) -> None:
        with (
            closing(psycopg.connect(self._server.url(self._database), autocommit=True)) as connection,
            connection.pipeline(),
        ):
            connection.execute("BEGIN")
            connection.execute("SET LOCAL perdure.everywhere = 'on'")
            for table in _CONTENT:
                connection.execute(cast("LiteralString", f'DELETE FROM "{schema}"."{table}"'))  # noqa: S608
            connection.execute("COMMIT")

    def _address(self, schema: str, user: str | None = None) -> Address:
        location = locate(self.url(schema, user))
        return parse_address(location.address, location.shown)

    def conninfo(self, schema: str, user: str | None = None) -> str:
        return self._address(schema, user).conninfo

    def address(self) -> Address:
        return self._address(self.new_schema())

    def new_url(self) -> str:
        """Of an empty store that nobody else gets."""
        return self.url(self.new_schema())

    def open(self, **options: Any) -> PostgresStore:
        schema = self.new_schema()
        store = PostgresStore.open(self._address(schema), **options)
        self._used[store] = schema
        return store
