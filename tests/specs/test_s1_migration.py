"""S1 D4, "Provider change migration": another model is noticed, and everything is embedded anew in small batches."""

# pyright: reportPrivateUsage=false

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from embed.wires import WIRES
from providers.server import FaultServer, answering, status

from perdure import Memory
from perdure.testing.embedder import WordEmbedder

WIRE = WIRES["ollama"]
LEARNINGS = 120
Change = Callable[[], Memory]


@pytest.fixture
def ollama() -> Iterator[FaultServer]:
    """Ollama's interface, on this machine."""
    with FaultServer() as server:
        server.always(answering(WIRE.answer))
        yield server


@pytest.fixture
def changed(ollama: FaultServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Change:
    """A store whose learnings were embedded by another model than that of the settings."""
    monkeypatch.setenv("PERDURE_EMBEDDER_URL", ollama.url)
    with Memory(tmp_path / "m.db", embedder=WordEmbedder()) as memory:
        memory.import_({"text": f"Learning {n} about diffs"} for n in range(LEARNINGS))
        memory.work()
    return lambda: Memory(tmp_path / "m.db", embedder=WIRE.model)


def pending(memory: Memory) -> int:
    return sum(space.vectors_pending for space in memory.stats().namespaces)


def passages(ollama: FaultServer) -> list[int]:
    """How many learnings are in each request."""
    counts = [sum("Learning" in text for text in each.json["input"]) for each in ollama.requests]
    return [count for count in counts if count > 1]


def test_another_model_is_noticed_by_what_the_store_has_noted(changed: Change):
    """S1 embedding change: each vector belongs to a generation, which names its provider and its model."""
    with changed() as memory:
        assert pending(memory) == LEARNINGS
        assert any("Re-embedding for ollama:nomic-embed-text: 0 of 120" in each.sentence for each in memory.doctor())


def test_learnings_are_embedded_anew_in_batches_of_fifty(changed: Change, ollama: FaultServer):
    """S1 embedding batches: 120 are three requests."""
    with changed() as memory:
        memory.work()
        assert pending(memory) == 0
    assert sorted(passages(ollama)) == [20, 50, 50]


def test_progress_is_in_the_store_and_nothing_is_embedded_twice(changed: Change, ollama: FaultServer):
    """S1 embedding progress: what has no vector yet is what is left, whoever goes on."""
    with changed() as memory:
        assert memory.work(limit=50).vectors_pending == 70
    with changed() as memory:
        assert any("50 of 120 memories done" in each.sentence for each in memory.doctor())
        memory.work()
    assert sum(passages(ollama)) == LEARNINGS


def test_too_many_requests_pause_it_and_the_next_run_goes_on(changed: Change, ollama: FaultServer):
    """S1 embedding rate limit: what was made before is kept."""
    with changed() as memory:
        memory.work(limit=50)
        ollama.next(status(429, retry_after="30"))
        paused = memory.work()
        assert (paused.embedded, paused.vectors_pending) == (0, 70)
        assert "asked again from" in paused.notes[0]
    with changed() as memory:
        assert memory.work().embedded == 70


def test_until_then_learnings_are_found_by_their_words(changed: Change, ollama: FaultServer):
    """S1 embedding invalid: the vectors of the other model are compared with nothing."""
    with changed() as memory:
        found = memory.recall("learning 7 about diffs")
        assert (found.mode, found[0].record.text) == ("keyword", "Learning 7 about diffs")
        memory.work()
        assert memory.recall("learning 7 about diffs").mode == "hybrid"
