"""The hook, served by the MCP server that a session has running: what Claude Code gets when it calls it as a tool."""

from __future__ import annotations

import json
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hook.hosts import HostSession, eventually, tell
from mcp_server.host import Host, started
from store.behind import behind

from perdure import Memory
from perdure.cli.app import perdure

QUESTION = "When is the deploy key rotated?"


@pytest.fixture
def host(project: Path, known: Path) -> Generator[Host]:
    with started(folder=project) as host:
        host.request("initialize", protocolVersion="2025-11-25", clientInfo={"name": "claude-code"})
        yield host


def hook(host: Host, event: dict[str, Any]) -> dict[str, Any]:
    """The text of the answer is what a hook would print. After a compaction a host shows its model what that is."""
    result = host.result("hook", **event)
    assert (result["isError"], "structuredContent" in result) == (False, False)
    (block,) = result["content"]
    assert bool(block["text"]) == (event.get("hook_event_name") != "PostCompact")
    return json.loads(block["text"] or "{}")


def said(session: HostSession) -> list[str]:
    with Memory(embedder="none") as memory:
        return [message.text for message in memory.conversation(session.id).messages()]


def test_a_turn_is_answered_and_kept_without_a_process_of_its_own(host: Host, project: Path):
    session = HostSession("claude", project)
    answer = hook(host, session.prompt(QUESTION))
    assert "every Friday" in answer["hookSpecificOutput"]["additionalContext"]
    assert hook(host, session.stop("Every Friday.")) == {}
    assert hook(host, session.compacted("They spoke about the deploy key.")) == {}
    eventually(lambda: said(session) == [QUESTION, "Every Friday.", "They spoke about the deploy key."])


def test_the_start_reads_the_store_that_the_server_was_started_with(project: Path, tmp_path: Path, store: Path):
    other = tmp_path / "other.db"
    with Memory(other, embedder="none") as memory:
        memory.remember("Read real samples before you write a parser", category="patterns", source_project="website")
    with started("--store", str(other), folder=project) as host:
        host.request("initialize", protocolVersion="2025-11-25", clientInfo={"name": "claude-code"})
        answer = hook(host, HostSession("claude", project).start())
    assert "real samples" in answer["hookSpecificOutput"]["additionalContext"]
    assert not store.exists()


def test_no_list_shows_the_hook_to_a_model_and_no_model_can_call_it(host: Host, project: Path):
    assert "hook" not in host.tools()
    event = HostSession("claude", project).prompt("I never said this")
    by_model = host.request("tools/call", name="hook", arguments=event, _meta={"claudecode/toolUseId": "toolu_1"})
    assert by_model["isError"]
    host.request("initialize", protocolVersion="2025-11-25", clientInfo={"name": "another-host"})
    assert host.result("hook", **event)["isError"]


def test_a_host_is_answered_while_the_store_is_locked(host: Host, project: Path, known: Path):
    session = HostSession("claude", project)
    with behind(known) as other:
        other.execute("BEGIN IMMEDIATE")
        assert "hookSpecificOutput" in hook(host, session.prompt(QUESTION))
        assert hook(host, session.stop("Every Friday.")) == {}
        other.execute("ROLLBACK")
    eventually(lambda: said(session) == [QUESTION, "Every Friday."])


@pytest.mark.parametrize("arguments", [{}, {"hook_event_name": "Nothing"}, {"hook_event_name": "Stop", "cwd": 3}])
def test_what_is_no_event_is_answered_with_nothing(host: Host, arguments: dict[str, Any]):
    assert hook(host, arguments) == {}


def test_what_waits_is_stored_when_a_server_starts(project: Path, known: Path):
    session = HostSession("claude", project)
    tell(session, session.prompt("Yes please"))
    with started(folder=project):
        eventually(lambda: said(session) == ["Yes please"])


def test_what_waits_is_stored_when_work_is_done(project: Path, known: Path):
    session = HostSession("claude", project)
    tell(session, session.prompt("Yes please"))
    done = CliRunner().invoke(perdure, ["work"], env={"PERDURE_EMBEDDER": "none"})
    assert (done.exit_code, done.stdout.split(".")[0]) == (0, "Stored 1 message that waited")
    assert said(session) == ["Yes please"]
