"""What every part of the contract starts from: an empty store."""

from __future__ import annotations

from collections.abc import Generator
from typing import ClassVar

import pytest
from hypothesis import HealthCheck, settings

from perdure.store.port import Store

# Each backend runs the same tests, and each example opens a store of its own.
RELAXED = settings(
    deadline=None,
    suppress_health_check=[
        HealthCheck.differing_executors,
        HealthCheck.function_scoped_fixture,
        HealthCheck.too_slow,
    ],
)


class StoreTestBase:
    # Whether several threads can use the store at the same moment; a store in memory may take turns.
    reads_during_writes: ClassVar[bool] = True
    # Whether counts of use wait for whoever writes to the same namespace.
    flush_waits: ClassVar[bool] = True

    def open_store(self) -> Store:
        """A new, empty store, each time. It should be cheap: some tests open dozens."""
        raise NotImplementedError

    @pytest.fixture
    def store(self) -> Generator[Store]:
        store = self.open_store()
        yield store
        store.close()
