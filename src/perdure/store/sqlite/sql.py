"""The statements of queries.sql, by name."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from perdure.store.queries import load_queries

SQL: Final = load_queries(Path(__file__).with_name("queries.sql"))
