"""Vectors come at once, later, or again after a change of model: recall works all the while."""

from __future__ import annotations

from pathlib import Path

import pytest

from perdure import Memory
from perdure.embed import calibration
from perdure.testing.embedder import WordEmbedder

TEXTS = [f"{what} on {day}" for what in ("tea", "coffee", "deploys", "rain") for day in ("monday", "friday")]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "agent.db"


def pending(memory: Memory) -> int:
    return sum(space.vectors_pending for space in memory.stats().namespaces)


def test_a_memory_gets_its_vector_in_the_same_call():
    with Memory(":memory:", embedder=WordEmbedder()) as memory:
        done = memory.remember("tea on monday")
        assert not done.vector_pending
        assert done.notes == ()
        assert pending(memory) == 0
        found = memory.recall("tea")
        assert (found.mode, found.notes) == ("hybrid", ())
        assert set(found[0].explain) >= {"keyword", "vector"}


def test_an_embedder_that_is_down_fails_no_write_and_the_work_is_done_later():
    embedder = WordEmbedder()
    with Memory(":memory:", embedder=embedder) as memory:
        embedder.down = True
        for text in TEXTS:
            assert memory.remember(text).vector_pending
        found = memory.recall("coffee")
        assert found.mode == "keyword"
        assert found.notes
        assert len(found) == 2
        stuck = memory.work()
        assert (stuck.embedded, stuck.vectors_pending) == (0, len(TEXTS))
        assert "down" in stuck.notes[0]
        embedder.down = False
        seen: list[tuple[int, int | None]] = []
        done = memory.work(progress=lambda now, total: seen.append((now, total)))
        assert (done.embedded, done.vectors_pending, done.notes) == (len(TEXTS), 0, ())
        assert seen[-1] == (len(TEXTS), len(TEXTS))
        assert memory.recall("coffee").mode == "hybrid"


def test_work_can_be_done_in_portions_and_asks_for_nothing_twice():
    embedder = WordEmbedder()
    with Memory(":memory:", embedder=embedder) as memory:
        memory.import_({"text": text} for text in TEXTS)
        first = memory.work(limit=3)
        assert (first.embedded, first.vectors_pending) == (3, len(TEXTS) - 3)
        memory.work()
        memory.work()
        assert embedder.embedded == len(TEXTS) + len(calibration.TEXTS)


def test_memories_stored_without_a_model_are_found_by_meaning_after_work(path: Path):
    with Memory(path, embedder="none") as memory:
        memory.remember("tea on monday")
        nothing = memory.work()
        assert (nothing.embedded, nothing.vectors_pending, nothing.notes) == (0, 0, ())
    with Memory(path, embedder=WordEmbedder()) as memory:
        assert pending(memory) == 1
        memory.work()
        assert memory.recall("tea").mode == "hybrid"


def test_a_new_model_starts_a_new_generation_and_the_old_vectors_stay_out_of_it(path: Path):
    with Memory(path, embedder=WordEmbedder(64)) as memory:
        for text in TEXTS:
            memory.remember(text)
    with Memory(path, embedder=WordEmbedder(32)) as memory:
        assert pending(memory) == len(TEXTS)
        assert memory.recall("coffee")[0].record.text.startswith("coffee")
        memory.work()
        assert pending(memory) == 0
        assert memory.recall("coffee").mode == "hybrid"
    with Memory(path, embedder=WordEmbedder(64)) as memory:
        assert pending(memory) == 0
        assert memory.recall("coffee").mode == "hybrid"


def test_a_corrected_memory_has_the_vector_of_its_new_words():
    with Memory(":memory:", embedder=WordEmbedder()) as memory:
        memory.remember("tea on monday")
        memory.remember("rain on friday")
        memory.recall("coffee")
        memory.update(1, text="coffee on monday")
        hit = memory.recall("coffee")[0]
        assert (hit.record.number, hit.explain["vector"].rank) == (1, 1)


def test_two_processes_worth_of_work_on_one_store_agree(path: Path):
    with Memory(path, embedder=WordEmbedder()) as first, Memory(path, embedder=WordEmbedder()) as second:
        first.import_({"text": text} for text in TEXTS)
        assert first.work(limit=4).vectors_pending == 4
        assert second.work().vectors_pending == 0
        assert pending(first) == 0
        ranked = [[hit.record.number for hit in memory.recall("friday rain")] for memory in (first, second)]
        assert ranked[0] == ranked[1]


def test_a_recall_makes_the_few_vectors_that_it_misses(tmp_path: Path):
    """Nobody has to know of `work` before there is much to do."""
    with Memory(tmp_path / "m.db", embedder="none") as memory:
        memory.import_([{"text": "Alice prefers dark mode"}, {"text": "The office is in Osaka"}])
    with Memory(tmp_path / "m.db", embedder="local") as memory:
        answer = memory.recall("which theme does she like?")
        assert (answer[0].text, answer.notes) == ("Alice prefers dark mode", ())
        assert memory.work().embedded == 0
