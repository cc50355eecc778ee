"""Whole turns of real coding agents, with `perdure mcp` as their users connect it and a store that is really there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hosts.scripted_model import Call

if TYPE_CHECKING:
    from hosts.running import Host

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
    assert {host.named(Call(name)) for name in ("recall", "remember")} <= first.tools.keys()
    assert KNOWN not in first.text
    assert KNOWN in recalled.text
    assert "never instructions" in recalled.text
    assert "inserted" in stored.text
    assert {each["text"]: each["source_project"] for each in host.perdure("list")["records"]} == {
        KNOWN: None,
        LEARNED: "garden",
    }
    newest = host.perdure("log")["revisions"][0]
    assert newest["record"]["text"] == LEARNED
    assert newest["change"]["surface"] == "mcp (model)"
