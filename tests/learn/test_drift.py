"""A language model that loses something each time it says a fact again: after many cycles every fact is still there as
it was first learned, and is found by its number and by its words.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from learn.talks import action, answers, episodes, facts, open_memory, teach

from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from clocks import HandClock
    from providers.server import FaultServer

    from perdure import Memory, Record

# `make soak` does it in full: 1,000 facts, 200 cycles.
FACTS, CYCLES = (1000, 200) if "PERDURE_KILLS" in os.environ else (120, 12)
AT_ONCE = 200
THINGS = "lantern kettle violin ladder compass blanket hammer teapot bicycle telescope".split()
PLACES = "Oslo Rome Osaka Lima Quito Cairo Perth Turin Sofia Bergen".split()


def original(number: int) -> str:
    thing, place = THINGS[number % 10], PLACES[number // 10 % 10]
    return f"User keeps the {thing} with the label {number:04} in a cellar in {place}"


def lossy(chance: random.Random, question: str) -> dict[str, Any]:
    """It shortens, mixes up, ends and forgets what it is shown, and says some of it as if it were new."""
    told: list[dict[str, Any]] = []
    known = json.loads(question).get("existing_knowledge", [])
    for line in known:
        number, text = int(line.partition("]")[0].removeprefix("[ID: ")), line.rpartition("] ")[2]
        words = text.split()
        kept = " ".join(word for word in words if chance.random() < 0.7) or "User"
        kind = chance.choice(["update", "update", "invalidate", "reinforce", "new"])
        told.append(action(kind, kept, existing=None if kind == "new" else number))
    if len(told) > 1:
        told.append(action("update", f"{told[0]['fact']} and {told[1]['fact']}", existing=told[0]["existing_fact_id"]))
    return {"facts": told}


@pytest.mark.soak
def test_no_original_is_lost_to_a_model_that_loses_words(
    tmp_path: Path, clock: HandClock, server: FaultServer, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("OLLAMA_HOST", server.url)
    path, chance = tmp_path / "m.db", random.Random(16)
    answers(server, lambda question: lossy(chance, question))
    with (
        open_memory(path, clock, WordEmbedder(256), learn="agent") as memory,
        open_memory(path, clock, WordEmbedder(256)) as listening,
    ):
        for start in range(0, FACTS, AT_ONCE):
            numbers = range(start, min(start + AT_ONCE, FACTS))
            teach(memory, clock, *(action("new", original(number)) for number in numbers))
        learned = {record.number: record for record in facts(memory)}
        assert {record.text for record in learned.values()} == {original(number) for number in range(FACTS)}
        ended = 0
        for cycle in range(CYCLES):
            about = [original(chance.randrange(FACTS)) for _ in range(2)]
            episodes(memory, clock, 1, f"Tell me of {about[0]} and of {about[1]} on day {cycle}")
            memory.work()
            done = listening.consolidate("talk")
            assert done.episodes == 1
            ended += done.updated + done.invalidated
        assert ended > CYCLES
        missing = [record.number for record in learned.values() if not is_there(memory, record)]
        assert missing == []
        assert "superseded" in {record.state for record in map(memory.get, learned)}
        assert [finding.sentence for finding in memory.doctor() if finding.level == "problem"] == []


def is_there(memory: Memory, first: Record) -> bool:
    """By number as it was learned, and among what is and was true by its own words."""
    now = memory.get(first.number)
    found = memory.recall(f'"{first.text}"', limit=5, states=("active", "superseded"), conversation_id="talk")
    same = (now.text, now.category, now.valid_at) == (first.text, first.category, first.valid_at)
    return same and first.number in [hit.record.number for hit in found]
