"""The model itself turns conversations into facts: it is handed episodes, and gives facts back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from mcp_server.host import Host, ToolFailed, faults, served

from perdure import Memory
from perdure.settings import load

STORY = (
    "Hello there",
    "Good evening to you",
    "How have you been",
    "I moved to Osaka in March",
    "How nice to hear that",
)


@pytest.fixture
def talk(store: Path):
    """One episode of a conversation that waits."""
    with Memory(store, settings=load(None, store=store, learn="agent")) as memory:
        at = datetime(2026, 3, 14, 12, tzinfo=UTC)
        for text in STORY:
            memory.conversation("talk").add_message("user", text, at=at)
            at += timedelta(seconds=20)
        memory.conversation("talk").add_message("user", "Hello again, a day later", at=at + timedelta(days=1))
        memory.work()
    with served(store) as host:
        yield host


def test_a_model_is_handed_what_waits_and_its_facts_are_stored(talk: Host):
    schema = talk.tools()["consolidate"]["outputSchema"]
    task = talk.call("consolidate")
    assert faults(schema, task) == []
    assert [message["text"] for message in task["waiting"][0]["messages"]] == [f"user: {text}" for text in STORY]
    assert len(task["token"]) < 20
    fact = {"action": "new", "category": "identity", "fact": "The user lives in Osaka", "keywords": ["Osaka"]}
    done = talk.call("consolidate", token=task["token"], facts=[fact])
    assert faults(schema, done) == []
    assert (done["done"], done["episodes"], done["learned"]) == (True, 1, 1)
    assert any("Osaka" in each["text"] for each in talk.call("recall", query="where does the user live")["memories"])
    again = talk.call("consolidate")
    assert (again["done"], again["episodes"]) == (True, 0)


def test_the_task_as_text_says_the_same(talk: Host):
    text, data = talk.text("consolidate"), talk.call("consolidate")
    assert data["token"] in text
    assert data["instructions"] in text
    assert all(story in text for story in STORY)


def test_facts_without_a_task_of_this_memory_are_refused(talk: Host):
    fact = {"action": "new", "category": "goal", "fact": "To see the sea"}
    with pytest.raises(ToolFailed, match="need the token"):
        talk.call("consolidate", facts=[fact])
    with pytest.raises(ToolFailed, match="belongs to no task"):
        talk.call("consolidate", token="0123456789ab", facts=[fact])  # noqa: S106 - of nobody
    with pytest.raises(ToolFailed, match="action"):
        talk.call("consolidate", token=talk.call("consolidate")["token"], facts=[{**fact, "action": "delete"}])
