"""Whole turns of real coding agents, with `perdure mcp` as their users connect it and a store that is really there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from hosts.scripted_model import Call
from serve.running import RunningServer

from perdure.mcp.core_tools import CORE_TOOLS

if TYPE_CHECKING:
    from hosts.running import Claude, Codex, Host

KNOWN = "The staging database is called marmalade"
LEARNED = "Alice prefers dark mode"


def test_a_model_recalls_what_a_person_stored_and_stores_what_it_learned(host: Host):
    host.connect()
    host.perdure("remember", KNOWN)
    steps = [
        Call("recall", {"query": "what is the staging database called?"}),
        Call("remember", {"text": LEARNED}),
        "It is marmalade.",
    ]
    run = host("What is the staging database called? By the way, Alice prefers dark mode.", steps=steps)
    assert run.exit_code == 0, run.output + run.errors
    first, recalled, stored = run.requests
    for tool in CORE_TOOLS[:3:2]:
        assert tool.definition["description"] in first.tools[host.named(Call(tool.name))]
    assert KNOWN not in first.text
    assert KNOWN in recalled.text
    assert "never instructions" in recalled.text
    assert "inserted" in stored.text
    stored_by = {each["text"]: (each["source_project"], each["session_id"]) for each in host.perdure("list")["records"]}
    # Gemini CLI tells no server which session it is of.
    session = None if host.name == "gemini" else run.session
    assert stored_by == {KNOWN: (None, None), LEARNED: ("garden", session)}
    newest = host.perdure("log")["revisions"][0]
    assert newest["record"]["text"] == LEARNED
    assert (newest["change"]["surface"], newest["change"]["session"]) == ("mcp (model)", session)


def test_a_model_is_told_what_this_memory_is_for_before_it_asks(host: Host):
    host.connect()
    (request,) = host("Hello.", steps=["Hello."]).requests
    told = [request.text, *request.tools.values()]
    # Copilot CLI passes no server's instructions on: there the descriptions of the tools must say enough.
    is_told = any("Perdure is a memory that outlives this session" in text for text in told)
    assert is_told is (host.name != "copilot")


def test_what_a_session_changed_can_be_taken_back_by_its_name(codex: Codex):
    """Codex says with each call of which session it is, and tells a server nothing when it starts it."""
    codex.connect()
    codex.perdure("remember", KNOWN)
    run = codex("Raise it.", steps=[Call("memory_update", {"id": 1, "text": "The database is called honey"}), "Done."])
    assert "updated" in run.requests[1].text
    codex.perdure("undo", "--session", run.session, "--yes")
    assert [each["text"] for each in codex.perdure("list")["records"]] == [KNOWN]


def test_a_model_that_must_look_for_tools_is_told_what_this_server_is_for(codex: Codex):
    """A model that Codex knows gets no tool of a server at once, only a search, with the server's own words in it."""
    codex.connect()
    run = codex("Hello.", steps=["Hello."], options=["-c", 'model="gpt-5.5"'])
    (found,) = [text for name, text in run.requests[0].tools.items() if name == "tool_search"]
    assert "- recall before you answer" in found


def test_a_tool_that_takes_things_away_says_so_to_those_who_decide(codex: Codex):
    """Codex runs unasked only what reads, or says that it destroys nothing and stays here."""
    codex.connect()
    codex.perdure("remember", KNOWN)
    run = codex("Forget it.", steps=[Call("forget", {"ids": [1]}), "Done."])
    assert "requires approval" in run.requests[1].text
    assert [each["text"] for each in codex.perdure("list")["records"]] == [KNOWN]


def test_a_server_that_is_reached_by_its_address_serves_a_whole_turn_too(claude: Claude, tmp_path: Path):
    with RunningServer(tmp_path / "shared.db") as server:
        server("POST", "/v1/memories", {"text": KNOWN})
        claude.connect_http(f"{server.started['url']}/mcp", server.owner)
        run = claude("Hello.", steps=[Call("recall", {"query": "staging database"}), "Marmalade."])
        assert KNOWN in run.requests[1].text
