"""Every test has a store of its own, and no model unless it asks for one."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli.user import User

from perdure.store.sqlite.store import SqliteStore


@pytest.fixture
def store(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def newcomer(store: Path) -> User:
    """A user who has no store yet."""
    return User({
        "PERDURE_STORE": str(store), "PERDURE_EMBEDDER": "none", "PERDURE_ACTOR": "ana", "COLUMNS": "100",
        "TERM": "xterm-256color", "NO_COLOR": "",
    })  # fmt: skip


@pytest.fixture
def user(newcomer: User, store: Path) -> User:
    SqliteStore.open(store).close()
    return newcomer
