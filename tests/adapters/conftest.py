"""The memories that adapters are tried on: a file, a server and PostgreSQL. The frameworks are in `.venv-adapters`
alone: without them these tests are skipped, and `make test-adapters` runs them all.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from serve.running import RunningServer

from perdure import Memory

SESSION = "monday"


@pytest.fixture(params=["file", "server", "postgres"])
def memory(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Memory]:
    """An empty memory that an agent writes to in the session `monday`."""
    with ExitStack() as stack:
        if request.param == "server":
            server = RunningServer(tmp_path / "memory.db", environment={"PERDURE_EMBEDDER": "local"})
            running = stack.enter_context(server)
            memory = Memory(running.started["url"], token=running.owner, session=SESSION)
        elif request.param == "postgres":
            stores = request.getfixturevalue("postgres_stores")
            memory = Memory(stores.url(stores.new_schema()), session=SESSION)
        else:
            memory = Memory(tmp_path / "memory.db", session=SESSION)
        yield stack.enter_context(memory)


@pytest.fixture
def file_memory(tmp_path: Path) -> Iterator[Memory]:
    with Memory(tmp_path / "memory.db", session=SESSION, embedder="none") as memory:
        yield memory
