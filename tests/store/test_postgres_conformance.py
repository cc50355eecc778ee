"""The PostgreSQL store keeps every promise of the port, on a real server."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

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
    """PostgreSQL refuses a unique index on hash partitions that does not hold the namespace: so would Citus."""

    kind: ClassVar[dict[str, Any]] = {"partitions": 4}


class TestRoleWithoutRights(PostgresConformance):
    """A role that owns nothing: what the policies do not let it see, it does not see. Nothing is prepared, as behind a
    pooler that knows no prepared statements.
    """

    kind: ClassVar[dict[str, Any]] = {"role": ROLE, "prepare": "off"}
