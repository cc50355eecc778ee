"""S1 D6: the model saves a learning in the middle of a session; criterion 4."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp_server.host import Host, ToolFailed, served, started

from perdure import Memory, Record
from perdure.embed.local import unavailable

LEARNING = {
    "name": "Idempotency keys",
    "description": "Retrying a POST request without an idempotency key charges customers twice",
    "reasoning": "Found in the payment logs of the checkout service after a timeout",
    "category": "anti-patterns",
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("PERDURE_EMBEDDER", "none")
    return tmp_path / "memory.db"


@pytest.fixture
def host(store: Path) -> Iterator[Host]:
    with served(store) as host:
        yield host


def stored(store: Path, number: int = 1) -> Record:
    with Memory(store) as memory:
        return memory.get(number)


def test_the_tool_takes_the_five_fields(host: Host, store: Path):
    """S1 capture interface: name, description, reasoning and category are required, references are not."""
    schema = host.tools()["store_memory"]["inputSchema"]
    assert list(schema["properties"]) == ["name", "description", "reasoning", "category", "references"]
    assert schema["required"] == ["name", "description", "reasoning", "category"]
    host.call("store_memory", **LEARNING, references=["checkout.py", "feature-31"])
    record = stored(store)
    assert (record.title, record.text) == (LEARNING["name"], LEARNING["description"])
    assert (record.reasoning, record.category) == (LEARNING["reasoning"], LEARNING["category"])
    assert record.references == ("checkout.py", "feature-31")


@pytest.mark.parametrize(
    "wrong", [{"name": ""}, {"description": " "}, {"reasoning": "\n"}, {"category": "wisdom"}, {"category": ""}]
)
def test_what_is_empty_or_of_no_category_is_rejected(host: Host, store: Path, wrong: dict[str, Any]):
    """S1 capture rejects: nothing is stored."""
    with pytest.raises(ToolFailed):
        host.call("store_memory", **{**LEARNING, **wrong})
    with Memory(store) as memory:
        assert len(memory.list()) == 0


def test_a_capture_says_that_it_is_one(host: Host, store: Path):
    """S1 capture source: and it is in the database when the tool answers."""
    host.call("store_memory", **LEARNING)
    assert stored(store).source == "session-capture"


def test_a_capture_is_embedded_at_once_and_stored_without_a_provider(
    tmp_path: Path, store: Path, host: Host, monkeypatch: pytest.MonkeyPatch
):
    """S1 capture embedding: by keyword alone where there is none."""
    host.call("store_memory", **LEARNING)
    assert host.call("recall", query="idempotency key")["memories"][0]["number"] == 1
    if unavailable() is not None:
        pytest.skip("no local model")
    monkeypatch.setenv("PERDURE_EMBEDDER", "local")
    with served(tmp_path / "other.db") as other:
        other.call("store_memory", **LEARNING)
    with Memory(tmp_path / "other.db") as memory:
        assert [each.vectors_pending for each in memory.stats().namespaces] == [0]


def test_a_capture_gets_keywords(host: Host, store: Path):
    """S1 capture keywords: three to ten of them."""
    host.call("store_memory", **LEARNING)
    assert 3 <= len(stored(store).keywords) <= 10


def test_the_same_learning_again_is_counted(host: Host, store: Path):
    """S1 capture duplicates: known by its content hash, whatever its case."""
    host.call("store_memory", **LEARNING)
    again = host.call("store_memory", **{**LEARNING, "description": LEARNING["description"].upper()})
    assert again["number"] == 1
    assert stored(store).observation_count == 2


def test_a_learning_is_there_in_the_next_session(store: Path):
    """S1 criterion 4: all fields are filled, and a later session finds it; real processes."""
    with started("--store", str(store), "--session", "one", "--project", "shop") as first:
        first.call("store_memory", **LEARNING)
        assert first.end() == 0
    record = stored(store)
    filled = (record.title, record.text, record.reasoning, record.category, record.content_hash, record.created_at)
    assert all(filled)
    assert (record.source_project, record.session_id, record.confidence) == ("shop", "one", pytest.approx(2 / 3))
    with started("--store", str(store), "--session", "two", "--project", "blog") as second:
        (memory,) = second.call("recall", query="retrying payment requests twice")["memories"]
    assert memory["number"] == record.number
