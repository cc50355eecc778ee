"""`perdure consolidate`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from cli.user import User

SAID = (
    "I work as a nurse in a small hospital",
    "My sister Anna lives in Bergen with two dogs",
    "I live in Osaka, near the castle",
    "The weather is fine today, is it not",
    "I love green tea more than anything else",
)


@pytest.fixture
def talked(user: User, tmp_path: Path) -> User:
    """One episode waits; the agent is to consolidate, so `work` leaves it alone."""
    path = tmp_path / "chat.jsonl"
    lines = [
        {"conversation_id": "c1", "role": "user", "content": text, "at": f"2026-03-01T10:{minute:02}:00Z"}
        for minute, text in zip((0, 1, 2, 3, 4, 50), (*SAID, "Hello again, it is me"), strict=True)
    ]
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    user.done("chat", "import", str(path))
    user.done("work", PERDURE_LEARN="agent")
    return user


def test_facts_are_made_and_can_be_taken_back(talked: User):
    answer = talked.done("consolidate")
    assert any(row[0] == "new" and "Osaka" in row[3] for row in answer.rows)
    batch = answer.err.rpartition(" ")[2].strip()
    assert len(talked.done("facts").rows) == len(answer.rows)
    talked.done("undo", batch)
    assert talked.done("facts").out == ""


def test_a_dry_run_prints_exactly_what_would_change(talked: User):
    preview = talked.done("consolidate", "--dry-run")
    assert "nothing was changed" in preview.err
    assert talked.done("facts").out == ""
    assert talked.done("consolidate", "--dry-run").out == preview.out
    done = talked.done("consolidate")
    assert preview.rows
    assert [[row[0], *row[2:]] for row in done.rows] == [[row[0], *row[2:]] for row in preview.rows]
    assert all(row[1] for row in done.rows)
    assert not any(row[1] for row in preview.rows)


def test_on_a_terminal_each_fact_has_its_category_and_its_sources(talked: User):
    shown = talked.screen("consolidate", "--dry-run")
    assert shown.startswith("Would consolidate 1 episode: ")
    assert "(sources: 1 conversation)" in shown
    assert talked.screen("consolidate").startswith("Consolidated 1 episode: ")


def test_only_one_conversation_if_you_like(talked: User):
    assert "No episode waits." in talked.done("consolidate", "--conversation", "another").err
    answer = talked.done("consolidate", "--conversation", "c1", "--json").json
    assert (answer["episodes"], answer["done"]) == (1, True)
    assert answer["learned"] == len(answer["changes"])


def test_where_nothing_waits_it_says_so(talked: User):
    talked.done("consolidate")
    answer = talked.done("consolidate")
    assert (answer.out, "No episode waits." in answer.err) == ("", True)


def test_a_model_that_is_not_there_is_said_and_nothing_is_lost(talked: User):
    model = {"PERDURE_LLM": "ollama:qwen3", "OLLAMA_HOST": "http://127.0.0.1:9"}
    answer = talked.done("consolidate", **model)
    assert "The episodes wait." in answer.err
    assert talked.done("consolidate", "--json").json["episodes"] == 1


def test_switched_off_it_does_nothing_and_says_so(talked: User):
    answer = talked.done("consolidate", PERDURE_LEARN="off")
    assert "`learn`" in answer.err
    assert talked.done("facts").out == ""
