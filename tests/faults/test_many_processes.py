"""Any number of windows, one store, no lock errors."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from faults.writers import sentence, start

from perdure import Memory
from perdure.testing.embedder import WordEmbedder

PROCESSES = 8
MEMORIES = 60


def write_and_read(path: Path, name: str) -> Callable[[Callable[[str], None]], None]:
    def job(acknowledge: Callable[[str], None]) -> None:
        with Memory(path, embedder=WordEmbedder(), actor=name) as memory:
            for n in range(MEMORIES):
                seed = f"{name}-{n}"
                number = memory.remember(sentence(seed)).record.number
                acknowledge(f"{number} {seed}")
                if n % 10 == 0:
                    assert memory.recall(sentence(seed), limit=3)[0].record.number == number

    return job


def test_eight_processes_write_and_read_one_store_without_an_error_and_fairly(tmp_path: Path):
    path = tmp_path / "shared.db"
    children = [start(write_and_read(path, f"p{n}")) for n in range(PROCESSES)]
    results = [child.finish() for child in children]
    assert [status for _, status in results] == [0] * PROCESSES
    acknowledged = {int(number): seed for lines, _ in results for number, seed in map(str.split, lines)}
    assert sorted(acknowledged) == list(range(1, PROCESSES * MEMORIES + 1))
    # The numbers are the order of the commits. Whoever starved had written next to nothing when most was written.
    most = [acknowledged[number] for number in range(1, 3 * PROCESSES * MEMORIES // 4)]
    shares = [sum(seed.startswith(f"p{n}-") for seed in most) for n in range(PROCESSES)]
    assert min(shares) >= MEMORIES / 6, shares
    with Memory(path, embedder="none") as memory:
        for number, seed in acknowledged.items():
            assert memory.get(number).text == sentence(seed)
        assert [finding for finding in memory.doctor() if finding.level == "problem"] == []


def test_a_recall_does_not_wait_for_a_writer(tmp_path: Path):
    path = tmp_path / "shared.db"
    with Memory(path, embedder=WordEmbedder()) as reader, Memory(path, embedder=WordEmbedder()) as writer:
        reader.remember("tea in the morning")
        with writer._services.store.write("default"):
            assert [hit.record.text for hit in reader.recall("tea")] == ["tea in the morning"]
            assert reader.get(1).text == "tea in the morning"


def test_what_one_process_wrote_the_next_recall_of_another_finds(tmp_path: Path):
    path = tmp_path / "shared.db"
    with Memory(path, embedder=WordEmbedder()) as memory:
        memory.remember("tea in the morning")
        assert len(memory.recall("coffee tea")) == 1

        def other(_: Callable[[str], None]) -> None:
            with Memory(path, embedder=WordEmbedder()) as there:
                there.remember("coffee in the evening")
                there.forget(1)

        assert start(other).finish()[1] == 0
        assert [hit.record.text for hit in memory.recall("coffee tea")] == ["coffee in the evening"]


def test_a_forked_child_does_not_count_its_parents_use_once_more(tmp_path: Path):
    path = tmp_path / "shared.db"
    with Memory(path, embedder=WordEmbedder()) as memory:
        memory.remember("tea in the morning")
        memory.recall("tea")

        def child(_: Callable[[str], None]) -> None:
            memory.recall("tea")
            memory.close()

        assert start(child).finish()[1] == 0
    with Memory(path, embedder="none") as memory:
        assert memory.get(1).recall_count == 2
