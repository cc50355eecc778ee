"""Put before LangGraph's tests of its SQLite stores: `SqliteStore` and `AsyncSqliteStore` are ours. The embeddings of a
test are those of the memory, and `similarity` gives the scores that these tests compute themselves.
"""

from __future__ import annotations

import tempfile
from collections.abc import AsyncGenerator, Generator, Mapping
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from langgraph.store import sqlite
from langgraph.store.sqlite import aio

from perdure import Memory
from perdure.adapters.langchain import LangChainEmbedder
from perdure.adapters.langgraph import PerdureStore


def opened(folder: str, index: Mapping[str, Any] | None, ttl: Any) -> dict[str, Any]:
    embedder = LangChainEmbedder(index["embed"], "test") if index else None
    fields = (index or {}).get("text_fields") or (index or {}).get("fields") or ["$"]
    memory = Memory(f"{folder}/memory.db", embedder=embedder)
    return {"memory": memory, "fields": fields, "ttl": ttl, "similarity": index is not None}


class SqliteStore(PerdureStore):
    @classmethod
    @contextmanager
    def from_conn_string(
        cls, _: str, *, index: Mapping[str, Any] | None = None, ttl: Any = None
    ) -> Generator[SqliteStore]:
        with tempfile.TemporaryDirectory() as folder:
            store = cls(**opened(folder, index, ttl))
            with store.perdure:
                yield store

    def setup(self) -> None:
        """A memory needs none."""


class AsyncSqliteStore(PerdureStore):
    @classmethod
    @asynccontextmanager
    async def from_conn_string(
        cls, _: str, *, index: Mapping[str, Any] | None = None, ttl: Any = None
    ) -> AsyncGenerator[AsyncSqliteStore]:
        with tempfile.TemporaryDirectory() as folder:
            store = cls(**opened(folder, index, ttl))
            with store.perdure:
                yield store

    async def setup(self) -> None:
        """A memory needs none."""


sqlite.SqliteStore = SqliteStore
sqlite.AsyncSqliteStore = AsyncSqliteStore
aio.AsyncSqliteStore = AsyncSqliteStore
