"""A coding agent that remembers, in the real hosts: installed by `perdure install`, asked what reached their models."""

from __future__ import annotations

import sys
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from hosts.running import Claude, Copilot, Host, run, write_text
from hosts.scripted_model import Call

from perdure.hosts.host import SCOPES

LEARNING = {
    "name": "Read real samples",
    "description": "Read real samples of a file before writing its parser",
    "reasoning": "The documented format was not the real one",
    "category": "heuristics",
}
INSTALLED_AS = {"claude": "claude-code", "codex": "codex", "copilot": "copilot", "gemini": "gemini"}


def install(host: Host, scope: str = "user") -> None:
    done = run(["perdure", "install", INSTALLED_AS[host.name], "--scope", scope], host.environment, host.project)
    assert done.returncode == 0, done.stderr


def messages(host: Host, session: str) -> list[str]:
    """What was kept of a session, in order."""
    page = host.perdure("list", "--limit", "100", "--oldest", "--conversation-id", session)
    return [record["text"] for record in page["records"]]


@contextmanager
def locked(store: Path) -> Generator[None]:
    """Somebody writes to the store for as long as this takes."""
    connection: Any = apsw.Connection(str(store))
    connection.execute("BEGIN IMMEDIATE")
    try:
        yield
    finally:
        connection.close()


def test_the_next_session_in_another_project_starts_with_what_this_one_learned(claude: Claude, tmp_path: Path):
    install(claude)
    first = claude("Keep that in mind.", steps=[Call("store_memory", LEARNING), "Stored."])
    assert first.exit_code == 0
    (tmp_path / "kitchen").mkdir()
    second = claude("Write a parser for CSV files.", steps=["Done."], project=tmp_path / "kitchen")
    assert "Read real samples of a file before writing its parser" in second.requests[0].text
    assert messages(claude, second.session) == ["Write a parser for CSV files.", "Done."]


def test_a_correction_is_what_the_next_session_is_told(claude: Claude):
    install(claude)
    claude("Keep that in mind.", steps=[Call("store_memory", LEARNING), "Stored."])
    number = claude.perdure("list", "--category", "heuristics")["records"][0]["number"]
    corrected = "Read three real samples of a file before writing its parser"
    claude("Not one, three.", steps=[Call("memory_update", {"id": number, "text": corrected}), "Corrected."])
    third = claude("Write a parser.", steps=["Done."])
    assert corrected in third.requests[0].text
    assert "Read real samples of a file" not in third.requests[0].text


def test_a_person_s_correction_in_one_session_is_told_in_the_third_and_where_they_were(claude: Claude):
    """Nobody calls a tool: the session that ends is learned from by whoever works next."""
    install(claude)
    prompts = ("Install the packages.", "no, use pnpm here, we never use npm in this repo")
    claude(*prompts, steps=["I ran npm install.", "I ran pnpm install. The lint job is still open."])
    claude.perdure("work")
    second = claude("Where were we?", steps=["At the packages."])
    for words in ("Last session here", "Install the packages.", "The lint job is still open."):
        assert words in second.requests[0].text, words
    third = claude("Add a package for dates.", steps=["Done."])
    assert "we never use npm in garden" in third.requests[0].text


@pytest.mark.parametrize("host", INSTALLED_AS, indirect=["host"])
def test_whoever_asks_where_they_were_is_told_the_last_session_in_every_host(host: Host):
    options: list[str] = []
    if host.name == "codex":
        trust = f'[projects."{host.project}"]\ntrust_level = "trusted"\n'
        write_text(host.home / ".codex" / "config.toml", trust)
        options = ["--dangerously-bypass-hook-trust"]
    install(host, "project")
    host("Write a parser for CSV files.", steps=["Done, but the quotes are still open."], options=options)
    host.perdure("work")
    turn = host("Go on with yesterday's work.", steps=["Done."], options=options)
    assert turn.exit_code == 0, turn.errors
    assert "Write a parser for CSV files." in turn.requests[0].text
    assert "the quotes are still open" in turn.requests[0].text


def test_a_resumed_session_is_told_nothing_twice(claude: Claude):
    install(claude)
    claude("Keep that in mind.", steps=[Call("store_memory", LEARNING), "Stored."])
    claude("Write a parser.", steps=["Done."])
    again = claude("Go on with it.", steps=["Done again."], resume=True)
    assert again.requests[0].text.count("Read real samples of a file before writing its parser") == 1


def test_after_compaction_and_clearing_the_session_is_told_again(claude: Claude):
    install(claude)
    claude("Keep that in mind.", steps=[Call("store_memory", LEARNING), "Stored."])
    prompts = ("Write a parser.", "/compact", "And now?", "/clear", "And after that?")
    told = claude(*prompts, steps=["One.", "Two.", "Three.", "Four.", "Five."])
    assert told.exit_code == 0
    for prompt in ("Write a parser.", "And now?", "And after that?"):
        asked = next(request for request in reversed(told.requests) if prompt in request.text)
        assert "Read real samples of a file before writing its parser" in asked.text, prompt


def test_a_hook_that_is_killed_costs_nothing_but_its_context(claude: Claude):
    install(claude)
    killed = claude.home / "bin" / "perdure"
    killed.parent.mkdir()
    real = Path(sys.executable).with_name("perdure")
    killed.write_text(f'#!/bin/sh\n[ "$1" = hook ] && kill -9 $$\nexec {real} "$@"\n')
    killed.chmod(0o755)
    turn = claude("Write a parser.", steps=["Done."], env={"PATH": f"{killed.parent}:{claude.environment['PATH']}"})
    assert (turn.exit_code, len(turn.requests)) == (0, 1)


def test_a_turn_goes_on_while_the_store_is_locked_and_nothing_said_is_lost(claude: Claude):
    install(claude)
    claude("Keep that in mind.", steps=[Call("store_memory", LEARNING), "Stored."])
    store = claude.home / ".local" / "share" / "perdure" / "memory.db"
    with locked(store):
        turn = claude("Write a parser.", steps=["Done."])
        assert (turn.exit_code, len(turn.requests)) == (0, 1)
    claude.perdure("work")
    assert messages(claude, turn.session) == ["Write a parser.", "Done."]


@pytest.mark.parametrize(
    ("host", "scope"),
    [(host, scope) for host in INSTALLED_AS for scope in SCOPES if (host, scope) != ("copilot", "user")],
    indirect=["host"],
)
def test_what_is_known_reaches_the_model_of_every_host(host: Host, scope: str):
    """Codex reads a project that its user trusts, and runs the hooks that its user trusts."""
    options: list[str] = []
    if host.name == "codex":
        trust = f'[projects."{host.project}"]\ntrust_level = "trusted"\n'
        write_text(host.home / ".codex" / "config.toml", trust)
        options = ["--dangerously-bypass-hook-trust"]
    install(host, scope)
    known = LEARNING["description"]
    host.perdure("remember", known, "--title", LEARNING["name"], "--category", "heuristics")
    turn = host("Write a parser for CSV files.", steps=["Done."], options=options)
    assert turn.exit_code == 0, turn.errors
    assert known in turn.requests[0].text
    host.perdure("work")
    assert messages(host, turn.session) == ["Write a parser for CSV files.", "Done."]


def test_copilot_reads_hooks_of_projects_alone_and_for_its_user_its_model_asks(copilot: Copilot):
    answer = copilot.perdure("install", "copilot")
    assert "perdure install copilot --scope project" in answer["pending"]
    known = LEARNING["description"]
    copilot.perdure("remember", known, "--title", LEARNING["name"], "--category", "heuristics")
    recall = Call("recall", {"query": "What to do before writing a parser?"}, "perdure")
    turn = copilot("Write a parser for CSV files.", steps=[recall, "Done."])
    assert turn.exit_code == 0, turn.errors
    assert [known in request.text for request in turn.requests] == [False, True]
