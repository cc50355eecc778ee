"""A coding agent that remembers, in the real hosts: installed by `perdure install`, asked what reached their models."""

from __future__ import annotations

from pathlib import Path

from hosts.running import Claude, Host, run
from hosts.scripted_model import Call

LEARNING = {
    "name": "Read real samples",
    "description": "Read real samples of a file before writing its parser",
    "reasoning": "The documented format was not the real one",
    "category": "heuristics",
}
INSTALLED_AS = {"claude": "claude-code", "codex": "codex", "copilot": "copilot", "gemini": "gemini"}


def install(host: Host) -> None:
    done = run(["perdure", "install", INSTALLED_AS[host.name]], host.environment, host.project)
    assert done.returncode == 0, done.stderr


def messages(host: Host, session: str) -> list[str]:
    """What was kept of a session, in order."""
    page = host.perdure("list", "--all", "--oldest", "--conversation-id", session)
    return [record["text"] for record in page["records"]]


def test_the_next_session_in_another_project_starts_with_what_this_one_learned(claude: Claude, tmp_path: Path):
    install(claude)
    first = claude("Keep that in mind.", steps=[Call("store_memory", LEARNING), "Stored."])
    assert first.exit_code == 0
    (tmp_path / "kitchen").mkdir()
    second = claude("Write a parser for CSV files.", steps=["Done."], project=tmp_path / "kitchen")
    assert "Read real samples of a file before writing its parser" in second.requests[0].text
    assert messages(claude, second.session) == ["Write a parser for CSV files.", "Done."]
