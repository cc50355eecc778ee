"""Named queries from `.sql` files: `-- name: put_memory`, then a comment that says why, then the SQL."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path
from types import MappingProxyType
from typing import Final

_NAME: Final = "-- name: "


def load_queries(path: Path) -> Mapping[str, str]:
    queries: dict[str, str] = {}
    for block in path.read_text(encoding="utf-8").split(f"\n{_NAME}")[1:]:
        name, *lines = block.splitlines()
        comment = list(takewhile(lambda line: line.startswith("--"), lines))
        sql = "\n".join(line for line in lines if not line.startswith("--")).strip().removesuffix(";")
        if not comment or not sql:
            raise ValueError(f"{path.name}: {name} needs a comment that says why, and then its SQL")
        if name in queries:
            raise ValueError(f"{path.name}: {name} is there twice")
        queries[name] = sql
    return MappingProxyType(queries)
