"""The PostgreSQL store keeps every promise of the port, on a real server."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import pytest
from postgres_server import has_pgvector

from perdure.store.port import Store
from perdure.testing.conformance import CoreConformance
from perdure.testing.conformance.doctor import DoctorTests

if TYPE_CHECKING:
    from postgres_stores import EmptyStores


ROLE = "perdure_app"


class PostgresConformance(CoreConformance, DoctorTests):
    """`kind` says how the tables are made, and by whom they are used."""

    kind: ClassVar[dict[str, Any]] = {}
    flush_waits = False

    @pytest.fixture(autouse=True)
    def stores(self, postgres_kinds: Callable[..., EmptyStores]) -> None:
        self._stores = postgres_kinds(**self.kind)

    def open_store(self) -> Store:
        return self._stores.open()


class TestPlain(PostgresConformance):
    pass


class TestPartitions(PostgresConformance):
    """PostgreSQL refuses a unique index on hash partitions that does not hold the namespace: so would Citus. The
    vectors are pgvector's as well.
    """

    kind: ClassVar[dict[str, Any]] = {"partitions": 4, "pgvector": has_pgvector()}


class TestRoleWithoutRights(PostgresConformance):
    """A role that owns nothing: what the policies do not let it see, it does not see. Nothing is prepared, as behind a
    pooler that knows no prepared statements.
    """

    kind: ClassVar[dict[str, Any]] = {"role": ROLE, "prepare": "off"}


if "PERDURE_TEST_PGBOUNCER" in os.environ:

    class TestBehindPgBouncer(PostgresConformance):
        """No two transactions need the same connection of the server. The variable names the program."""

        kind: ClassVar[dict[str, Any]] = {"pooled": True}
