"""Any number of machines, one database: programs that write the same at once, and whose clocks differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from contextlib import closing
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from faults.writers import sentence, start

from perdure import Memory
from perdure.clock import system_clock
from perdure.testing.embedder import WordEmbedder

if TYPE_CHECKING:
    from postgres_stores import EmptyStores

PROCESSES = 8
TEXTS = 20


@pytest.mark.parametrize("namespaces", [1, 5])
def test_eight_processes_that_say_the_same_texts_keep_each_once(postgres_stores: EmptyStores, namespaces: int) -> None:
    """Nobody has made the namespaces before."""
    url = postgres_stores.new_url()
    names = [f"team-{n}" for n in range(namespaces)]

    def say(first: int) -> Callable[[Callable[[str], None]], None]:
        def job(acknowledge: Callable[[str], None]) -> None:
            memories = {name: Memory(url, embedder=WordEmbedder(), namespace=name) for name in names}
            for n in range(TEXTS):
                # Each begins elsewhere, and all of them end with the same.
                text = sentence(f"{(first + n) % TEXTS}")
                for name, memory in memories.items():
                    written = memory.remember(text)
                    acknowledge(f"{name} {written.record.number} {written.outcome}")
            for memory in memories.values():
                memory.close()

        return job

    results = [child.finish() for child in [start(say(n * TEXTS // PROCESSES)) for n in range(PROCESSES)]]
    assert [status for _, status in results] == [0] * PROCESSES
    outcomes = Counter(line.split(" ")[2] for lines, _ in results for line in lines)
    assert outcomes["inserted"] == TEXTS * namespaces
    assert outcomes.total() == TEXTS * namespaces * PROCESSES
    for name in names:
        with Memory(url, embedder="none", namespace=name) as memory:
            assert sorted(record.text for record in memory.list(limit=999)) == sorted(
                sentence(f"{n}") for n in range(TEXTS)
            )
            assert [finding for finding in memory.doctor() if finding.level == "problem"] == []


def test_a_machine_whose_clock_is_ahead_neither_takes_the_work_from_others_nor_keeps_it(
    postgres_stores: EmptyStores,
) -> None:
    with (
        closing(postgres_stores.open()) as right,
        closing(type(right).open(right._address, clock=lambda: system_clock() + timedelta(days=1))) as ahead,
    ):
        assert right.lease("work", "right", 60)
        assert not ahead.lease("work", "ahead", 60)
        assert right.lease("work", "right", 0)
        assert ahead.lease("work", "ahead", 0)
        assert right.lease("work", "right", 60)
