"""Put before Anthropic's tests of its memory tool on a file system: both tools are ours, and the helper that reads a
folder asks the tool of that folder for its files.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import anthropic.lib.tools._beta_builtin_memory_tool as builtin

from perdure import Memory
from perdure.adapters.anthropic import AsyncPerdureMemoryTool, PerdureMemoryTool

if TYPE_CHECKING:
    import pytest

TOOLS: dict[str, Any] = {}


class OfFolder:
    def __init__(self, base_path: str = "./memory") -> None:
        super().__init__(Memory(f"{base_path}/memory.db", embedder="none"))  # pyright: ignore[reportCallIssue]
        self.base_path = Path(base_path)
        self.memory_root = self.base_path / "memories"
        TOOLS[str(base_path)] = self


class Tool(OfFolder, PerdureMemoryTool):
    pass


class AsyncTool(OfFolder, AsyncPerdureMemoryTool):
    pass


builtin.BetaLocalFilesystemMemoryTool = Tool
builtin.BetaAsyncLocalFilesystemMemoryTool = AsyncTool


def snapshot(base_path: str) -> dict[str, str]:
    return {path.lstrip("/"): text for path, text in TOOLS[base_path].files.files().items()}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        item.module.get_directory_snapshot = snapshot  # pyright: ignore[reportAttributeAccessIssue]
