"""What docs/python-agents.md says about asyncio: `asyncio.to_thread`, one `Memory`, several tasks."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from perdure import Memory


@pytest.fixture
def memory(tmp_path: Path) -> Memory:
    return Memory(tmp_path / "agent.db", embedder="none")


def test_tasks_ask_and_write_at_the_same_time(memory: Memory):
    async def both() -> None:
        memory.remember("Bob is allergic to peanuts")
        asking = asyncio.gather(*(asyncio.to_thread(memory.recall, "peanuts") for _ in range(8)))
        await asyncio.gather(*(asyncio.to_thread(memory.remember, f"Note {number}") for number in range(8)))
        assert {answer[0].text for answer in await asking} == {"Bob is allergic to peanuts"}

    asyncio.run(both())
    assert len(memory.list(limit=100)) == 9


def test_what_a_task_writes_in_a_batch_is_one_undo_and_no_other_task_is_in_it(memory: Memory):
    async def write(name: str) -> str:
        with memory.batch() as batch:
            for number in range(3):
                await asyncio.to_thread(memory.remember, f"{name} {number}")
        return batch

    async def both() -> str:
        return (await asyncio.gather(write("tea"), write("coffee")))[0]

    memory.undo(asyncio.run(both()))
    assert {record.text for record in memory.list()} == {"coffee 0", "coffee 1", "coffee 2"}


def test_a_write_whose_task_is_cancelled_is_finished(memory: Memory):
    async def cancel() -> None:
        writing = asyncio.create_task(asyncio.to_thread(memory.remember, "The cake is ordered"))
        await asyncio.sleep(0)  # lets the task hand the call to its thread
        writing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await writing

    asyncio.run(cancel())  # ends when its threads have ended
    assert [record.text for record in memory.list()] == ["The cake is ordered"]
