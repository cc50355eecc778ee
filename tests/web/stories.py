"""Memories of a small team, for the screens to show: sessions, conversations, versions, pairs to decide about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from perdure import Memory
from perdure.session.kept import KeptStart, keep, memory_of

if TYPE_CHECKING:
    from clocks import HandClock

LEARNED = "Run the migrations before the tests, or they fail with a missing table"


def tell(memory: Memory, clock: HandClock) -> dict[str, int]:
    """Gives the numbers of the memories that stories are about."""
    numbers: dict[str, int] = {}

    def say(name: str, text: str, **fields: object) -> None:
        numbers[name] = memory.remember(text, **fields).record.number  # pyright: ignore[reportArgumentType]
        clock.forward(hours=7)

    say("theme", "Alice prefers dark mode in every editor", tags=["ui", "alice"], category="preference")
    say("port", "The staging server listens on port 8080", key="server:staging", tags=["servers"])
    memory.update(numbers["port"], text="The staging server listens on port 9090")
    clock.forward(days=1)
    say("release", "Releases go out on Thursdays, never on a Friday", tier="critical", category="guideline")
    say("learning", LEARNED, title="Migrations first", category="patterns", keywords=["migrations", "tests"])
    agent = memory.writing_as("claude-code", writer="model", session="5f0c9a4e-monday")
    agent.remember("The build needs Node 20; with 18 it fails in the third step", tags=["build"])
    numbers["agent"] = agent.remember("Bob owns the billing service", tags=["people"]).record.number
    clock.forward(days=1)
    talk = memory.conversation("support-42")
    talk.add_message("user", "I moved from Kyoto to Osaka last month")
    talk.add_message("assistant", "Noted: you live in Osaka now")
    clock.forward(hours=2)
    say("wrong", "The team meets on Mondays at ten", tags=["team"])
    memory.forget(memory.remember("The old wiki is at wiki.example.org").record.number)
    memory.checkpoint("before-refactor", description="all was well")
    learned = memory.history(numbers["learning"])[-1].record
    wrong = memory.history(numbers["wrong"])[-1].record
    assert learned is not None
    assert wrong is not None
    signal = {
        "raw": 0.8,
        "rank": 1,
        "normalised": 0.8,
        "weight": 0.5,
        "contribution": 0.4,
        "about": "",
        "passage": None,
    }
    entries = [
        {**memory_of(record), "score": 0.7, "relevance": 0.6, "explain": {"vector": signal, "prominence": signal}}
        for record in (learned, wrong)
    ]
    keep(KeptStart(
        session="5f0c9a4e-monday", project="/home/ada/website", at="2026-03-14T11:00:00Z", source="startup",
        mode="semantic", text=f"## Learned before\n- {LEARNED}\n- {wrong.text}", query="website: migrations, tests",
        diagnostics="2 memories", entries=entries, left_out=[],
    ))  # fmt: skip
    return numbers
