"""Anthropic's memory tool on a memory: its commands, to the letter, undo and the past."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from perdure import Memory

pytest.importorskip("anthropic.tools.memory", reason="`make test-adapters` has the SDK of Anthropic")

from anthropic.lib.tools import ToolError

from perdure.adapters.anthropic import AsyncPerdureMemoryTool, PerdureMemoryTool

NOTES = "/memories/notes.md"


def test_files_are_written_edited_found_and_taken_back(memory: Memory):
    tool = PerdureMemoryTool(memory)
    tool.call({"command": "create", "path": NOTES, "file_text": "Alice prefers dark mode\n"})
    then = memory.list(limit=1).records[0].updated_at
    tool.call({"command": "str_replace", "path": NOTES, "old_str": "dark", "new_str": "light"})
    tool.call({"command": "insert", "path": NOTES, "insert_line": 1, "insert_text": "Her dog is called Rex"})
    assert tool.files.files() == {NOTES: "Alice prefers light mode\nHer dog is called Rex\n"}
    assert "Rex" in memory.recall("what is the name of the animal?", min_relevance=0)[0].text
    past = PerdureMemoryTool(memory, known_at=then)
    assert past.files.files() == {NOTES: "Alice prefers dark mode\n"}
    with pytest.raises(ToolError, match="past cannot be changed"):
        past.call({"command": "delete", "path": NOTES})
    tool.call({"command": "rename", "old_path": NOTES, "new_path": "/memories/a/alice.md"})
    tool.call({"command": "delete", "path": "/memories/a"})
    assert tool.files.files() == {}
    memory.undo(memory.log(limit=1)[0].change.batch)
    assert list(tool.files.files()) == ["/memories/a/alice.md"]
    memory.undo(session="monday", force=True)
    assert tool.files.files() == {}


def test_the_asynchronous_tool_does_the_same(memory: Memory):
    tool = AsyncPerdureMemoryTool(memory)

    async def edit() -> Any:
        await tool.call({"command": "create", "path": NOTES, "file_text": "one\r\ntwo"})
        await tool.call({"command": "rename", "old_path": NOTES, "new_path": "/memories/b.md"})
        return await tool.call({"command": "view", "path": "/memories"})

    assert asyncio.run(edit()).endswith("8B\t/memories\n8B\t/memories/b.md")
    assert tool.files.files() == {"/memories/b.md": "one\r\ntwo"}
    assert asyncio.run(tool.clear_all_memory()) == "All memory cleared"


@pytest.mark.parametrize(
    ("command", "told"),
    [
        ({"command": "view", "path": "/etc/passwd"}, "must start with /memories"),
        ({"command": "view", "path": "/memories/../etc"}, "would escape"),
        ({"command": "view", "path": "/memories/none"}, "does not exist"),
        ({"command": "create", "path": "/memories/a/b", "file_text": "x"}, "already exists"),
        ({"command": "create", "path": "/memories/a/b/c", "file_text": "x"}, "already exists"),
        ({"command": "create", "path": "/memories/a", "file_text": "x"}, "already exists"),
        ({"command": "create", "path": "/memories/nul", "file_text": "a\x00b"}, "NUL"),
        ({"command": "str_replace", "path": "/memories/a", "old_str": "x", "new_str": "y"}, "not a file"),
        ({"command": "delete", "path": "/memories"}, "Cannot delete"),
        ({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/a/b/d"}, "already exists"),
        ({"command": "rename", "old_path": "/memories/a", "new_path": "/memories/a/d"}, "into itself"),
    ],
)
def test_what_cannot_be_done_is_an_error_of_the_tool(file_memory: Memory, command: dict[str, Any], told: str):
    tool = PerdureMemoryTool(file_memory)
    tool.call({"command": "create", "path": "/memories/a/b", "file_text": ""})
    with pytest.raises(ToolError, match=told):
        tool.call(command)
    assert tool.files.files() == {"/memories/a/b": ""}


def test_two_writers_of_one_file_do_not_overwrite_each_other(file_memory: Memory, monkeypatch: pytest.MonkeyPatch):
    tool = PerdureMemoryTool(file_memory)
    tool.call({"command": "create", "path": NOTES, "file_text": "one\n"})
    write = tool.files._write

    def slow(path: str, text: str, version: int) -> None:
        monkeypatch.setattr(tool.files, "_write", write)
        tool.call({"command": "insert", "path": NOTES, "insert_line": 0, "insert_text": "zero"})
        write(path, text, version)

    monkeypatch.setattr(tool.files, "_write", slow)
    with pytest.raises(ToolError, match="changed meanwhile"):
        tool.call({"command": "str_replace", "path": NOTES, "old_str": "one", "new_str": "1"})
    assert tool.files.files() == {NOTES: "zero\none\n"}
