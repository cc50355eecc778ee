"""What the four hosts write to a hook's standard input, and what they put into its environment, as they were seen to do
it; and the hook as they run it: a process.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

# Far more than the two seconds that a hook takes at most: whoever waits so long waits for something that hangs.
PATIENCE = 60
# For tests of what a hook does, on whatever machine.
UNHURRIED = ("--seconds", "50")
_SIGNS = ("CLAUDE", "COPILOT", "GEMINI", "CODEX")


@dataclass(frozen=True)
class HookRun:
    exit_code: int
    out: str
    err: str

    @property
    def context(self) -> str:
        """What the model is told, from whichever form of answer."""
        if not self.out:
            return ""
        answer = json.loads(self.out)
        return answer.get("additionalContext") or answer["hookSpecificOutput"]["additionalContext"]


@dataclass
class HostSession:
    """One session of one host. `turn` is what the host calls the turn by."""

    host: str
    project: Path
    id: str = "5f3c1a62-3b0a-4d3e-9c55-0d6a1f2b7c11"
    turn: int = 1

    def start(self, source: str = "startup") -> dict[str, Any]:
        if self.host.startswith("copilot"):
            return self._event("SessionStart", source="new", initial_prompt="Hello")
        return self._event("SessionStart", source=source)

    def prompt(self, text: str) -> dict[str, Any]:
        return self._event("UserPromptSubmit", prompt=text)

    def stop(self, text: str) -> dict[str, Any]:
        if self.host == "gemini":
            return self._event("Stop", prompt="…", prompt_response=text, stop_hook_active=False)
        if not self.host.startswith("copilot"):
            return self._event("Stop", last_assistant_message=text, stop_hook_active=False)
        transcript = self.project.parent / "events.jsonl"
        lines: list[dict[str, Any]] = [
            {"type": "assistant.message", "data": {"content": text}},
            {"type": "assistant.turn_end", "data": {}},
        ]
        with transcript.open("a", encoding="utf-8") as file:
            file.writelines(json.dumps(line) + "\n" for line in lines)
        return self._event("Stop", transcript_path=str(transcript), stop_reason="end_turn", stop_hook_active=False)

    def compacted(self, summary: str) -> dict[str, Any]:
        return self._event("PostCompact", trigger="manual", compact_summary=summary)

    def end(self) -> dict[str, Any]:
        return self._event("SessionEnd", reason="other")

    @property
    def environment(self) -> dict[str, str]:
        own = {
            "claude": {"CLAUDECODE": "1", "CLAUDE_CODE_SESSION_ID": self.id},
            "codex": {"CODEX_MANAGED_BY_NPM": "1"},
            "gemini": {"GEMINI_SESSION_ID": self.id, "GEMINI_PROJECT_DIR": str(self.project)},
        }.get(self.host, {"COPILOT_CLI": "1", "COPILOT_PROJECT_DIR": str(self.project)})
        return own if self.host == "codex" else {**own, "CLAUDE_PROJECT_DIR": str(self.project)}

    def _event(self, name: str, **fields: Any) -> dict[str, Any]:
        """Copilot's own hooks are told no name of the event, and write everything in another case."""
        event = {"session_id": self.id, "cwd": str(self.project), "hook_event_name": name, **fields}
        if self.host == "copilot":
            del event["hook_event_name"]
            words = ((key.split("_"), value) for key, value in event.items())
            event = {first + "".join(map(str.title, rest)): value for (first, *rest), value in words}
            return {**event, "timestamp": 1794837320000 + self.turn}
        if self.host == "copilot as claude":
            return {**event, "timestamp": f"2026-11-16T13:55:20.{self.turn:03}Z"}
        if self.host == "gemini":
            renamed = {"UserPromptSubmit": "BeforeAgent", "Stop": "AfterAgent"}.get(name, name)
            return {**event, "hook_event_name": renamed, "timestamp": f"2026-11-16T13:56:06.{self.turn:03}Z"}
        if name in {"SessionStart", "SessionEnd"}:
            return {**event, **({"transcript_path": "/x/rollout-1.jsonl"} if self.host == "codex" else {})}
        return {**event, ("turn_id" if self.host == "codex" else "prompt_id"): f"turn-{self.turn}"}


def run_hook(
    content: bytes,
    *options: str,
    environment: Mapping[str, str] | None = None,
    script: str | None = None,
    prefix: Sequence[str] = (),
) -> HookRun:
    """`script` is run instead of `perdure`, `prefix` stands before it all on the command line."""
    with started(*options, environment=environment, script=script, prefix=prefix) as process:
        out, err = process.communicate(content, timeout=PATIENCE)
    return HookRun(process.returncode, out.decode(), err.decode())


def started(
    *options: str,
    environment: Mapping[str, str] | None = None,
    script: str | None = None,
    prefix: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(_SIGNS)}
    how = ["-c", script] if script else ["-m", "perdure"]
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*prefix, sys.executable, *how, "hook", *options],
        stdin=pipe, stdout=pipe, stderr=pipe, env={"PERDURE_EMBEDDER": "none", **clean, **(environment or {})},
    )  # fmt: skip


def eventually(happened: Callable[[], bool]) -> None:
    """Wait until something happens in another process."""
    pause = threading.Event()
    assert any(happened() or pause.wait(0.05) for _ in range(1000))


def tell(session: HostSession, event: dict[str, Any], *options: str, **environment: str) -> HookRun:
    """Run the hook as the host does at this event, without hurry."""
    content = json.dumps(event).encode()
    run = run_hook(content, *(options or UNHURRIED), environment={**session.environment, **environment})
    assert (run.exit_code, run.err) == (0, "")
    return run
