"""`perdure hook` as real coding agents run it: its answer reaches the model, and what is said is kept."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hosts.running import write_text
from hosts.scripted_model import Call
from store.behind import behind

if TYPE_CHECKING:
    from hosts.running import Claude, Copilot, Host, HostRun

KNOWN = "The staging database is called marmalade"
LEARNED = "Retrying a POST without a key doubles orders"
QUESTION = "What is the staging database called?"
ANSWER = "It is called marmalade."
# The usual two seconds are enough on a machine that does nothing else.
HOOK = "perdure hook --seconds 40"
EVENTS = ("SessionStart", "UserPromptSubmit", "Stop", "PostCompact", "SessionEnd")


def add_hooks(host: Host) -> tuple[str, ...]:
    """Put the hook into the host's configuration; the options with which the host runs it unasked."""
    if host.name == "copilot":
        events = ("sessionStart", "userPromptSubmitted", "agentStop", "sessionEnd")
        hooks = {event: [{"type": "command", "bash": HOOK, "timeoutSec": 60}] for event in events}
        write_text(host.project / ".github/hooks/perdure.json", json.dumps({"version": 1, "hooks": hooks}))
    elif host.name == "gemini":
        settings = host.home / ".gemini/settings.json"
        events = ("SessionStart", "BeforeAgent", "AfterAgent", "SessionEnd")
        hooks = {"hooks": commands(events, timeout=60_000)}
        write_text(settings, json.dumps({**json.loads(settings.read_text()), **hooks}))
    else:
        file = {"claude": ".claude/settings.json", "codex": ".codex/hooks.json"}[host.name]
        write_text(host.home / file, json.dumps({"hooks": commands(EVENTS, timeout=60)}))
    return ("--dangerously-bypass-hook-trust",) if host.name == "codex" else ()


def commands(events: tuple[str, ...], timeout: int) -> dict[str, Any]:
    hook = {"type": "command", "command": HOOK, "timeout": timeout}
    return {event: [{"hooks": [hook]}] for event in events}


def said(host: Host) -> list[tuple[str, str]]:
    host.perdure("work")
    records = [each for each in host.perdure("list")["records"] if (each["key"] or "").startswith("message:")]
    return [(each["metadata"]["role"], each["text"]) for each in reversed(records)]


def done(run: HostRun) -> HostRun:
    assert run.exit_code == 0, run.output + run.errors
    return run


def test_a_session_is_told_what_was_learned_and_what_a_prompt_brings_to_mind_and_is_kept(host: Host):
    options = add_hooks(host)
    host.perdure("remember", KNOWN)
    host.perdure("remember", LEARNED, "--title", "Retry with a key", "--category", "anti-patterns")
    run = done(host(QUESTION, steps=[ANSWER], options=options))
    first = run.requests[0].text
    assert LEARNED in first
    assert KNOWN in first
    assert said(host) == [("user", QUESTION), ("assistant", ANSWER)]


def test_copilot_is_told_once_although_it_runs_the_hooks_of_claude_code_as_well(copilot: Copilot):
    add_hooks(copilot)
    write_text(copilot.project / ".claude/settings.json", json.dumps({"hooks": commands(EVENTS, timeout=60)}))
    copilot.perdure("remember", KNOWN)
    run = done(copilot(QUESTION, steps=[ANSWER]))
    assert run.requests[0].text.count(KNOWN) == 1
    assert said(copilot) == [("user", QUESTION), ("assistant", ANSWER)]


def test_claude_code_goes_on_while_the_store_is_locked(claude: Claude):
    add_hooks(claude)
    claude.perdure("remember", KNOWN)
    with behind(claude.home / ".local/share/perdure/memory.db") as other:
        other.execute("BEGIN IMMEDIATE")
        run = done(claude(QUESTION, steps=[ANSWER]))
        other.execute("ROLLBACK")
    assert KNOWN in run.requests[0].text
    assert run.requests[-1].text.count(QUESTION) >= 1
    done(claude("And now?", steps=["Now it is free."]))
    assert [text for _, text in said(claude)] == [QUESTION, ANSWER, "And now?", "Now it is free."]


def test_claude_code_is_told_again_after_a_compaction_whose_summary_is_kept(claude: Claude):
    add_hooks(claude)
    claude.perdure("remember", KNOWN)
    run = done(claude(QUESTION, "/compact", "Once more: what is the staging database called?", steps=[ANSWER, ANSWER]))
    assert KNOWN in run.requests[-1].text
    assert [role for role, _ in said(claude)] == ["user", "assistant", "system", "user", "assistant"]


def test_claude_code_calls_the_hook_of_the_server_that_it_does_not_show_to_its_model(claude: Claude):
    claude.connect()
    claude.perdure("remember", KNOWN)
    hooks = {**commands(("SessionStart", "SessionEnd"), timeout=60)}
    for event, fields in (("UserPromptSubmit", ["prompt"]), ("Stop", ["last_assistant_message"])):
        named = {name: f"${{{name}}}" for name in ("hook_event_name", "session_id", "prompt_id", "cwd", *fields)}
        hooks[event] = [{"hooks": [served(named)]}]
    write_text(claude.home / ".claude/settings.json", json.dumps({"hooks": hooks}))
    run = done(claude(QUESTION, steps=[ANSWER]))
    assert KNOWN in run.requests[0].text
    assert not any("hook" in name for name in run.requests[0].tools)
    assert said(claude) == [("user", QUESTION), ("assistant", ANSWER)]


def served(fields: Mapping[str, str]) -> dict[str, Any]:
    return {"type": "mcp_tool", "server": "perdure", "tool": "hook", "input": fields, "timeout": 5}


def test_claude_code_tells_which_command_failed_and_which_one_worked_if_the_setting_asks_for_it(claude: Claude):
    write_text(claude.home / ".config/perdure/perdure.toml", 'embedder = "none"\nlearn_from_tools = true\n')
    claude.perdure("install", "claude-code")
    script = '#!/bin/sh\n[ "$1" = --wait ] || { echo "deploy: --wait is missing" >&2; exit 3; }\n'
    write_text(claude.project / "deploy", script)
    (claude.project / "deploy").chmod(0o755)
    fails, works = (
        Call("Bash", {"command": f"./deploy{option}", "description": "Deploy"}, server="") for option in ("", " --wait")
    )
    notes = {"file_path": str(claude.project / "notes.md"), "content": "Deployed.\n"}
    steps = [fails, works, Call("Write", notes, server=""), "Deployed."]
    session = done(claude("Please deploy", steps=steps, options=["--allowedTools", "Bash,Write"])).session
    kept = claude.perdure("session", "tools", session)
    assert kept["touched_files"] == ["notes.md"]
    assert kept["failed_commands"] == [{"command": "./deploy", "error": "deploy: --wait is missing"}]
    assert [(one["instead_of"], one["command"]) for one in kept["fixes"]] == [("./deploy", "./deploy --wait")]
    claude.perdure("work")
    [learning] = claude.perdure("list", "--category", "heuristics")["records"]
    assert learning["text"] == "In garden the command `./deploy` fails; `./deploy --wait` works."
