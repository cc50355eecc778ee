"""Named queries from `.sql` files: `-- name: put_memory`, then a comment that says why, then the SQL."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Final

_NAME: Final = "-- name: "


def load_queries(path: Path) -> Mapping[str, str]:
    found: dict[str, str] = {}
    for block in path.read_text(encoding="utf-8").split(f"\n{_NAME}")[1:]:
        name, why, sql = _parse(block)
        if not why or not sql:
            raise ValueError(f"{path.name}: {name} needs a comment that says why, and then its SQL")
        if name in found:
            raise ValueError(f"{path.name}: {name} is there twice")
        found[name] = sql
    return MappingProxyType(found)


def _parse(block: str) -> tuple[str, str, str]:
    name, *lines = block.splitlines()
    count = 0
    while count < len(lines) and lines[count].startswith("--"):
        count += 1
    sql = "\n".join(line for line in lines[count:] if not line.startswith("--"))
    return name.strip(), " ".join(lines[:count]), sql.strip().removesuffix(";")
