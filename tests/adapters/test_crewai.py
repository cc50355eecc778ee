"""A storage of CrewAI: records by scope and category, found by words and meaning although CrewAI asks by a vector, and
taken back by undo.
"""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from perdure import Memory
from perdure.errors import InvalidInput

# CrewAI reports its use to its makers as soon as it is imported.
os.environ |= {"CREWAI_DISABLE_TELEMETRY": "true", "OTEL_SDK_DISABLED": "true"}
pytest.importorskip("crewai", reason="`make test-adapters` has CrewAI")

from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord

from perdure.adapters.crewai import PerdureStorage

JUNE = datetime(2026, 6, 1)  # noqa: DTZ001 - as CrewAI writes times


def record(content: str, scope: str = "/", day: int = 0, **fields: Any) -> MemoryRecord:
    return MemoryRecord(content=content, scope=scope, created_at=JUNE + timedelta(days=day), **fields)


def texts(records: list[MemoryRecord]) -> list[str]:
    return [each.content for each in records]


def test_a_record_is_found_by_the_words_that_crewai_made_a_vector_of(memory: Memory):
    storage = PerdureStorage(memory)
    assert isinstance(storage, StorageBackend)
    storage.save([
        record("Alice prefers dark mode", "/crew/ui", categories=["theme"], metadata={"by": "alice"}),
        record("The invoice number is INV-2093", "/crew/billing"),
        record("Bob prefers light mode", "/other", categories=["theme"]),
    ])  # fmt: skip
    [vector] = storage.embedder(["INV-2093"])
    assert storage.search(vector, limit=1)[0][0].content == "The invoice number is INV-2093"
    [vector] = storage.embedder(["which mode does somebody prefer?"])
    found = storage.search(vector, scope_prefix="/crew", categories=["theme"])
    assert [(each.content, 0 < score <= 1) for each, score in found] == [("Alice prefers dark mode", True)]
    assert texts([each for each, _ in asyncio.run(storage.asearch(vector, metadata_filter={"by": "alice"}))]) == [
        "Alice prefers dark mode"
    ]
    with pytest.raises(InvalidInput, match="own embedder"):
        storage.search([0.1, 0.2])


def test_scopes_end_at_their_borders_and_are_counted(file_memory: Memory):
    storage = PerdureStorage(file_memory)
    storage.save([
        record("one", "/a/b", 1, categories=["x", "y"]), record("two", "/a", 2, categories=["y"]),
        record("three", "/ab", 3), record("four", "/", 4),
    ])  # fmt: skip
    assert (storage.count(), storage.count("/a"), storage.count("/a/")) == (4, 2, 2)
    assert (storage.list_scopes("/"), storage.list_scopes("/a"), storage.list_scopes("/ab")) == (
        ["/a", "/ab"], ["/a/b"], [],
    )  # fmt: skip
    assert storage.list_categories("/a") == {"x": 1, "y": 2}
    assert texts(storage.list_records(limit=2, offset=1)) == ["three", "two"]
    info = storage.get_scope_info("/a")
    assert (info.record_count, info.oldest_record, info.newest_record, info.child_scopes) == (
        2, JUNE + timedelta(days=1), JUNE + timedelta(days=2), ["/a/b"],
    )  # fmt: skip


def test_a_record_comes_back_as_it_was_until_it_is_updated_or_deleted(file_memory: Memory):
    storage = PerdureStorage(file_memory)
    first = record("one", "/a", importance=0.9, source="alice", private=True, metadata={"n": [1, {"k": None}]})
    asyncio.run(storage.asave([first, record("two", "/b", 9)]))
    assert storage.get_record(first.id) == first
    storage.update(first.model_copy(update={"content": "uno"}))
    assert texts(storage.list_records("/a")) == ["uno"]
    assert storage.get_record("unknown") is None
    assert storage.delete(older_than=JUNE + timedelta(days=1)) == 1
    assert asyncio.run(storage.adelete(record_ids=[first.id, "unknown"])) == 0
    assert texts(storage.list_records()) == ["two"]
    storage.reset()
    assert storage.count() == 0


def test_what_a_session_did_is_taken_back_and_the_past_is_there(memory: Memory):
    storage = PerdureStorage(memory)
    storage.save([one := record("Alice prefers dark mode")])
    then = memory.list(limit=1).records[0].updated_at
    storage.update(one.model_copy(update={"content": "Alice prefers light mode"}))
    past = PerdureStorage(memory, known_at=then)
    assert texts(past.list_records()) == ["Alice prefers dark mode"]
    for change in (lambda: past.save([one]), lambda: past.update(one), past.reset):
        with pytest.raises(InvalidInput):
            change()
    storage.perdure.undo(session="monday")
    assert storage.count() == 0


PROGRAM = """
import sys
from crewai.memory.unified_memory import Memory as CrewMemory
from perdure import Memory
from perdure.adapters.crewai import PerdureStorage

storage = PerdureStorage(Memory(sys.argv[1], session=sys.argv[2], writer="model"))
memory = CrewMemory(storage=storage, embedder=storage.embedder, llm="none")
if sys.argv[2] == "learn":
    memory.remember(sys.argv[3], scope="/crew", categories=["theme"], importance=0.7)
else:
    for match in memory.recall(sys.argv[3], scope="/crew", depth="shallow"):
        print(match.record.content)
memory.close()
"""


def test_a_memory_of_crewai_learns_in_one_process_and_recalls_in_another_until_it_is_taken_back(tmp_path: Path):
    def run(session: str, text: str) -> str:
        command = [sys.executable, "-c", PROGRAM, str(tmp_path / "memory.db"), session, text]
        return subprocess.run(command, check=True, capture_output=True, encoding="utf-8").stdout

    run("learn", "Alice prefers dark mode")
    assert "Alice prefers dark mode" in run("ask", "which theme does Alice like?")
    with Memory(tmp_path / "memory.db") as memory:
        memory.undo(session="learn")
    assert "dark mode" not in run("ask", "which theme does Alice like?")
