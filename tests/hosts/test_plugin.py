"""The plugin in the hosts that take it: its folder is found good, and what it brings works."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from hosts.running import Claude, Host, run
from hosts.scripted_model import Call

from perdure.hosts.install import plugin_folder

KNOWN = "Read real samples of a file before writing its parser"
# The repository is a marketplace, too.
FOLDERS = {"package": plugin_folder(), "repository": Path(__file__).parents[2]}
# How each takes a plugin of a marketplace that was added, and what it calls the plugin's server.
TAKES = {"claude": "install", "codex": "add", "copilot": "install"}
SERVERS = {"claude": "plugin_perdure_perdure", "codex": "perdure", "copilot": "perdure"}
# Codex asks its user to trust hooks, Claude Code to allow a tool.
UNASKED = {
    "claude": ("--allowedTools", "mcp__plugin_perdure_perdure"),
    "codex": ("--dangerously-bypass-hook-trust",),
    "copilot": (),
}


def said(host: Host, command: Sequence[str]) -> str:
    done = run(command, host.environment, host.project)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def add_plugin(host: Host) -> None:
    said(host, [host.name, "plugin", "marketplace", "add", str(plugin_folder())])
    said(host, [host.name, "plugin", TAKES[host.name], "perdure@perdure"])


@pytest.mark.parametrize("folder", FOLDERS)
def test_claude_code_finds_nothing_wrong_with_the_plugin(claude: Claude, folder: str):
    said(claude, ["claude", "plugin", "validate", "--strict", str(FOLDERS[folder])])


@pytest.mark.parametrize("host", TAKES, indirect=True)
def test_with_the_plugin_a_session_is_told_what_was_learned_and_can_ask_for_more_and_add_to_it(host: Host):
    """What it adds is of its project: Copilot starts a plugin's server in the plugin's folder unless told."""
    add_plugin(host)
    host.perdure("remember", KNOWN, "--title", "Read samples", "--category", "heuristics")
    host.perdure("remember", "Alice prefers dark mode", "--category", "experience")
    server = SERVERS[host.name]
    recall = Call("recall", {"query": "Which mode does Alice prefer?"}, server)
    remember = Call("remember", {"text": "Alice waters on Mondays"}, server)
    turn = host("Water the garden.", steps=[recall, remember, "Done."], options=UNASKED[host.name])
    assert turn.exit_code == 0, turn.errors
    assert KNOWN in turn.requests[0].text
    assert "Alice prefers dark mode" not in turn.requests[0].text
    assert "Alice prefers dark mode" in turn.requests[1].text
    added = {record["text"]: record["source_project"] for record in host.perdure("list")["records"]}
    assert added["Alice waters on Mondays"] == host.project.name
