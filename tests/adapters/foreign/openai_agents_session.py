"""Put before the tests of OpenAI Agents of its SQLite session: `SQLiteSession` is ours."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import agents

from perdure import Memory
from perdure.adapters.openai_agents import PerdureSession


class SQLiteSession(PerdureSession):
    def __init__(self, session_id: str, db_path: str | Path = ":memory:", *, session_settings: Any = None) -> None:
        path = f"{tempfile.mkdtemp()}/memory.db" if str(db_path) == ":memory:" else str(db_path)
        super().__init__(session_id, Memory(path, embedder="none"), session_settings=session_settings)

    def close(self) -> None:
        self.perdure.close()


agents.SQLiteSession = SQLiteSession
