"""A store whose full-text index is gone."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw


def without_full_text(path: Path) -> None:
    file: Any = apsw.Connection(str(path))
    file.execute("PRAGMA writable_schema = ON; DELETE FROM sqlite_schema WHERE name = 'entry_fts'")
    file.close()
