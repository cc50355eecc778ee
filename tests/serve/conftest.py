from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from serve.running import RunningServer


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningServer]:
    """One server for the tests of a module; each test takes a namespace of its own."""
    with RunningServer(tmp_path_factory.mktemp("serve") / "memory.db") as running:
        yield running


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"
