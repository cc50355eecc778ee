"""A whole agent of each framework learns in one process, recalls in another, and is taken back by undo."""

from __future__ import annotations

import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hosts.scripted_model import Call, ScriptedModel, Step

from perdure import Memory

HERE = Path(__file__).parent
FACT = "Alice prefers dark mode"
LEARN, ASK = "Remember: I prefer dark mode", "Which theme do I like?"


@dataclass(frozen=True)
class Program:
    needs: str
    # What the model says in the first run and in the second, before it is done.
    learns: Step | None = None
    recalls: Step | None = None
    # Words that the model must read in the second run.
    reads: str = FACT
    more: dict[str, Any] = field(default_factory=dict[str, Any])


def call(tool: str, **arguments: Any) -> Call:
    return Call(tool, arguments, server="")


PROGRAMS = {
    "langgraph": Program(
        "langmem", call("manage_memory", content=FACT, action="create"), call("search_memory", query="which theme?")
    ),
    "anthropic": Program(
        "anthropic.tools.memory",
        call("memory", command="create", path="/memories/alice.md", file_text=FACT),
        call("memory", command="view", path="/memories/alice.md"),
    ),
    "anthropic_async": Program(
        "anthropic.tools.memory",
        call("memory", command="create", path="/memories/alice.md", file_text=FACT),
        call("memory", command="view", path="/memories/alice.md"),
    ),
    # The session itself is read again.
    "openai_agents": Program("agents.memory", call("remember", text=FACT), None, LEARN),
    "pydantic_ai": Program(
        "pydantic_ai_harness.memory",
        call("remember", text=FACT),
        call("recall", query="which theme?"),
    ),
    "adk": Program("google.adk", call("remember", text=FACT), None, LEARN),
    "strands": Program("strands.memory", call("add_memory", entries=[FACT]), None),
    # What was said is kept, and told in the next run.
    "langchain": Program("langchain_openai", None, None, LEARN),
    "llama_index": Program("llama_index.core", None, None, LEARN),
    "agent_framework": Program("agent_framework", None, None, LEARN),
}


def run(name: str, store: Path, model: ScriptedModel, prompt: str, step: Step | None) -> str:
    """What the model has read in this run."""
    seen = len(model.everything)
    model.steps.extend([step] if step else [])
    command = [sys.executable, str(HERE / "programs.py"), name, str(store), model.url, prompt]
    environment = {**os.environ, "OPENAI_AGENTS_DISABLE_TRACING": "1", "NO_PROXY": "*"}
    done = subprocess.run(command, env=environment, capture_output=True, encoding="utf-8", check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-3000:]
    return "\n".join(request.text for request in model.everything[seen:])


@pytest.mark.parametrize("name", PROGRAMS)
def test_an_agent_learns_recalls_in_another_process_and_is_taken_back(name: str, tmp_path: Path):
    program = PROGRAMS[name]
    pytest.importorskip(program.needs, reason="`make test-adapters` has it")
    store = tmp_path / "agent.db"
    with ScriptedModel(lambda each: each.tool) as model:
        assert program.reads not in run(name, store, model, "Hello", None)
        run(name, store, model, LEARN, program.learns)
        assert program.reads in run(name, store, model, ASK, program.recalls)
        with Memory(store) as person:
            person.undo(session=LEARN, force=True)
        assert program.reads not in run(name, store, model, ASK, program.recalls)
