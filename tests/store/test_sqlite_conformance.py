"""The SQLite store keeps every promise of the port, in a file and in memory."""

from __future__ import annotations

from pathlib import Path
from uuid import uuid4

import pytest

from perdure.store.port import Store
from perdure.store.sqlite import reader
from perdure.store.sqlite.store import SqliteStore
from perdure.testing.conformance import StoreConformance
from perdure.testing.conformance.capacity import CapacityTests


class TestFile(StoreConformance):
    @pytest.fixture(autouse=True)
    def directory(self, tmp_path: Path) -> None:
        self._directory = tmp_path

    def open_store(self) -> Store:
        return SqliteStore.open(self._directory / f"{uuid4()}.db")


class TestCapacitySeenThroughASmallWindow(CapacityTests):
    """Who may go is looked for among a few first: here among so few that these are often the wrong ones."""

    @pytest.fixture(autouse=True)
    def window(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(reader, "EVICTION_WINDOW", 0)

    def open_store(self) -> Store:
        return SqliteStore.open(None)


class TestMemory(StoreConformance):
    reads_during_writes = False

    def open_store(self) -> Store:
        return SqliteStore.open(None)
