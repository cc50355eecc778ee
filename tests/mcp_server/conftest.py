"""Every test has a store of its own, and no model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from mcp_server.host import STATELESS, Host, served


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    return tmp_path / "memory.db"


@pytest.fixture(params=["2025-11-25", STATELESS])
def host(store: Path, request: pytest.FixtureRequest) -> Iterator[Host]:
    """A host of each era."""
    with served(store, version=request.param) as host:
        yield host


@pytest.fixture
def model(store: Path) -> Iterator[Host]:
    """A host that was given every tool."""
    with served(store, tools="all") as host:
        yield host
