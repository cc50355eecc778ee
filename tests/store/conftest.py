"""A store's file in a directory of its own, and a place that an unprivileged user can reach."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from perdure.store.sqlite.store import SqliteStore


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "memory.db"


@pytest.fixture
def store(path: Path) -> Generator[SqliteStore]:
    store = SqliteStore.open(path)
    yield store
    store.close()


@pytest.fixture
def commons() -> Generator[Path]:
    """Outside pytest's own directories, which only root may enter."""
    directory = Path(tempfile.mkdtemp(prefix="perdure-test-"))
    directory.chmod(0o755)
    yield directory
    shutil.rmtree(directory, ignore_errors=True)
