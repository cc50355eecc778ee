"""The PostgreSQL store keeps every promise of the port, on a real server."""

from __future__ import annotations

import pytest
from postgres_stores import EmptyStores

from perdure.store.port import Store
from perdure.testing.conformance import StoreConformance


class TestPlain(StoreConformance):
    @pytest.fixture(autouse=True)
    def stores(self, postgres_stores: EmptyStores) -> None:
        self._stores = postgres_stores

    def open_store(self) -> Store:
        return self._stores.open()
