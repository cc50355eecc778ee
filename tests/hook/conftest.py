from __future__ import annotations

from pathlib import Path

import pytest

from perdure import Memory


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "website"
    (folder / ".git").mkdir(parents=True)
    return folder


@pytest.fixture
def store(stranger: Path) -> Path:
    """Where a person's own memory is."""
    return stranger / ".local/share/perdure/memory.db"


@pytest.fixture
def known(store: Path) -> Path:
    """A store in which something is known already."""
    with Memory(embedder="none") as memory:
        memory.remember("The deploy key is rotated every Friday by the platform team", title="Rotation")
    return store
