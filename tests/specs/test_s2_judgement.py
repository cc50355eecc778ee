"""S2 "segmentation", where the rules leave it to a model: a local server speaks Ollama's `/api/chat`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from clocks import NOON, HandClock
from llm.wires import message
from providers.server import FaultServer, ok

from perdure import Memory
from perdure.settings import load

ANSWER: dict[str, Any] = {
    "create": True, "messages": 5, "boundary": "content shift", "title": "A ferry",
    "summary": "Ada takes the ferry to Aero.", "surprise": 0.25,
}  # fmt: skip


@pytest.fixture
def talk(tmp_path: Path, server: FaultServer, clock: HandClock) -> Iterator[Memory]:
    """Five messages about which no rule decides."""
    settings = load(llm="ollama:qwen3", llm_url=server.url, embedder="none")
    with Memory(tmp_path / "m.db", settings=settings, clock=clock) as memory:
        memory.conversation("c").add_messages(
            {"role": "user", "content": f"The ferry leaves at {n} o'clock", "at": NOON + timedelta(minutes=n)}
            for n in range(5)
        )
        yield memory


@pytest.mark.parametrize("boundary", ["content shift", "goal completion", "prediction error"])
def test_a_model_judges_whether_an_episode_is_over_and_what_it_is_about(
    talk: Memory, server: FaultServer, boundary: str
):
    """S2 judgement: create or skip, summary, surprise, boundary type."""
    server.always(ok(message(json.dumps({**ANSWER, "create": False}))))
    assert talk.work().episodes_made == 0
    talk.conversation("c").add_messages(
        {"role": "user", "content": f"The train leaves at {n} o'clock", "at": NOON + timedelta(minutes=n)}
        for n in range(5, 10)
    )
    server.always(ok(message(json.dumps({**ANSWER, "boundary": boundary, "messages": 10}))))
    assert talk.work().episodes_made == 1
    [episode] = talk.list(key_type="episode")
    assert (episode.title, episode.text, len(episode.evidence)) == (ANSWER["title"], ANSWER["summary"], 10)
    assert (episode.metadata["surprise"], episode.metadata["boundary"]) == (0.25, boundary)


@pytest.mark.parametrize(("surprise", "boundary"), [(0.7, "content shift"), (0.71, "prediction error")])
def test_what_surprises_is_a_prediction_error(talk: Memory, server: FaultServer, surprise: float, boundary: str):
    """S2 prediction error: surprise above 0.7."""
    server.always(ok(message(json.dumps({**ANSWER, "surprise": surprise}))))
    assert talk.work().episodes_made == 1
    assert talk.list(key_type="episode").records[0].metadata["boundary"] == boundary
