"""Whether Perdure works in a host: the files, the whole loop on a store of its own, and what the host itself says."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from threading import Timer
from typing import Any, Final, cast

from perdure.errors import Conflict, ExportFailed, PerdureError
from perdure.hosts.edits import is_ours
from perdure.hosts.host import SCOPES, Host, Scope
from perdure.hosts.install import install, perdure_command
from perdure.model import Finding

# Seconds: a host may start a server of ours, and a language runtime of its own first.
_PATIENCE: Final = 60
_LESSON: Final = "Perdure's own check: what one session stores, the next one is told."
_CONNECTED: Final = ("✔", "✓", "Connected", "connected")
_CLIENT: Final = {"name": "perdure-doctor", "version": "1"}
# Hosts that list their servers as people read them, and those that answer JSON.
_LISTS: Final[Mapping[str, Sequence[str]]] = {
    "claude-code": ("mcp", "list"),
    "gemini": ("mcp", "list"),
    "opencode": ("mcp", "list"),
    "copilot": ("mcp", "list", "--json"),
}
_TAKE_PLUGINS: Final = frozenset({"claude-code", "codex", "copilot"})


def check_host(host: Host, project: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Each thing that has to be right, in the order in which a session needs them."""
    installed = [scope for scope in SCOPES if scope in host.servers and is_installed(host, scope, project, environ)]
    plugin = has_plugin(host, project, environ)
    if not installed and not plugin:
        sentence = f"Perdure is not in the configuration of {host.title}."
        yield Finding("configuration", "problem", sentence, f"Install it with `perdure install {host.name}`.")
        return
    if installed and plugin:
        sentence = f"{host.title} has Perdure twice, as a plugin and in its files: a session is asked twice."
        yield Finding("configuration", "warning", sentence, f"Take one out: `perdure uninstall {host.name}`.")
    elif plugin:
        yield Finding("configuration", "ok", f"{host.title} has Perdure as a plugin.")
    else:
        yield Finding("configuration", "ok", f"{host.title} is configured for the {' and the '.join(installed)}.")
    try:
        command = perdure_command(host, environ)
    except PerdureError as error:
        yield Finding("command", "problem", error.sentence, error.cli_remedy)
        return
    if plugin and command != "perdure":
        sentence = f"The plugin calls `perdure`, which is not on your PATH: it is {command}."
        yield Finding("command", "problem", sentence, "Put its folder on your PATH, or install without the plugin.")
    yield check_loop(command, project, environ, hooks=host.hooks is not None)
    if host.hooks and not plugin and not any(scope in host.hook_files for scope in installed):
        sentence = f"{host.title} runs no hooks of ours, so a session is told nothing at its start."
        yield Finding("hooks", "warning", sentence, host.pending.get("user"))
    yield from ask_host(host, project, environ)


def has_plugin(host: Host, project: Path, environ: Mapping[str, str]) -> bool:
    """Whether the host says so: the first word of state behind the name, in its line or below it, tells."""
    program = shutil.which(host.program, path=environ.get("PATH")) if host.program else None
    if program is None or host.name not in _TAKE_PLUGINS:
        return False
    told = _run([program, "plugin", "list"], environ, project).partition("perdure@perdure")[2]
    state = re.search("not installed|disabled|enabled", told)
    return state is not None and state[0] == "enabled"


def is_installed(host: Host, scope: Scope, project: Path, environ: Mapping[str, str]) -> bool:
    """Whether installing it would change nothing. A file that cannot be changed may say it in its own way."""
    try:
        planned = install(host, scope, project, environ, dry_run=True)
    except (Conflict, ExportFailed):
        return False
    return all(change.outcome == "unchanged" for change in planned.changes)


def check_loop(command: str, project: Path, environ: Mapping[str, str], *, hooks: bool) -> Finding:
    """Store a learning through the server and start a session with the hook, on a store that is gone afterwards."""
    with tempfile.TemporaryDirectory(prefix="perdure-doctor-") as folder:
        own = {**environ, "PERDURE_STORE": f"{folder}/memory.db", "XDG_DATA_HOME": folder, "PERDURE_EMBEDDER": "none"}
        lesson = {"name": "Check", "description": _LESSON, "reasoning": "It proves the loop.", "category": "heuristics"}
        answers = _talk(
            [command, "mcp"],
            [
                {"id": 1, "method": "initialize", "params": {"protocolVersion": "2025-11-25", "clientInfo": _CLIENT}},
                {"id": 2, "method": "tools/call", "params": {"name": "store_memory", "arguments": lesson}},
            ],
            own,
            project,
        )
        stored = answers.get(2, {}).get("result", {})
        if not stored or stored.get("isError"):
            told = next((part.get("text", "") for part in stored.get("content", [])), "It did not answer.")
            return Finding("loop", "problem", f"`{command} mcp` stored nothing: {told}", "Run `perdure doctor`.")
        if not hooks:
            return Finding("loop", "ok", "The server answers, and stores what it is told.")
        event = {"hook_event_name": "SessionStart", "source": "startup", "session_id": "doctor", "cwd": str(project)}
        told = _run([command, "hook", "--seconds", "20"], own, project, json.dumps(event))
        if _LESSON not in told:
            sentence = f"`{command} hook` did not tell a new session what the server had stored."
            remedy = "Run `perdure session explain`, which says what a session is told and why."
            return Finding("loop", "problem", sentence, remedy)
    return Finding("loop", "ok", "What the server stores, the next session is told: tried on a store of its own.")


def ask_host(host: Host, project: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """What the host itself says."""
    program = shutil.which(host.program, path=environ.get("PATH")) if host.program else None
    if program is None:
        why = f", for `{host.program}` is not on the PATH" if host.program else ""
        sentence = f"{host.title} cannot be asked here{why}; its list of servers shows whether it has connected."
        yield Finding("host", "ok" if host.program is None else "warning", sentence)
        return
    if host.name == "codex":
        yield from ask_codex(program, project, environ)
        return
    told = _run([program, *_LISTS[host.name]], environ, project)
    line = next((line.strip() for line in told.splitlines() if "perdure" in line), "")
    if not line:
        yield Finding("host", "problem", f"{host.title} does not list the server.", f"Look at `{program} mcp list`.")
    elif line.startswith('"perdure"') or any(mark in line for mark in _CONNECTED):
        yield Finding("host", "ok", f"{host.title} lists the server{'' if line.startswith(chr(34)) else f': {line}'}.")
    else:
        remedy = "Trust this folder in the host, or approve the server there, and ask again."
        yield Finding("host", "warning", f"{host.title} lists the server, but is not connected: {line}", remedy)


def ask_codex(program: str, project: Path, environ: Mapping[str, str]) -> Iterator[Finding]:
    """Codex says of each hook whether its user has trusted it; it skips the others without a word."""
    questions: list[dict[str, Any]] = [
        {"id": 1, "method": "initialize", "params": {"clientInfo": _CLIENT}},
        {"method": "initialized"},
        {"id": 2, "method": "hooks/list", "params": {"cwds": [str(project)]}},
        {"id": 3, "method": "mcpServerStatus/list", "params": {}},
    ]
    answers = _talk([program, "app-server"], questions, environ, project)
    servers = [server.get("name") for server in answers.get(3, {}).get("result", {}).get("data", [])]
    if "perdure" in servers:
        yield Finding("host", "ok", "Codex has connected to the server.")
    else:
        yield Finding("host", "problem", "Codex does not list the server.", "Look at `codex mcp list`.")
    listed = [hook for place in answers.get(2, {}).get("result", {}).get("data", []) for hook in place.get("hooks", [])]
    ours = [hook for hook in listed if is_ours(hook.get("command"))]
    untrusted = [hook["eventName"] for hook in ours if hook.get("trustStatus") not in {"trusted", "managed"}]
    if untrusted:
        sentence = f"Codex does not trust our hooks yet, and skips them: {', '.join(untrusted)}."
        yield Finding("trust", "warning", sentence, "Type /hooks in Codex and trust those of perdure.")
    elif ours:
        yield Finding("trust", "ok", "Codex trusts our hooks.")


def _talk(
    command: Sequence[str], messages: Sequence[Mapping[str, Any]], environ: Mapping[str, str], where: Path
) -> dict[int, Any]:
    """The answers of a server over standard input and output, by the number of the question."""
    answers: dict[int, Any] = {}
    asked = sum("id" in message for message in messages)
    try:
        process = subprocess.Popen(  # noqa: S603 - our own program, or the host that the user named
            command, env=dict(environ), cwd=where, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, encoding="utf-8", errors="replace",
        )  # fmt: skip
    except OSError:
        return answers
    # A program that has ended reads no more, and the last word to it is said when it is let go.
    with suppress(OSError), process:
        timer = Timer(_PATIENCE, process.kill)
        timer.daemon = True
        timer.start()
        try:
            if process.stdin is None or process.stdout is None:
                return answers
            for message in messages:
                process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
                process.stdin.flush()
                while "id" in message and message["id"] not in answers and (line := process.stdout.readline()):
                    answer = _parsed(line)
                    if "id" in answer and "method" not in answer:
                        answers[answer["id"]] = answer
                if len(answers) == asked:
                    break
            process.stdin.close()
        finally:
            timer.cancel()
            process.terminate()
    return answers


def _parsed(line: str) -> dict[str, Any]:
    try:
        value: object = json.loads(line)
    except ValueError:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _run(command: Sequence[str], environ: Mapping[str, str], where: Path, told: str = "") -> str:
    try:
        done = subprocess.run(  # noqa: S603 - as above
            command, env={**environ, "NO_COLOR": "1"}, cwd=where, input=told, capture_output=True, encoding="utf-8",
            errors="replace", timeout=_PATIENCE, check=False,
        )  # fmt: skip
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return f"{done.stdout}\n{done.stderr}"
