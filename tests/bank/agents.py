"""What coding agents leave behind: transcripts and memory of their own, as their hosts write them."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

SESSION = "5f1d7c9e-0000-4000-8000-000000000001"


def lines(path: Path, rows: Iterable[object]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def claude_line(n: int, type: str, content: Any, **more: Any) -> dict[str, Any]:
    role = type if type in {"user", "assistant"} else "user"
    return {
        "type": type,
        "uuid": f"uuid-{n}",
        "sessionId": SESSION,
        "cwd": "/home/ana/website",
        "timestamp": f"2026-03-01T10:{n:02}:00.000Z",
        "message": {"role": role, "content": content},
        **more,
    }


def claude_transcript() -> list[dict[str, Any]]:
    """What the user said twice and the model three times, between everything else that stands in such a file."""
    tool = [{"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}}]
    result = [{"type": "tool_result", "tool_use_id": "t", "content": "machine output of a tool"}]
    return [
        {"type": "queue-operation", "operation": "enqueue", "sessionId": SESSION, "content": "machine: queued"},
        {"type": "summary", "summary": "machine: a summary", "leafUuid": "x"},
        claude_line(1, "user", "Which port does the staging server use?"),
        {"type": "attachment", "sessionId": SESSION, "attachment": {}, "text": "machine: hook context"},
        claude_line(2, "assistant", [{"type": "thinking", "thinking": "machine thoughts"}]),
        claude_line(3, "assistant", [{"type": "text", "text": "I will look it up."}]),
        claude_line(4, "assistant", tool),
        claude_line(5, "user", result),
        claude_line(6, "assistant", [{"type": "text", "text": "Staging listens on port 8431."}]),
        claude_line(7, "user", "<task-notification>machine: a subagent is done</task-notification>"),
        claude_line(8, "user", "machine: caveat", isMeta=True),
        claude_line(9, "user", "<command-name>/compact</command-name><command-args>machine</command-args>"),
        claude_line(10, "user", "machine: what the conversation was about", isCompactSummary=True),
        claude_line(11, "assistant", [{"type": "text", "text": "machine: a subagent speaks"}], isSidechain=True),
        claude_line(12, "user", "Never restart it at noon.<system-reminder>machine reminder</system-reminder>"),
        claude_line(13, "assistant", [{"type": "text", "text": "Understood, not at noon."}]),
        claude_line(14, "user", "[Request interrupted by user]"),
    ]  # fmt: skip


SAID = [
    ("user", "Which port does the staging server use?"),
    ("assistant", "I will look it up."),
    ("assistant", "Staging listens on port 8431."),
    ("user", "Never restart it at noon."),
    ("assistant", "Understood, not at noon."),
]


def codex_line(n: int, kind: str, **payload: Any) -> dict[str, Any]:
    return {"timestamp": f"2026-03-02T09:{n:02}:00.000Z", "type": kind, "payload": payload}


def codex_item(n: int, role: str, text: str) -> dict[str, Any]:
    kind = "output_text" if role == "assistant" else "input_text"
    return codex_line(n, "response_item", type="message", role=role, content=[{"type": kind, "text": text}])


def codex_rollout(*, events: bool = True) -> list[dict[str, Any]]:
    rows = [
        codex_line(0, "session_meta", id="codex-1", cwd="/home/ana/shop", originator="codex_exec"),
        codex_item(1, "developer", "machine permissions"),
        codex_item(1, "user", "<environment_context>machine</environment_context>"),
        codex_item(1, "user", "# AGENTS.md instructions for /home/ana/shop\nmachine"),
        codex_item(2, "user", "Why does the checkout fail?"),
        codex_line(3, "response_item", type="function_call", name="shell", arguments="machine"),
        codex_item(4, "assistant", "The tax table is empty."),
    ]
    if events:
        rows.insert(5, codex_line(2, "event_msg", type="user_message", message="Why does the checkout fail?"))
        rows += [
            codex_line(4, "event_msg", type="agent_message", message="The tax table is empty."),
            codex_line(5, "event_msg", type="token_count", info={}),
        ]
    return rows
