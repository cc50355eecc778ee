"""SQLite behind the store's back, for tests that break or inspect a file."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw


@contextmanager
def behind(path: Path | str) -> Generator[Any]:
    """A bare connection, without a single setting of ours. Any, because apsw's stubs do not know what rows hold."""
    connection = apsw.Connection(str(path))
    try:
        yield connection
    finally:
        connection.close()
