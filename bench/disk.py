"""Bytes on disk, and what they are for."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any, Final

import apsw

_PAGES: Final = """
    SELECT coalesce(tbl_name, pages.name), sum(pgsize)
    FROM dbstat AS pages LEFT JOIN sqlite_schema USING (name) GROUP BY 1
"""


def bytes_below(directory: Path) -> int:
    return sum(path.stat().st_size for path in directory.rglob("*") if path.is_file())


def bytes_by_table(file: Path) -> dict[str, int]:
    """Of a store of ours: each table with its indexes, largest first; the full-text index is one."""
    connection: Any = apsw.Connection(str(file), flags=apsw.SQLITE_OPEN_READONLY)
    sizes: Counter[str] = Counter()
    for table, size in connection.execute(_PAGES):
        sizes["entry_fts" if table.startswith("entry_fts") else table] += size
    connection.close()
    return dict(sizes.most_common())
