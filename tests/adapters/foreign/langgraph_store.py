"""Put before LangGraph's tests of its SQLite store: `SqliteStore` is ours. The embeddings of a test are those of the
memory, and `similarity` gives the scores that these tests compute themselves.
"""

from __future__ import annotations

import tempfile
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from typing import Any

from langgraph.store import sqlite

from perdure import Memory
from perdure.adapters.langchain import LangChainEmbedder
from perdure.adapters.langgraph import PerdureStore


class SqliteStore(PerdureStore):
    @classmethod
    @contextmanager
    def from_conn_string(
        cls, _: str, *, index: Mapping[str, Any] | None = None, ttl: Any = None
    ) -> Generator[SqliteStore]:
        embedder = LangChainEmbedder(index["embed"], "test") if index else None
        fields = (index or {}).get("text_fields") or (index or {}).get("fields") or ["$"]
        with tempfile.TemporaryDirectory() as folder, Memory(f"{folder}/memory.db", embedder=embedder) as memory:
            yield cls(memory, fields=fields, ttl=ttl, similarity=index is not None)

    def setup(self) -> None:
        """A memory needs none."""


sqlite.SqliteStore = SqliteStore
